"""The optimiser: a loss with its gradient, terms for write time and defocus, and the descent."""
