"""GDSII and OASIS → `Design`: the polygons of one layer in one cell and the cells that it places.

`read(data, name, reading)`. The way through: `extract` (gdstk reads the file, in a subprocess)
→ `hierarchy` (cells placed in cells, arrays) → `reader` (which cell, which layers) → area, mm.
"""

from laserpath.design.gds.reader import read, read_layers

__all__ = ["read", "read_layers"]
