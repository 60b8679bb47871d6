"""The profiles that a fit gives, commented TOML files for `plan --resin … --spot …`, and its picture.

The picture, one SVG, shows sizes and depths over the peak dose, and their residuals. A photograph of a print
gives a Gaussian spot of its blur and a resin of its contrast.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from io import StringIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.quantities import quoted
from laserpath.calibration.estimates import PLURAL, Fit, SizeResidual, sentence
from laserpath.calibration.focus import FocusFit
from laserpath.calibration.measurements import Item, Measurements
from laserpath.calibration.mechanics import MechanicsFit
from laserpath.calibration.model import ASPECT, TRUSTED, SizeModel
from laserpath.calibration.prints import PrintFit
from laserpath.config.profiles import writing
from laserpath.types import Machine, Resin, Spot

_INK, _FAINT, _BAD = "#222222", "#8a949c", "#c23b4e"
_MARKS = {
    "width": ("o", "#86216b", "widths of lines"), "diameter": ("s", "#dd7a1f", "diameters of dots"),
    "merged": ("^", "#4a86b8", "gaps of wedges"), "depth": ("o", "#00876c", "depths"),
}  # fmt: skip
_PLANE = ("width", "diameter", "merged")


def fit_svg(fit: Fit, items: Sequence[Item]) -> str:
    """The text of an SVG file. items: those measured, for the lengths of dots."""
    # The same figure gives the same bytes; text stays text.
    with rc_context({"svg.hashsalt": "laserpath", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = _figure(fit, items)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Title": "Calibration fit"})
    return text.getvalue()


def _figure(fit: Fit, items: Sequence[Item]) -> Figure:
    groups = [names for names in (_PLANE, ("depth",)) if any(r.what in names for r in fit.residuals)]
    figure = Figure(figsize=(5.2 * max(len(groups), 1) + 0.6, 6.4), layout="constrained", facecolor="white")
    lines = [sentence(e, fit.order) for e in fit.estimates]
    figure.suptitle("\n".join(lines), x=0.02, ha="left", fontsize=9.5, color=_INK)
    grid = figure.add_gridspec(2, max(len(groups), 1), height_ratios=(2.4, 1))
    for column, names in enumerate(groups):
        top = figure.add_subplot(grid[0, column])
        below = figure.add_subplot(grid[1, column], sharex=top)
        _add_sizes(top, fit, items, names)
        _add_rest(below, fit, names)
        top.tick_params(labelbottom=False)
    return figure


def _dress(ax: Axes, label: str) -> None:
    ax.set_ylabel(label, fontsize=10, color=_INK)
    ax.tick_params(labelsize=9, colors=_INK, length=3)
    for side in ax.spines.values():
        side.set_color(_FAINT)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def _add_sizes(ax: Axes, fit: Fit, items: Sequence[Item], names: Sequence[str]) -> None:
    deep = names == ("depth",)
    _dress(ax, "depth, µm" if deep else "width, diameter, gap, µm")
    for name in names:
        rows = [r for r in fit.residuals if r.what == name]
        if not rows:
            continue
        mark, colour, label = _MARKS[name]
        style: dict[str, Any] = {"marker": mark, "ls": "", "ms": 5, "color": colour}
        for used in (True, False):
            some = [r for r in rows if r.used == used]
            ax.plot(
                [r.excess for r in some], [r.measured * 1000 for r in some],
                mfc=colour if used else "none", label=label if used else None, **style,
            )  # fmt: skip
        _add_outliers(ax, [r for r in rows if r.outlier], lambda r: r.measured * 1000)
        if name != "merged" or not any(r.what == "width" for r in fit.residuals):
            x, y = _curve(fit, items, name, rows)
            ax.plot(x, y, color=colour, lw=1.2, alpha=0.8)
    ax.set_ylim(bottom=0)
    if not deep:
        ax.axvline(1, color=_FAINT, lw=0.8, ls=(0, (4, 3)))
    ax.legend(fontsize=9, frameon=False, labelcolor=_INK)


def _add_rest(ax: Axes, fit: Fit, names: Sequence[str]) -> None:
    _dress(ax, "measured − fit, µm")
    ax.set_xlabel("peak dose, in critical doses", fontsize=10, color=_INK)
    rows = [r for r in fit.residuals if r.what in names and r.used]
    for name in names:
        mark, colour, _ = _MARKS[name]
        some = [r for r in rows if r.what == name]
        rest = [(r.measured - r.fitted) * 1000 for r in some]
        ax.plot([r.excess for r in some], rest, marker=mark, ls="", ms=5, color=colour)
    ax.axhline(0, color=_FAINT, lw=0.8)
    if rows:
        sigma = max(r.sigma for r in rows) * 1000
        ax.axhspan(-sigma, sigma, color="#eef1f3", lw=0, zorder=0)
    _add_outliers(ax, [r for r in rows if r.outlier], lambda r: (r.measured - r.fitted) * 1000)


def _add_outliers(ax: Axes, rows: Sequence[SizeResidual], height: Any) -> None:
    for r in rows:
        ax.plot(r.excess, height(r), "o", ms=11, mfc="none", color=_BAD)
        ax.annotate(r.id, (r.excess, height(r)), (8, 0), textcoords="offset points", fontsize=9, color=_BAD)


def _curve(fit: Fit, items: Sequence[Item], name: str, rows: Sequence[SizeResidual]) -> tuple[Floats, Floats]:
    """Peak dose, in critical doses, and size or depth, µm, of dots like the first one, or of lines."""
    doses = [r.excess for r in rows]
    # The model does not hold for widths beyond `TRUSTED`.
    last = max(doses) if name == "depth" else min(max(doses), TRUSTED)
    doses_drawn = np.geomspace(min(*doses, 1.0) if name == "depth" else 1.0, 1.1 * last, 200)
    like = next((i for i in items if (i.kind == "dot") == (name == "diameter")), items[0])
    like = replace(like, kind="dot" if name == "diameter" else "line", power=1.0, speed=fit.physics.speed)
    unit = np.exp(SizeModel([like], fit.profile, fit.order).sizes(fit.physics).excess[0])
    powers = (doses_drawn / unit) ** (1 / fit.order)
    sizes = SizeModel([replace(like, power=float(p)) for p in powers], fit.profile, fit.order).sizes(
        fit.physics
    )
    return np.exp(sizes.excess), 1000 * (sizes.depth if name == "depth" else sizes.size)


_OF_SPOT = ("fwhm", ASPECT)
"""Estimates of the spot; all others are the resin's."""


