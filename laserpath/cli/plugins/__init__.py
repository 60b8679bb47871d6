"""laserpath in other programs: Inkscape and slicers. Their commands, and vpype's, are in `cli`."""
