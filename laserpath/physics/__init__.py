"""Light and resin: spots (`optics`), the dose of a path (`dose`), the working curve (`resin`), and the
reaction through time (`kinetics`). Formulas are in the docstrings, each with its source.
"""
