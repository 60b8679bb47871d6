"""Gerber → `Design`: dark objects are solid, clear ones erase earlier objects.

`read(data, name, reading)`, after the Gerber Layer Format Specification 2024.05 (Ucamco), with constructs
that older files still use: single-quadrant arcs, omitted trailing zeros, incremental coordinates, rectangular
holes. The way through: `plotter` (text → commands → the modal state) →
`apertures` (shapes for flashes and strokes) → `paint` (consecutive objects of one polarity at
once) → area in mm.

Two other readers were tried: gerbonara 1.5.0 ignores block apertures and LM, LR, LS and draws one copy of
step and repeat; pygerber 2.4.3 takes 0.2 ms a command, and does not read incremental coordinates and omitted
trailing zeros.
"""

from laserpath.design.gerber.reader import read, traced

__all__ = ["read", "traced"]
