"""The report: one HTML file that says what will cure, where it will miss and why.

`render` is for a plan, `render_exposure` for whatever program is exposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import gcode
from laserpath.base.arrays import Floats
from laserpath.types import Design, Process, Settings, Toolpath
from laserpath.types.results import Measurement, Report

if TYPE_CHECKING:
    from laserpath.report.payload import Exposed

__all__ = ["render", "render_exposure", "headline_of"]

# matplotlib takes half a second to import; who plans without a report does not wait for it.


def render(
    report: Report,
    *,
    design: Design,
    target_name: str,
    toolpath: Toolpath,
    process: Process,
    settings: Settings,
    loss: Floats,
    program_header: Sequence[str] = (),
    run: gcode.motion.Executed | None = None,
    project: str = "",
) -> str:
    """The report of a plan as the text of one HTML file without outside references.

    design: the area as exposed.  target_name: what to call it.  toolpath: as shipped, commanded.
    loss: (iterations,) history.  program_header: comment lines of the program, shown at the end.
    run: what the controller does with the program; None: with lines of usual length (`Shipped`).
    project: text of the laserpath.toml that plans it again.
    """
    from laserpath.machine.program import Shipped
    from laserpath.report.page import Told, facts_of, planned_page
    from laserpath.report.payload import Exposed

    run = Shipped(toolpath, process).run if run is None else run
    executed = report.executed
    exposed = Exposed(toolpath, run, executed.grid, executed.dose, process, design, executed.edges)
    width, height = design.size
    told = Told(
        name=target_name,
        subtitle=f"laserpath report · {width:.4g} × {height:.4g} mm · spot {exposed.fwhm:g} mm · "
        f"{settings.quality} quality",
        warnings=report.warnings,
        header=program_header,
        project=project,
    )
    return planned_page(exposed, facts_of(report, design, toolpath, process, settings, loss), told)


def headline_of(
    report: Report,
    *,
    design: Design,
    toolpath: Toolpath,
    process: Process,
    settings: Settings,
    loss: Floats,
) -> tuple[str, str]:
    """What the report of a plan begins with: 'good', 'fair' or 'poor', and a line that says why."""
    from laserpath.report.page import facts_of
    from laserpath.report.verdict import judge

    found = judge(facts_of(report, design, toolpath, process, settings, loss))
    return found.level, found.headline


def render_exposure(
    exposed: Exposed,
    *,
    name: str,
    commanded: Measurement | None = None,
    executed: Measurement | None = None,
    warnings: Sequence[str] = (),
    answers: Sequence[tuple[str, str]] = (),
    columns: Sequence[tuple[str, str, Mapping[str, float]]] = (),
    extra: Sequence[tuple[str, bytes, str, str]] = (),
    program_header: Sequence[str] = (),
    project: str = "",
    headline: str = "",
) -> str:
    """The page of any program, exposed; with what was measured if there is a design to measure against.

    answers: further (question, sentences).  columns: further (title, note, figures) of the table.
    extra: further pictures (title, PNG, text for who cannot see it, text below it), before ours.
    project: text of the laserpath.toml that makes the program again, if one does.
    """
    from laserpath.report.exposure import exposure_page
    from laserpath.report.page import Column, Told

    told = Told(
        name=name,
        warnings=warnings,
        answers=answers,
        columns=tuple(Column(*column) for column in columns),
        extra=tuple(extra),
        header=program_header,
        project=project,
        headline=headline,
    )
    return exposure_page(exposed, commanded, executed, told)
