"""The page's pictures: maps, which the viewer takes the place of where it runs, and charts."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from laserpath.report import histograms, pictures, plots
from laserpath.report.payload import Exposed
from laserpath.report.track import track
from laserpath.report.verdict import Facts
from laserpath.report.worst import Place
from laserpath.types.results import Limit


@dataclass(frozen=True, slots=True)
class Picture:
    """title: above it.  source: data URI.  text: below it; `alt` for who cannot see it."""

    title: str
    source: str
    alt: str
    text: str


def maps(exposed: Exposed, places: Sequence[Place], done: str) -> Iterator[Picture]:
    """Where things are: path, cure and dose; with a design its edge errors too."""
    over = " over the design" if exposed.design else ""
    yield picture(
        f"{'Design and toolpath' if exposed.design else 'Toolpath'}",
        pictures.toolpath_map(exposed),
        f"The moves of the laser{over}.",
        f"{'Grey is the design. ' if exposed.design else ''}The laser's moves are coloured by power.",
    )
    yield picture(
        f"What will {done}",
        pictures.cure_map(exposed, done),
        f"The predicted {done}{' against the design' if exposed.design else ''}.",
        "As executed by the controller."
        + (" Vermilion is outside the drawing, blue is lacking." if exposed.design else ""),
    )
    yield picture(
        "Dose",
        pictures.dose_map(exposed),
        "Map of the dose in critical doses.",
        "The white line is the critical dose: the printed edge."
        + (" The black one is the design." if exposed.design else ""),
    )
    if exposed.design and exposed.edges:
        yield picture(
            "Edge error along the contour",
            pictures.epe_map(exposed.edges, exposed.design, exposed.process, places),
            "Map of the edge placement error, worst places numbered.",
            "The numbers are those of the list of worst places.",
        )


def enlarged(exposed: Exposed, places: Sequence[Place], done: str) -> Iterator[Picture]:
    """The worst places, if there are any."""
    if exposed.design and places:
        yield picture(
            "The worst places, enlarged",
            pictures.zooms(exposed, exposed.design, places, done),
            "The worst places enlarged.",
            f"Each is {2 * pictures.ZOOM_FWHM:g} spots wide; axes in mm.",
        )


def distributions(exposed: Exposed) -> Iterator[Picture]:
    """How much of what there is."""
    yield picture(
        "Doses",
        histograms.doses(exposed),
        "Histogram of the dose" + (" inside the design and around it." if exposed.design else "."),
        "As executed. "
        + (
            "Inside should lie above the critical dose, outside below it."
            if exposed.design
            else "Above the critical dose it cures."
        ),
    )
    executed = track(exposed.run, exposed.process.machine)
    if executed.on.any():
        yield picture(
            "Powers and speeds",
            histograms.powers_and_speeds(executed),
            "Histograms of power and speed.",
            "While the laser is on, as executed.",
        )


def errors(facts: Facts) -> Iterator[Picture]:
    """How wrong the edge is, as planned and if dose or focus is off."""
    executed, fwhm = facts.report.executed, facts.fwhm
    yield picture(
        "Edge errors",
        plots.epe_histogram(executed, facts.report.start if facts.planned else None, fwhm),
        "Histogram of the edge errors.",
        "As executed; larger errors are counted in the outermost bars.",
    )
    if facts.report.window:
        yield picture(
            "Edge errors if dose or focus is off",
            plots.process_window(facts.report.window, facts.tolerance, fwhm),
            "Edge error against dose, in focus and with a wider spot.",
            _window_caption(facts),
        )


def courses(exposed: Exposed, facts: Facts | None) -> Iterator[Picture]:
    """What goes on along the path, and while it was optimised."""
    yield picture(
        "Power and speed along the path",
        plots.power_along(exposed.toolpath, exposed.process.machine),
        "Power and speed against the length exposed.",
        "As commanded, without the travels.",
    )
    if facts and len(facts.loss):
        yield picture(
            "Loss of the optimiser",
            plots.loss_history(facts.loss),
            "Loss against iteration.",
            "Jumps are where the optimiser goes to its next stage.",
        )


def unprintable(facts: Facts, limit: Limit) -> Picture | None:
    """What even the best light misses, if it misses anything."""
    places = len(limit.unprintable)
    if not places:
        return None
    return picture(
        f"What light without a path would {facts.done}",
        pictures.limit_map(limit, facts.design, facts.process, facts.done),
        f"The best that this spot can do against the design, with marks at {places} "
        f"place{'s' * (places > 1)} that cannot be printed as drawn.",
        "The black line is the design. Marked is what even the best light misses.",
    )


def _window_caption(facts: Facts) -> str:
    given = facts.settings is not None and facts.settings.max_epe_fwhm is not None
    order = facts.process.resin.order
    return (
        "As executed, with all of the dose off alike, and with a spot that is wider at the same power. "
        f"Dashed: {facts.tolerance:g} FWHM, {'the tolerance asked for' if given else 'what counts as good'}; "
        "shaded: the doses that keep it in focus, if any."
        + (f" The dose goes with the power to the {order}." if order > 1 else "")
    )


def picture(title: str, png: bytes, alt: str, text: str) -> Picture:
    """A PNG as the page has it."""
    return Picture(title, "data:image/png;base64," + base64.b64encode(png).decode("ascii"), alt, text)
