$I   ; View build info
$$   ; View Grbl settings
G90  ; Set absolute distance mode
G21
M4 S100
G1 X10 F600
M5
