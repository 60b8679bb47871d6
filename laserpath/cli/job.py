"""What a planning command does, and what it has to say of it, for drawings and for grey images alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laserpath.cli.show import Talk
    from laserpath.types import Process, Settings


@dataclass(frozen=True, slots=True)
class Job:
    """file: to plan.  asked: of it, for `request`.  given: on the command line.  folder: for the files.

    check: raises if the user wants nothing more; to be called before anything is written.
    """

    file: str
    asked: Mapping[str, Any]
    given: Mapping[str, Any]
    process: Process
    settings: Settings
    folder: Path
    talk: Talk
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a job. missed: how far it is from the tolerance, or nothing.

    told: those of the warnings that were told when the design had been read.
    """

    warnings: tuple[str, ...]
    as_json: Callable[[], str]
    summary: Callable[[], None]
    missed: str = ""
    told: tuple[str, ...] = ()
