"""What this package asks of a controller: the interface, and the record of its notation.

A controller is a class. Its constants say what the firmware is; an object has the limits of one machine, and
is the model of its motion. Nobody else asks for a controller's name. To add one, subclass `Controller`, or
`BlockPlanner`, and `register` it; one of this package's own is named in `gcode.controllers` instead, and
imported when it is first needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np

from gcode.errors import GcodeError

if TYPE_CHECKING:
    from gcode.controllers.common import Executed
    from gcode.controllers.shapers import Impulses, Shaper
    from gcode.move import Floats, Ints, Moves

Pair = tuple[float, float]
Triple = tuple[float, float, float]
Code = tuple[str, float]

FINE = 2000.0
"""Steps/mm of an axis that does not state them; fine enough for rounding to have no effect."""

USUAL_Z = 5.0, 50.0
"""mm/s and mm/s², of a Z of which nothing is said: what any leadscrew can do."""


WINDOWS = ("characters", "lines", "card")
"""How a program reaches the controller: the sender counts characters and keeps the receive buffer full, or
sends each line when the one before is acknowledged; or the controller reads a card of its own."""


class Hardware(Protocol):
    """What a machine's profile says to `Controller.of`; pairs are (x, y)."""

    @property
    def speed_max(self) -> Pair:
        """Mm/s, of lit moves."""

    @property
    def rapid_speed(self) -> Pair:
        """Mm/s, the most that the axes can do."""

    @property
    def acceleration(self) -> Pair:
        """Mm/s²."""

    @property
    def z_speed_max(self) -> float | None:
        """Mm/s, of Z; None: not known."""

    @property
    def z_acceleration(self) -> float | None:
        """Mm/s², of Z; None: not known."""

    @property
    def junction_deviation(self) -> float:
        """Mm."""

    @property
    def square_corner_velocity(self) -> float:
        """Mm/s, Klipper's."""

    @property
    def minimum_cruise_ratio(self) -> float:
        """0…1, Klipper's."""

    @property
    def shapers(self) -> tuple[Shaper | None, Shaper | None]:
        """Klipper's input shapers of x and y; None: it has none."""

    @property
    def steps(self) -> Pair | None:
        """Steps per mm; None: too fine to matter."""

    @property
    def look_ahead(self) -> int:
        """Moves that the planner sees."""

    @property
    def segment_rate(self) -> float:
        """Moves/s that the link delivers."""

    @property
    def baud(self) -> float | None:
        """Bits/s of a serial line; None: no limit."""

    @property
    def host_delay(self) -> float:
        """S from an acknowledgement to the line that it lets the sender send."""

    @property
    def host_window(self) -> str:
        """One of `WINDOWS`."""


@dataclass(frozen=True, slots=True)
class Notation:
    """How a firmware reads lines. The default is that of RS274/NGC, as LinuxCNC has it.

    one_command: a line is one whole command, as printers take it: it needs its G word, a second command is
    lost, and an unknown one is answered with a message.
    executes, passes_over: such a firmware's codes that do something, and those that it does not know.
    named: names of commands, such as SET_LED, that neither move nor light.
    limiting: those of them that change how the head moves, for which the machine's profile is taken.
    harmless: codes, beyond those of all printers, that neither move nor light.
    never: fields of a dialect that are empty or false for this firmware: otherwise the laser would stay on.
    laser_words: words that can light its laser, so that no dialect may call them unknown.
    inches: it knows G20.  upper_case: it does not know lower-case words.
    checksums: True: line numbers need them; False: it refuses them; None: neither.
    settings: lines that begin with $ set or show the firmware's parameters.
    extended: bytes above 127 that it takes out of the stream at once, and Ctrl-X.
    inline: `M3 I` binds S to the motions, and a head at rest keeps the power that it had last.
    fan: M106 and M107 may drive the laser.  m4_follows: after M4 the power follows the speed.
    waits: it completes its moves before the power changes at rest, and before coordinates change.
    m1: M1 waits for the user.  arc_ends: an arc needs X or Y.  bare_dwell: G4 alone is a wait of 0 s.
    dwell_seconds: S of G4 is in seconds, whatever the unit of P.
    """

    one_command: bool = False
    executes: frozenset[Code] = frozenset()
    passes_over: frozenset[Code] = frozenset()
    named: frozenset[str] = frozenset()
    limiting: frozenset[str] = frozenset()
    harmless: frozenset[Code] = frozenset()
    never: tuple[str, ...] = ()
    laser_words: tuple[str, ...] = ()
    inches: bool = True
    upper_case: bool = False
    checksums: bool | None = None
    settings: bool = False
    extended: frozenset[int] = frozenset()
    inline: bool = False
    fan: bool = False
    m4_follows: bool = False
    waits: bool = False
    m1: bool = True
    arc_ends: bool = False
    bare_dwell: bool = False
    dwell_seconds: bool = False


