"""laserpath in other programs: Inkscape, slicers. Their commands are in `cli`, vpype's too."""
