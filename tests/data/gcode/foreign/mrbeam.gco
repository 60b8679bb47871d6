;Generated from temp.svg
; gc_nexgen gc_options: gc_nextgen:0.1, precision:0.05, clipRect:0,0,500,390
; laser params: {u'#e25303': {u'passes': 2, u'feedrate': 200, u'intensity': 1300}}

; speedup cooling fan
M3S0
G4P0.5
M5
; end speedup cooling fan

; pass:1/2
G0X10.00Y300.00
F600;#e25303
; gcode_before_path_color
M3S0
G4P0
M03 S1300 ; color: #e25303

G1X40.00Y260.00
M05

; pass:2/2
G0X10.00Y300.00
F600;#e25303
M3S0
G4P0
M03 S650 ; color: #e25303

G1X40.00Y260.00
G1X40.00Y250.00
M05

; end of job
M05
