"""DXF → `Design`: hatches and solids as they are, outlines filled by the even-odd rule, seen from above.

`read(data, name, reading)`. The way through: `document` (ezdxf's drawing, unit, layers) → `blocks` (the walk
over the entities and what INSERT places) → `shapes` and `fills` (each entity's curves) → `loops` (ends that
meet are joined) → `reader` (area in mm, y up).
"""

from laserpath.design.dxf.reader import read

__all__ = ["read"]
