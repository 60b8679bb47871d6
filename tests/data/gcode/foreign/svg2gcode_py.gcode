;    svg2gcode 4.0.8 (2026-11-21 17:39:32)
;    arguments: 
;      laser_power: 400,
;      movement_speed: 900,
;      pixel_size: 0.1,
;      fan: on_cut,
;      rapid_move: 10,
;      pass_depth: 0.0,
;      laser_mode: constant,
;      pathcut: True,
;    Boundingbox: (X2.0,Y5.0:X22.5,Y17.0)
;    boundingbox center: (X12.250000,Y11)
;    GRBL 1.1, unit=mm, absolute coordinates

; Machine settings:
;    rapid movement,
;    XY plane,
;    cutter compensation off,
;    coordinate system 1,
;    move 'unit'/min
G0 G17 G40 G54 G94

G21
G90

M9
; pass #1

; cut path (pathcut set) ''

; delta: 0
M5
G0 X2 Y17
; F900 mm/min, power S400
M8
M3
G1 X12 S400 F900
G1 Y12
G1 X2
G1 Y17

; delta: 0
M5
G0 X15 Y15
; F900 mm/min, power S400
M3
G1 X22.500000 Y5

; end cut path ''

M5

M9
M2
