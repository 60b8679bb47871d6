"""The machine: toolpath ↔ its moves, where a design lies on it, its program, and how that is executed."""
