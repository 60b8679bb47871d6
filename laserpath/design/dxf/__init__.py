"""DXF → `Design`: hatches and solids, and outlines filled by the even-odd rule, seen from above.

`read(data, name, reading)`. The way through: `drawing` (ezdxf's drawing, unit, layers) → `blocks` (entities,
and blocks placed by INSERT) → `shapes` (each entity's curves) → `design.enclosed` (what lines
enclose) → `reader` (area in mm, y up, and warnings).
"""

from laserpath.design.dxf.reader import read, read_layers

__all__ = ["read", "read_layers"]
