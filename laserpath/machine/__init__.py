"""The machine: toolpaths as its moves, the design's place on it, its program, and how that is executed."""
