"""Where in Z a program is: at the focus of its machine."""

from __future__ import annotations

from dataclasses import replace

import gcode
from laserpath.types import Machine


def at_focus(moves: gcode.Moves, machine: Machine) -> gcode.Moves:
    """Moves whose Z is counted from the focus → those of a program, whose Z is the machine's."""
    return replace(moves, z=moves.z + machine.focus) if machine.focus else moves
