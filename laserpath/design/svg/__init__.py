"""SVG → `Design`: the visible drawing, with dark paint as solid and white as empty.

`read(data, name, reading)`. The way through: `document` (safe XML, names, warnings) → `style`
(CSS cascade, and which values count) → `tree` (layers that count, all elements, with
transforms, viewports, `use` and clips) → `paint` (fills, strokes, paint order) → area in mm, y up, origin
at the page's lower left.
"""

from laserpath.design.svg.reader import read, read_colours, read_layers

__all__ = ["read", "read_colours", "read_layers"]
