M107
G21 ; set units to millimeters
G90 ; use absolute coordinates
G28 X Y ; home
M83
G1 X10 Y10 F6000
M106 S64
G1 X20 Y10 E0.1 F1200
M107
G28 W ; home all without mesh bed level
M84
