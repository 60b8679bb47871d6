; speedup cooling fan
M3S0
G4P0.5
M5
; gcode_before_job - color: #e25303
M100P100 ; mrbeam_compressor: 100
G4P0.2
G0X10.00Y300.00
F600;#e25303
M03 S1300 ; color: #e25303
G1X40.00Y260.00
M05