class Controller(ABC):
    """A firmware and, as an object, the model of its motion on one machine."""

    __slots__ = ()

    # The firmware
    name: ClassVar[str]
    """As a dialect's `controller` names it."""
    title: ClassVar[str]
    """As people write it."""
    notation: ClassVar[Notation] = Notation()
    any_firmware: ClassVar[bool] = False
    """Stands for every firmware of which little is known, LinuxCNC among them."""
    validated: ClassVar[bool] = False
    """Its model was checked against recordings of the firmware."""
    sees_all: ClassVar[bool] = False
    """Its planner sees practically all moves, with no delay by a serial line."""
    serial: ClassVar[bool] = True
    """Moves arrive over a line of limited `baud`."""
    rounds_vertices: ClassVar[bool] = False
    """Every vertex is rounded to motor steps, so places between steps are lost."""
    run_in: ClassVar[float] = 0.0
    """s of a slow move before a path, in which the planner fills; 0: lines arrive while it rests, too."""
    counts_steps: ClassVar[bool] = False
    """The single steps of a line change with every shift of its ends."""
    shapes: ClassVar[bool] = False
    """It can have input shapers, and its model executes them."""
    rounds_speeds: ClassVar[bool] = False
    """Speeds are rounded up to whole steps/s."""
    slowest: ClassVar[float] = 0.0
    """mm/s, to which lower speeds are raised."""

    # Its laser
    power_follows: ClassVar[bool] = True
    """It can let the power follow the speed, and then chooses the level of the power that follows."""
    ramp_levels: ClassVar[int] = 0
    """PWM levels of the power ramp that it gives each line, in proportion to the F of that line. 0: it gives
    none, and levels are the board's."""
    surely_lit: ClassVar[int] = 1
    """The lowest level that lights the whole of a line."""
    unplugs_pin: ClassVar[bool] = False
    """At level 0 it takes the PWM's timer off the pin, which may flash when it is put back: not known."""
    laser_mode: ClassVar[str] = ""
    """What must be set so that power behaves as modelled, in words."""

    # Its settings
    corner: ClassVar[Mapping[str, str]] = {"junction_deviation": "mm"}
    """Fields of `Hardware` that set the speed in corners, the main one first, and their units."""
    setting_of: ClassVar[Mapping[str, str]] = {}
    """Where the firmware keeps its 'acceleration' and its 'junction' speed."""
    least_look_ahead: ClassVar[int] = 1
    """Moves that its planner sees at least."""
    look_ahead_is: ClassVar[str] = ""
    """The firmware's own name of the look-ahead."""

    # The model

    @classmethod
    @abstractmethod
    def of(cls, machine: Hardware) -> Self:
        """The model with the limits of a machine."""

    @classmethod
    def deviation_of(cls, machine: Hardware) -> float:
        """Junction deviation, mm, with which `trapezoid` corners as fast; paths are planned by that model."""
        return machine.junction_deviation

    @abstractmethod
    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        """Execute moves without arcs, from rest to rest. Rows of the result are those of `moves`.

        sent: (N,) characters of each move's line.  levels: of the board; None: continuous power.
        longest: mm, of a piece of a lit move that accelerates or brakes.
        """

    def run_in_parts(
        self, way: Moves, moves: Moves, sent: Ints, levels: int | None, longest: float
    ) -> Iterator[Executed]:
        """Execute a way and then moves as `run` does, in parts of whole rows, one after the other.

        A model that is able to keeps no more than a part in memory; its parts have no times of steps.
        """
        yield self.run(way + moves, sent, levels, longest)

    @property
    @abstractmethod
    def buffered(self) -> int:
        """Moves that the controller holds, among which the link can even out short ones."""

    @property
    @abstractmethod
    def ramp(self) -> float:
        """mm/s², acceleration of a move from rest in any direction, averaged until it reaches its speed."""

    def stepless(self) -> Self:
        """The controller with the speeds that it plans: without the jumps of single steps."""
        return self

    @property
    def impulses(self) -> tuple[Impulses, Impulses] | None:
        """Copies of the planned place of x and of y whose sum the head follows; None: it goes as planned."""
        return None

    def unshaped(self) -> Self:
        """The controller with the motion that it plans, before its input shaper."""
        return self

    def unlinked(self) -> Self:
        """The controller on a link that takes no time."""
        return self

    @property
    def link_rate(self) -> float:
        """Moves/s of usual length that a slow host delivers at most; ∞: plans need not heed it."""
        return math.inf

    def overridden(self, moves: Moves, factor: float, *, rapids: bool) -> tuple[Moves, Self]:
        """What to execute at a feed override of `factor`. rapids: whether it scales G0, too."""
        scaled = np.ones(len(moves), np.bool_) if rapids else ~moves.rapid
        return replace(moves, speed=np.where(scaled, factor * moves.speed, moves.speed)), self

    def peaks(self, moves: Moves) -> Floats:
        """(N,) mm/s, the highest planned speed of each row; the commanded one unless it has `ramp_levels`."""
        return np.asarray(moves.speed)

    @property
    def shortest_steps(self) -> int:
        """Steps of the main axis below which a move is added to the next one; 0: none is."""
        return 0

    @property
    def shortest_move(self) -> float:
        """Mm along x or y, from which a move is never added to the next one; 0: none is."""
        return 0.0

    @property
    def power_tick(self) -> float:
        """s, for which a power that follows the speed is held; 0: it follows at once."""
        return 0.0


