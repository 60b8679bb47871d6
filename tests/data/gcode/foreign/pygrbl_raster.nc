; pygrbl_build v1.0.4
; image: i.png sha256:e39400a1aa46
; profile: L2LProfile(width_mm=3.0, lines_per_mm=2.0, feed=3000, s_min=0, s_max=100, white_threshold=250, overscan_mm=0.0, bidirectional=True, invert=False, laser_on='M4')
; 6x3 px @ 2.0 lines/mm
G90
G21
M4 S0
G1 F3000
G0 X0.000 Y0.000 S0
G1 X0.500 S100
X2.500 S0
X3.000 S64
G0 X2.000 Y0.500 S0
G1 X0.500 S76
G0 X0.000 Y1.000 S0
G1 X1.000 S100
X2.000 S49
X2.500 S21
M5
G0 X0 Y0
