%
; grid
; T0 D=0 CR=0 - ZMIN=0 - laser cutter
G90
G17
G20
G28 G91 Z0
G90

; Contour1
T1
M107
M3
G0 X-0.5 Y-0.5 F100
G0 Z0
G1 X-1 F15 S255
G3 X-1.4 Y-0.9 J-0.4
G1 X0.6 S51
G1 X-1.5 Y-1 F100 S0
M5
M107
M5
G28 G91 Z0
G28 X0 Y0
%