def entries(fit: Fit, source: str, on: date) -> dict[str, str]:
    """Kind of a profile → the line that says when it was measured, by what, and how well.

    source: file name of the measurements.  on: the day.
    """
    used = [r for r in fit.residuals if r.used]
    left = np.sqrt(np.mean([(r.measured - r.fitted) ** 2 for r in used])) if used else 0.0
    sizes = f"{len(used)} sizes, {1000 * left:.2g} um left" if used else "what was visible"
    told = {
        "spot": [sentence(e, fit.order) for e in fit.estimates if e.name in _OF_SPOT],
        "resin": [sentence(e, fit.order) for e in fit.estimates if e.name not in _OF_SPOT],
    }
    begin = f"{on.isoformat()} {' '.join(source.split())}: {sizes}"
    return {kind: "; ".join((begin, *each)) for kind, each in told.items() if each}


def _with(calibrated: str) -> list[str]:
    """The lines of a profile that say when it was measured, the newest last."""
    if not calibrated:
        return []
    return ["", 'calibrated = """', *(quoted(line)[1:-1] for line in calibrated.splitlines()), '"""']


def spot_profile(fit: Fit, source: str, calibrated: str = "") -> str:
    """The TOML text of the spot. source: file name of the measurements.  calibrated: as of `Spot`."""
    fx, fy = fit.physics.fwhm
    known = [e for e in fit.estimates if e.name in _OF_SPOT]
    lines = [
        *_head("Spot", source, fit),
        *(f"# {sentence(e, fit.order)}." for e in known),
        *([] if known else ["# The FWHM was given, not fitted."]),
        "",
        f'profile = "{fit.profile}"',
        f"fwhm_um = {fx * 1000:.5g}" if fx == fy else f"fwhm_um = [{fx * 1000:.5g}, {fy * 1000:.5g}]",
        *_with(calibrated),
    ]
    return "\n".join(lines) + "\n"


def resin_profile(
    fit: Fit, source: str, name: str, base: Resin | None = None, layer: float | None = None,
    calibrated: str = "",
) -> str:  # fmt: skip
    """The TOML text of the resin: `base` with the fitted dose. layer: mm to cure through.

    calibrated: as of `Resin`.
    """
    resin = fit.resin(base, layer)
    doses = [e for e in fit.estimates if e.name not in _OF_SPOT]
    lines = [
        *_head("Resin", source, fit),
        *(f"# {sentence(e, fit.order)}." for e in doses),
        "",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        f'tone = "{resin.tone}"',
        *([] if fit.order == 1 else [f"absorption_order = {fit.order}"]),
        "",
        *_dose(fit, resin),
        "",
        f"contrast = {resin.contrast:g}",
        f"over_dose = {resin.over_dose:g}",
        *_with(calibrated),
    ]
    return "\n".join(lines) + "\n"


def machine_profile(
    machine: Machine, mechanics: MechanicsFit | None, source: str, focus: FocusFit | None = None
) -> str:
    """The TOML text of a machine with what was measured of it. source: file name of the measurements."""
    from laserpath import __version__

    told = [sentence for one in (mechanics, focus) if one is not None for sentence in one.told()]
    lines = [
        f"# Machine, with what laserpath {__version__} fitted from {json.dumps(source)[1:-1]}.",
        *(f"# {sentence[0].upper()}{sentence[1:]}." for sentence in told),
        "",
        writing.text(machine),
    ]
    return "\n".join(lines)


