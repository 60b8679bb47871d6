"""GDSII and OASIS → `Design`: the polygons of one layer in one cell and the cells that it places.

`read(data, name, reading)`. The way through: `isolate` (a subprocess, in which `extract` lets gdstk read the
file) → `hierarchy` (cells placed in cells, arrays) → `reader` (which cell, which layers) → area, mm.
"""

from laserpath.design.gds.reader import read

__all__ = ["read"]
