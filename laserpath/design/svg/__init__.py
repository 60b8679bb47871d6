"""SVG → `Design`: what the file shows, dark as solid, white as nothing.

`read(data, name, reading)`. The way through: `document` (safe XML, names, warnings) → `style`
(CSS cascade; `valid`: what does not count) → `layers` (which of them count) → `tree` (the walk over the
elements, with transforms, viewports, `use` and clips) → `paint` (fills, strokes, paint order) → area in
mm, y up, origin at the page's lower left.
"""

from laserpath.design.svg.reader import read

__all__ = ["read"]
