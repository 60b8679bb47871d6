; pygrbl_build v1.0.4
; svg: in.svg sha256:c33fc7aeaa20
; profile: SvgProfile(feed=1000, s_max=255, support_pwm=True, laser_on='M3', laser_off='M5', to_mm=True, smart_bezier=True, bezier_accuracy=12, firmware='grbl', scale_to_max=False, max_size_mm=100.0, color_filter='all', reduce=False, reduce_value=0.1, no_arcs=False, offset_x=0.0, offset_y=0.0)
G90
G21
M3 S0
S0 (1st shape)
G0X9Y6(circle)
S255 (circle)
G3X9Y6I-3J0F1000(circle)
S0 (circle)
G0X2Y17(M)
S255 (L)
G1X12F1000(L)
Y12(L)
X2(L)
Y17(Z)
S0 (Z)
G0X15Y15(M)
S255 (L)
G1X22.5Y5F1000(L)
S0 (End path)
M5 S0
G0 X0 Y0
