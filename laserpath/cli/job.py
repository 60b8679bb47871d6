"""Input and result of a planning command, for drawings and grey images alike."""

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
    """file: the design.  given: options as given.  values: with those of the project, for `request`.

    folder: for output.  check: raises if the user has interrupted; call it before anything is written.
    kept: to call once the plan is written, so that an interrupt only ends what comes after.
    """

    file: str
    given: Mapping[str, Any]
    values: Mapping[str, Any]
    process: Process
    settings: Settings
    folder: Path
    talk: Talk
    check: Callable[[], None]
    kept: Callable[[], None]

    def check_places(self, *names: str) -> None:
        """Raise InputError if the files of plans of these names could not be written."""
        from laserpath.base.files import check_places
        from laserpath.planning import paths_of

        given = self.given
        for name in names:
            check_places(paths_of(name, self.folder, frame=given["frame"], project=given["save_project"]))


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a job. missed: a sentence if the tolerance is missed, else empty.

    reported: warnings that were printed already, when the design was read.
    """

    warnings: tuple[str, ...]
    as_json: Callable[[], str]
    summary: Callable[[], None]
    missed: str = ""
    reported: tuple[str, ...] = ()
