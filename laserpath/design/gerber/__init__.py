"""Gerber → `Design`: dark objects are solid, clear ones remove what was drawn before them.

`read(data, name, reading)`, after the Gerber Layer Format Specification 2024.05 (Ucamco), with what older
files still use: single-quadrant arcs, trailing zeros left out, incremental coordinates, rectangular holes.
The way through: `words` (text → commands) → `plotter` (the modal state, with `numbers` and `arcs`) →
`apertures` and `macros` (what is flashed and drawn with) → `paint` (objects of one polarity at once, in
their order) → area in mm.

A reader of our own: of two that were tried, gerbonara 1.5.0 leaves out block apertures and LM, LR, LS and
draws one copy of step and repeat; pygerber 2.4.3 needs 0.2 ms a command, and does not read incremental
coordinates and trailing zeros left out.
"""

from laserpath.design.gerber.reader import read

__all__ = ["read"]
