"""The optimiser: a loss and its slope, terms for write time and defocus, and the descent down them."""
