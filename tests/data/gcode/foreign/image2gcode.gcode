;    image2gcode 2.9.17 (2026-11-21 17:36:56)
;    arguments:
;      image: i.png,
;      gcode: i2g.gcode,
;      showimage: False,
;      pixelsize: 0.5,
;      speed: 1200,
;      maxpower: 300,
;      poweroffset: 0,
;      invert: True,
;      onedirectionscan: False,
;      size: None,
;      offset: (0.0, 0.0),
;      center: False,
;      speedmoves: 10,
;      noise: 0,
;      overscan: 0,
;      showoverscan: False,
;      constantburn: True,
;      validate: False,
;      genimages: None
;
;    print area: 3.0x1.5 mm (XY)
;    Boundingbox: (X0.0,Y0.0:X3.0,Y1.0)
;

G00 G17 G40 G21 G54
G90
M5
M8
M3
G0X0.0Y0.0
G1F1200
X0.0Y0.0S0
X0.5S300
X2.5Y0.0S0
X3.0S194
X2.0Y0.5S0
X0.5S229
X0.0Y1.0S0
X1.0S300
X2.0S149
X2.5S65M5
M9
M2

