"""The page's pictures with their captions: maps, which the viewer replaces where it runs, and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from laserpath.report import histograms, pictures, plots
from laserpath.report.data import ExposedProgram, PageData, Picture
from laserpath.report.worst_places import Place
from laserpath.types.results import Limit


def maps(exposed: ExposedProgram, places: Sequence[Place], done: str) -> Iterator[Picture]:
    """Maps of path, cure and dose, and of the edge error if there is a design."""
    over = " over the design" if exposed.design else ""
    yield Picture.from_svg(
        f"{'Design and toolpath' if exposed.design else 'Toolpath'}",
        pictures.toolpath_map(exposed),
        f"The moves of the laser{over}.",
        f"{'Grey is the design. ' if exposed.design else ''}The laser's moves are coloured by power.",
    )
    yield Picture.from_svg(
        f"What will {done}",
        pictures.cure_map(exposed, done),
        f"The predicted {done}{' against the design' if exposed.design else ''}.",
        "As executed by the controller."
        + (" Vermilion is outside the drawing, blue is lacking." if exposed.design else ""),
    )
    yield Picture.from_svg(
        "Dose",
        pictures.dose_map(exposed),
        "Map of the dose in critical doses.",
        "The white line is the critical dose: the printed edge."
        + (" The black one is the design." if exposed.design else ""),
    )
    if exposed.design and exposed.edges:
        yield Picture.from_svg(
            "Edge error along the contour",
            pictures.epe_map(exposed.edges, exposed.design, exposed.process, places),
            "Map of the edge placement error, worst places numbered.",
            "The numbers are those of the list of worst places.",
        )


def enlarged(exposed: ExposedProgram, places: Sequence[Place], done: str) -> Iterator[Picture]:
    """The worst places enlarged, if there are any."""
    if exposed.design and places:
        yield Picture.from_svg(
            "The worst places, enlarged",
            pictures.zooms(exposed, exposed.design, places, done),
            "The worst places enlarged.",
            f"Each is {2 * pictures.ZOOM_FWHM:g} spots wide; axes in mm.",
        )


def distributions(exposed: ExposedProgram) -> Iterator[Picture]:
    """Histograms of dose, power and speed."""
    yield Picture.from_svg(
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
    executed = exposed.track
    if executed.on.any():
        yield Picture.from_svg(
            "Powers and speeds",
            histograms.powers_and_speeds(executed),
            "Histograms of power and speed.",
            "While the laser is on, as executed.",
        )


def errors(data: PageData) -> Iterator[Picture]:
    """The edge errors, as planned and with dose or focus off."""
    executed, fwhm = data.report.executed, data.fwhm
    yield Picture.from_svg(
        "Edge errors",
        plots.epe_histogram(executed, data.report.start if data.planned else None, fwhm),
        "Histogram of the edge errors.",
        "As executed; larger errors are counted in the outermost bars.",
    )
    if data.report.window:
        yield Picture.from_svg(
            "Edge errors if dose or focus is off",
            plots.process_window(data.report.window, data.tolerance, fwhm),
            "Edge error against dose, in focus and with a wider spot.",
            _window_caption(data),
        )


def courses(exposed: ExposedProgram, data: PageData | None) -> Iterator[Picture]:
    """Power and speed along the path, and the loss of the optimiser."""
    yield Picture.from_svg(
        "Power and speed along the path",
        plots.power_along(exposed.light, exposed.process.machine),
        "Power and speed against the length exposed.",
        "As written, without the travels.",
    )
    if data and len(data.loss):
        yield Picture.from_svg(
            "Loss of the optimiser",
            plots.loss_history(data.loss),
            "Loss against iteration.",
            "Jumps are where the optimiser goes to its next stage.",
        )


def unprintable(data: PageData, limit: Limit) -> Picture | None:
    """The places that even the best exposure misses, if there are any."""
    places = len(limit.unprintable)
    if not places:
        return None
    return Picture.from_svg(
        f"What light without a path would {data.done}",
        pictures.limit_map(limit, data.design, data.process, data.done),
        f"The best that this spot can do against the design, with marks at {places} "
        f"place{'s' * (places > 1)} that cannot be printed as drawn.",
        "The black line is the design. Marked is what even the best light misses.",
    )


def _window_caption(data: PageData) -> str:
    given = data.settings is not None and data.settings.max_epe_fwhm is not None
    order = data.process.resin.order
    return (
        "As executed, with all of the dose off alike, and with a spot that is wider at the same power. "
        f"Dashed: {data.tolerance:g} FWHM, {'the tolerance asked for' if given else 'what counts as good'}; "
        "shaded: the doses that keep it in focus, if any."
        + (f" The dose goes with the power to the {order}." if order > 1 else "")
    )
