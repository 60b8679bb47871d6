G90 (use absolute coordinates)
G21 (coordinates will be specified in millimeters)
$30=80 (S value used for maximum spindle speed or laser power)
$32=1 (enable grbl laser mode)
M4 (use dynamic laser power)
G1 X0 Y0 S100 F100
G0 X0.0 Y0.0
G1 X10.0 Y0.0
M5