def focus_profile(focus: FocusFit, source: str, calibrated: str = "") -> str:
    """The TOML text of the spot in focus. source: file name of the measurements.  calibrated: of `Spot`."""
    from laserpath import __version__

    lines = [
        f"# Spot in focus, by laserpath {__version__} from {json.dumps(source)[1:-1]}, a series over Z.",
        *(f"# {sentence[0].upper()}{sentence[1:]}." for sentence in focus.told()),
        "# The wavelength is M² times that of the light: with it a defocused spot widens as measured.",
        "",
        writing.text(focus.spot()).rstrip(),
        *_with(calibrated),
        "",
    ]
    return "\n".join(lines)


def _head(what: str, source: str, fit: Fit) -> Iterator[str]:
    from laserpath import __version__

    counts = [(sum(r.what == kind and r.used for r in fit.residuals), kind) for kind in fit.noise]
    sizes = ", ".join(f"{n} {PLURAL[kind]}" for n, kind in counts) or "what was visible"
    yield f"# {what} fitted by laserpath {__version__} from {json.dumps(source)[1:-1]}: {sizes}."
    yield f"# Doses are those of lines written at {fit.physics.speed:g} mm/s; reciprocity " + (
        "holds, as far as can be told." if fit.lasting else "FAILS: fit again with --speed for another."
    )


def _dose(fit: Fit, resin: Resin) -> Iterator[str]:
    """The lines of the critical dose; by the working curve, if the resin has one."""
    if fit.order > 1:
        scale = 10.0 ** (6 * fit.order)
        yield f"critical_dose_mW{fit.order}_s_per_um{2 * fit.order} = {resin.critical_dose / scale:.5g}"
    elif resin.e_c is None or resin.penetration_depth is None:
        yield f"critical_dose_mJ_per_cm2 = {resin.critical_dose * 100:.5g}"
    else:
        layer = resin.penetration_depth * np.log(resin.critical_dose / resin.e_c)
        yield f"# Cured through at {resin.critical_dose * 100:.4g} mJ/cm²."
        yield f"e_c_mJ_per_cm2 = {resin.e_c * 100:.5g}"
        yield f"penetration_depth_um = {resin.penetration_depth * 1000:.5g}"
        yield f"layer_um = {layer * 1000:.5g}"


def files_of(
    fit: Fit,
    measurements: Measurements,
    *,
    name: str,
    source: str,
    base: Resin | None = None,
    layer: float | None = None,
    calibrated: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """NAME.spot.toml, NAME.resin.toml and NAME.fit.svg → text; without a fitted dose or sizes, fewer files.

    source: file name of the measurements, for the comments.  base, layer: see `Fit.resin`.  calibrated: kind
    of profile → when and by what it was measured, a line for each time (`entries`).
    """
    if layer is not None and not (np.isfinite(layer) and layer > 0):
        raise InputError(f"layer is {layer * 1000:g} µm, but must be above 0")
    if layer is not None and fit.order > 1:
        raise InputError(f"a layer has a working curve, which is of one photon, not of {fit.order}")
    known = calibrated or {}
    texts = {f"{name}.spot.toml": spot_profile(fit, source, known.get("spot", ""))}
    if layer is not None or "critical_dose" in fit.names:
        texts[f"{name}.resin.toml"] = resin_profile(fit, source, name, base, layer, known.get("resin", ""))
    if fit.residuals:
        texts[f"{name}.fit.svg"] = fit_svg(fit, [row.item for row in measurements.rows])
    return texts


_LEAST_CONTRAST = 0.1


def print_profiles(
    fit: PrintFit, source: str, base: Resin, name: str, calibrated: str = ""
) -> dict[str, str]:
    """File name → TOML text. base: the resin that provides all other values.  calibrated: of `Spot`.

    The spot includes the camera's blur. A photograph has no unit of dose, so the resin keeps its own.
    """
    fwhm, contrast = fit.fwhm, fit.contrast
    spot = [
        f"# Spot, fitted to the photograph {source}: its blur, the camera's too.",
        f"# FWHM {fwhm.value * 1000:.4g} µm, 95 % from {fwhm.low * 1000:.4g} to {fwhm.high * 1000:.4g}.",
        "",
        writing.text(Spot(fwhm.value, "gaussian")).rstrip(),
        *_with(calibrated),
        "",
    ]
    resin = [
        f"# Resin, fitted to the photograph {source}: its contrast. Critical dose and tone are as before.",
        f"# Contrast {contrast.value:.4g}, 95 % from {contrast.low:.4g} to {contrast.high:.4g}.",
        "",
        writing.text(replace(base, name=name, contrast=max(contrast.value, _LEAST_CONTRAST))),
    ]
    return {f"{name}.spot.toml": "\n".join(spot), f"{name}.resin.toml": "\n".join(resin)}