class BlockPlanner(Controller):
    """A firmware on a small board, which plans the `blocks` that it holds. acceleration: mm/s² of x, y, z."""

    __slots__ = ()

    acceleration: Triple
    blocks: int

    @property
    def buffered(self) -> int:
        """The blocks of its planner."""
        return self.blocks

    @property
    def ramp(self) -> float:
        """That of the slower of x and y, mm/s²."""
        return min(self.acceleration[:2])


def check_triples(limits: BlockPlanner) -> None:
    """Raise GcodeError for a limit of x, y and z that is not three numbers."""
    for field in fields(cast(Any, limits)):
        value = getattr(limits, field.name)
        if isinstance(field.default, tuple) and np.shape(value) != (3,):
            raise GcodeError(f"limit {field.name} is {value}, but must be three numbers, of x, y and z")


def z_of(machine: Hardware) -> Pair:
    """Highest speed, mm/s, and acceleration, mm/s², of Z, which a profile may leave out."""
    return machine.z_speed_max or USUAL_Z[0], machine.z_acceleration or USUAL_Z[1]


def axes_of(machine: Hardware) -> tuple[Triple, Triple, Triple]:
    """Highest speed, mm/s, acceleration, mm/s², and steps/mm of x, y and z, which a profile may leave out."""
    steps = (FINE, FINE) if machine.steps is None else machine.steps
    speed, acceleration = z_of(machine)
    return (*machine.rapid_speed, speed), (*machine.acceleration, acceleration), (*steps, FINE)
