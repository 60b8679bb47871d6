"""Sliced G-code → one program for the laser: the outer walls of each layer are that layer's design.

    plan_stack(stack_of(text, process, settings)).program

`walls` reads the path of the nozzle, `areas` turns it into layers, and `planning` plans them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from laserpath.base import limits
from laserpath.cli.plugins.slicer.areas import SlicedLayer, layers
from laserpath.cli.plugins.slicer.walls import Wall, read
from laserpath.physics import optics
from laserpath.planning import Stack, stacked
from laserpath.types import Process, Settings

__all__ = ["SlicedLayer", "Wall", "layers", "read", "stack_of"]

_WIDER = 0.05
"""Relative excess of walls over the spot from which a warning says that they are too wide."""


def stack_of(text: str, process: Process, settings: Settings, *, name: str = "sliced") -> Stack:
    """The placed layers of a sliced file, equal ones grouped. The slicer's bed is the page."""
    with limits.work(name):
        walls = read(text)
        sliced = layers(walls)
    bed = (0.0, 0.0, *process.machine.size)
    stack = stacked([(one.z, one.area) for one in sliced], process, settings, name=name, page=bed)
    return replace(stack, notes=(*stack.notes, *_coarse(walls, optics.fwhm(process.spot))))


def _coarse(walls: Sequence[Wall], fwhm: float) -> tuple[str, ...]:
    """A sentence if most of the walls are wider than the spot: the slicer loses finer features."""
    width = np.concatenate([wall.width for wall in walls])
    length = np.concatenate([np.hypot(*np.diff(wall.xy, axis=0).T) for wall in walls])
    wide = width > fwhm * (1 + _WIDER)
    if length[wide].sum() <= length.sum() / 2:
        return ()
    widest = float(np.average(width[wide], weights=length[wide]))
    return (
        f"the slicer's walls are {widest:.3g} mm wide and the spot {fwhm:.3g} mm: what is narrower than two "
        "walls is left out or blurred; set nozzle diameter and line widths to the spot's width",
    )
