"""GDSII and OASIS → `Design`: the polygons of one layer in one cell, with all that it places.

`read(data, name, reading)`. The way through: `isolate` (a process of its own, in which `extract` has gdstk
read the file) → `hierarchy` (cells placed in cells, arrays) → `reader` (which cell, which layers) → area, mm.
"""

from laserpath.design.gds.reader import read

__all__ = ["read"]
