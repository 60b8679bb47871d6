"""The report: one HTML file that says what will cure, where it will miss and why."""

from __future__ import annotations

from collections.abc import Sequence

from laserpath.arrays import Floats
from laserpath.results import Report
from laserpath.types import Design, Process, Settings, Toolpath

__all__ = ["render"]


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
) -> str:
    """The report as the text of one HTML file without outside references.

    design: the area as exposed.  target_name: what to call it.  toolpath: as shipped, commanded.
    loss: (iterations,) history.  program_header: comment lines of the program, shown at the end.
    """
    # matplotlib takes half a second to import; who plans without a report does not wait for it.
    from laserpath.report.page import page

    return page(report, design, target_name, toolpath, process, settings, loss, program_header)
