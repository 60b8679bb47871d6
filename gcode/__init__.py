"""The machine's language: moves, dialects, writer, parser and the controller's motion.

Knows nothing of lasers' dose or of designs, and can be used alone:

    moves = gcode.parse(text, gcode.dialect("grbl"), s_max=1000)
    seconds = gcode.motion.profile(moves, limits).write_time
"""

from gcode import motion
from gcode.dialects import DIALECTS, Dialect, dialect
from gcode.errors import GcodeError
from gcode.motion import Limits, Motion
from gcode.move import Moves
from gcode.parser import parse
from gcode.writer import write

__all__ = [
    "DIALECTS",
    "Dialect",
    "GcodeError",
    "Limits",
    "Motion",
    "Moves",
    "dialect",
    "motion",
    "parse",
    "write",
]
