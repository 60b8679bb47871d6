"""Sliced G-code → one program for the laser: the outer walls of each layer are that layer's design.

    relaid(text, process, settings).program

`walls` reads the path of the nozzle, `areas` turns it into layers, `program` plans them.
"""

from laserpath.cli.plugins.slicer.areas import SlicedLayer, layers
from laserpath.cli.plugins.slicer.program import (
    Relaid,
    Stack,
    forecast_stack,
    plan_stack,
    relaid,
    stack_of,
    together,
)
from laserpath.cli.plugins.slicer.walls import Wall, read

__all__ = [
    "SlicedLayer",
    "Relaid",
    "Stack",
    "Wall",
    "forecast_stack",
    "layers",
    "plan_stack",
    "read",
    "relaid",
    "stack_of",
    "together",
]
