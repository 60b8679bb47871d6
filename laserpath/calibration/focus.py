"""Best focus and depth of focus, from lines of several energies at several heights.

Rows of lines along x and along y, each row at a Z of its own, all lines at nearly one speed. At the distance
z − z₀ from its focus a beam is as wide as (Siegman, Lasers, §17.1; with M² beside λ, ISO 11146-1)

    w(z)² = w₀² (1 + ((z − z₀)/z_R)²),

with w the FWHM and z_R the Rayleigh range, at which it is √2 wider. A line along x shows the width along y,
and the other way round, so that an astigmatic beam has two planes: z₀ ± a/2. Unknown are the critical dose,
the geometric means of w₀ and z_R over the directions that were measured, the mean z₀, and with both of them
also the ratio of the w₀, that of the z_R, and a. Sizes are those of `model` with the width w(z) at the item's
height; the fit, its scatter and its intervals are those of `estimates`. Items that do not show count, too.
The shape is that of a Gaussian, which it keeps out of focus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.checks import number_list
from laserpath.base.errors import InputError, figure
from laserpath.calibration.charts import ABOVE_AROUND, BELOW_AROUND, Chart
from laserpath.calibration.estimates import Estimate, FitSolution, solve
from laserpath.calibration.layout import (
    LETTERS,
    WIDTH,
    Dimensions,
    Stroke,
    label_level_and_speed,
    moves_of,
    placed,
    slowest_speed,
    speed_limit,
    speed_of,
    strokes,
    threshold_energy,
    written,
)
from laserpath.calibration.measurements import Item, Measurements
from laserpath.calibration.model import ASPECT, Data, Physics, Unknowns
from laserpath.machine.rest import at_heights
from laserpath.physics import optics
from laserpath.physics.resin import line_energy, power_for
from laserpath.types import Machine, Process, Spot

_LINES = 6
"""Lines of each direction in a row. More tell the width at its height better, and take longer."""
_LEAST, _MOST = 5, len(LETTERS)
"""Rows. Fewer hardly tell the depth from the width."""
_BELOW, _ABOVE = 1.0, 32.0
"""Default line energies: those of the weakest and the strongest line, over that of one that just cures in
focus. Out of focus a line needs more, and the critical dose may be wrong by a factor of 2 or 3."""
_LABEL = 8.0
"""Line energy of labels over that of a line that just cures."""
_APART = 16.0
"""FWHM from one line along y to the next."""
_FOCUS_DIGIT = 1e-3


def checked_focus(focus: Sequence[float], machine: Machine, least: int, most: int) -> list[float]:
    """Heights, mm, from the focus of the machine's profile, rounded as they are labelled.

    Raises InputError for too few, too many or equal ones, and for those that the machine cannot reach.
    """
    number_list("focus", focus)
    if not least <= len(focus) <= most:
        raise InputError(f"there are {len(focus)} focus positions, but must be {least} to {most}")
    rounded = [round(float(z), 3) + 0.0 for z in focus]
    if rounded == [0.0]:
        return rounded
    if machine.z_travel is None:
        raise InputError(
            f"focus needs a Z, and machine {machine.name!r} names none: put z_travel_mm = [-1, 40] with its "
            "lowest and highest Z into its profile, or set the focus by hand, once for each print"
        )
    low, high = machine.z_travel
    for z in (0.0, *rounded):
        if not low <= z + machine.focus <= high:
            zero = f"Z = {machine.focus:g}" if machine.focus else "Z = 0"
            raise InputError(
                f"focus {z:g} mm is outside the {low:g} to {high:g} mm in which machine {machine.name!r} "
                f"travels in Z (z_travel_mm); the focus of 0 is at {zero}"
            )
    if len(set(rounded)) < len(rounded):
        raise InputError(f"two focus positions are equal within {1000 * _FOCUS_DIGIT:g} um; give others")
    return rounded


def focus_chart(
    process: Process,
    focus: Sequence[float],
    *,
    around: float | None = None,
    energies: tuple[float, float] | None = None,
) -> Chart:
    """A chart of rows of lines, each at a height of `focus`, mm from the focus of the machine's profile.

    around: critical dose, mJ/mm², if it is roughly known.  energies: of the lines, mJ/mm, instead.
    The items have the Z of the program. The machine needs a `z_travel` that covers it.
    """
    if around is not None and energies is not None:
        raise InputError(
            "a dose to be around and line energies from and to both set the range; give one of them"
        )
    machine = process.machine
    heights = sorted(checked_focus(focus, machine, _LEAST, _MOST))
    if energies is None:
        below, above = (_BELOW, _ABOVE) if around is None else (BELOW_AROUND, ABOVE_AROUND)
        middle = threshold_energy(around or process.resin.critical_dose, process.spot)
        energies = middle / below, middle * above
    series, notes = _SeriesLines.of(process, *energies)
    rows = [series.row(k, z + machine.focus) for k, z in enumerate(heights)]
    labels = series.labels(len(heights))
    low, size = placed(labels, [stroke for row in rows for _, stroke in row], machine, "heights")
    items = tuple(replace(i, x=float(i.x - low[0]), y=float(i.y - low[1])) for row in rows for i, _ in row)
    lines = [[stroke.moved(*-low) for _, stroke in row] for row in rows]
    labels = [stroke.moved(*-low) for stroke in labels]
    parts = [(moves_of(labels, process), 0.0)]
    for z, row in zip(heights, lines, strict=True):
        parts.append((moves_of(row, process, parts[-1][0].xy[-1]), z))
    head = (
        f"laserpath focus series: {len(items)} lines at {len(heights)} heights, Z {items[0].z:g} to "
        f"{items[-1].z:g} mm",
        f"Size {size[0]:.3f} x {size[1]:.3f} mm, work zero at its lower left corner.",
        f"Machine: {machine.name}, {machine.power_max:g} mW at full power.",
        "Expose, develop, measure; fill in the sheet, then: laserpath fit focus.csv",
    )
    program, seconds = written(at_heights(parts, machine), process, head)
    ends = float(series.energy[0]), float(series.energy[-1])
    return Chart(items, (*labels, *chain(*lines)), process, program, size, seconds, ends, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _SeriesLines:
    """The lines of a row. energy: (L,) rising.  level: (L,).  speed: (L,) mm/s, nearly one for all."""

    process: Process
    layout: Dimensions
    energy: Floats
    level: Floats
    speed: Floats

    @classmethod
    def of(cls, process: Process, low: float, high: float) -> tuple[_SeriesLines, tuple[str, ...]]:
        """Lines of energies from low to high, or as near as the machine comes; notes on differences."""
        machine, spot = process.machine, process.spot
        if not 0 < low < high:
            raise InputError(f"line energies from {low:g} to {high:g} mJ/mm are not a range")
        limit = speed_limit(machine)
        weakest, strongest = (
            float(line_energy(p, 1.0, spot)) for p in (machine.power_min, machine.power_max)
        )
        fastest = min(limit, strongest / high)
        least = max(low, weakest / fastest)
        if 2 * least > high:
            raise InputError(
                f"the weakest line, {figure(machine.power_min)} mW at {figure(fastest)} mm/s, has "
                f"{figure(least / high)} times the highest line energy; put a filter into the beam, or "
                "request more"
            )
        notes = () if least == low else (
            f"the weakest line has {figure(least / low)} times the line energy asked for: that of the lowest "
            "power at the speed of the strongest one",
        )  # fmt: skip
        energy = np.geomspace(least, high, _LINES)
        # Rounded down, so that no line is faster than the limit.
        level = machine.level_below(power_for(energy, np.full(_LINES, fastest), spot))
        speed = np.array(
            [
                speed_of(float(machine.power_of(n)), float(e), process)
                for n, e in zip(level, energy, strict=True)
            ]
        )
        if (slow := float(speed.min())) < slowest_speed(machine):
            raise InputError(
                f"the lines would be written at {figure(slow, 2)} mm/s, below the "
                f"{figure(slowest_speed(machine), 2)} mm/s that the feed's digits can still tell; "
                "ask for less line energy"
            )
        return cls(process, Dimensions.of(optics.fwhm(spot), machine), energy, level, speed), notes

    @property
    def pitch(self) -> float:
        """From one row to the next, mm."""
        return self.layout.length + self.layout.space

    def row(self, number: int, z: float) -> list[tuple[Item, Stroke]]:
        """The lines along x, then those along y, of a row at a height, mm."""
        lay, y, made = self.layout, -number * self.pitch, []
        for k in range(2 * _LINES):
            nth, along = k % _LINES, "xy"[k // _LINES]
            x = lay.length / 2 + nth * (lay.length + lay.space)
            if along == "y":
                x = _LINES * (lay.length + lay.space) + nth * _APART * lay.f
            half = lay.length / 2 * np.array([along == "x", along == "y"])
            level, speed = int(self.level[nth]), float(self.speed[nth])
            name, power = f"{LETTERS[number]}{k + 1}", float(self.process.machine.power_of(level))
            item = Item(name, "line", power, speed, lay.length, x, y, along=along, level=level, z=z)
            middle = np.array([x, y])
            made.append((item, Stroke(np.array([middle - half, middle + half]), level, speed, name)))
        return made

    def labels(self, rows: int) -> list[Stroke]:
        """The letter of each row, to its left."""
        lay, resin, spot = self.layout, self.process.resin, self.process.spot
        energy = _LABEL * threshold_energy(resin.critical_dose, spot)
        how = label_level_and_speed(energy, lay.letter / 3, self.process)
        left = -lay.space - lay.letter * WIDTH
        return [
            Stroke(xy, *how)
            for k in range(rows)
            for xy in strokes(LETTERS[k], left, -k * self.pitch - lay.letter / 2, lay.letter)
        ]


# The fit

_DOSE, _FWHM, _FOCUS, _RANGE = "critical_dose", "fwhm", "focus", "rayleigh_range"
_ASTIGMATISM, _RANGES = "astigmatism", "range_ratio"
_ALONG_BOTH = (ASPECT, _ASTIGMATISM, _RANGES)
_PROFILE = "gaussian"
_HEIGHTS = 4
"""Least number of heights with a size."""
_VAGUE = np.log(2.0)
"""Half an interval, as ln of a ratio, from which the Rayleigh range counts as undetermined."""
_STARTS = 3
"""Starts of the fit: the best of a grid. With fewer it may end beside the focus."""


@dataclass(frozen=True, slots=True)
class _FocusUnknowns(Unknowns):
    """z: (N,) of the items, mm.  span: mm, the unit of the unknown heights."""

    z: Floats = field(default_factory=lambda: np.zeros(0))
    span: float = 1.0

    def value(self, name: str, theta: Floats) -> Floats:
        """The value of an unknown, in mm, mJ/mm², or a ratio."""
        return theta * self.span if name in (_FOCUS, _ASTIGMATISM) else np.exp(theta)

    def physics(self, theta: Floats) -> Physics:
        """The critical dose, and the widths of each item: (N,), or (B, N) for θ of (P, B, 1)."""
        values = {name: self.value(name, x) for name, x in zip(self.names, theta, strict=True)}
        root = np.sqrt(values.get(ASPECT, 1.0))
        deeper = np.sqrt(values.get(_RANGES, 1.0))
        apart = values.get(_ASTIGMATISM, 0.0) / 2

        def width(sign: int) -> Floats:
            """Along x for a sign of 1, along y for −1."""
            off = (self.z - (values[_FOCUS] + sign * apart)) / (values[_RANGE] * deeper**sign)
            return values[_FWHM] * root**sign * np.sqrt(1 + off**2)

        return replace(self.given, fwhm=(width(1), width(-1)), critical_dose=values[_DOSE])


@dataclass(frozen=True, slots=True)
class FocusFit:
    """focus: mm, Z of the best focus.  rayleigh_range: mm.  fwhm: mm, there.  critical_dose: mJ/mm².

    aspect: FWHM along x ÷ along y, and astigmatism: mm, by which the focus of lines along y, which show the
    width along x, is higher; None unless lines in both directions were measured.
    scatter: mm, of one measurement.  warnings: sentences.
    """

    focus: Estimate
    rayleigh_range: Estimate
    fwhm: Estimate
    critical_dose: Estimate
    aspect: Estimate | None
    astigmatism: Estimate | None
    order: int
    scatter: float
    warnings: tuple[str, ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """All estimates."""
        some = (self.focus, self.rayleigh_range, self.fwhm, self.critical_dose, self.aspect, self.astigmatism)
        return tuple(one for one in some if one is not None)

    def machine(self, base: Machine) -> Machine:
        """`base` with the Z of the best focus."""
        return replace(base, focus=round(self.focus.value, 4))

    def spot(self) -> Spot:
        """The spot in focus, elliptical if the sizes tell that it is.

        It is a Gaussian, with the wavelength by which it widens out of focus as measured,
        λ' = π FWHM²/(2 ln 2 z_R), M² times that of the light.
        """
        fwhm = float(f"{self.fwhm.value:.5g}")
        wide = np.pi * fwhm**2 / (2 * np.log(2) * self.rayleigh_range.value)
        aspect = 1.0
        if self.aspect is not None and not self.aspect.low <= 1 <= self.aspect.high:
            aspect = self.aspect.value
        return Spot(fwhm, _PROFILE, aspect, wavelength=wide)

    def told(self) -> Iterator[str]:
        """A sentence for each estimate."""
        for one in self.estimates:
            name, scale, unit = _SHOWN[one.name]
            if one.name == _DOSE and self.order > 1:
                continue
            value, low, high = (figure(scale * x, 4) for x in (one.value, one.low, one.high))
            yield f"{name} {value}{unit}, 95 % from {low} to {high}"
        depth = figure(2000 * self.rayleigh_range.value)
        yield f"the depth of focus, 2 Rayleigh ranges, is {depth} µm; one measurement scatters by " + (
            f"{figure(1000 * self.scatter, 2)} µm"
        )

    def as_dict(self) -> dict[str, list[float]]:
        """Name with its unit → value, low, high; a dose of N photons is left out."""
        return {
            f"{one.name}_{_UNITS[one.name]}".rstrip("_"): [
                _SHOWN[one.name][1] * x for x in (one.value, one.low, one.high)
            ]
            for one in self.estimates
            if one.name != _DOSE or self.order == 1
        }


_UNITS = {_FOCUS: "mm", _RANGE: "um", _FWHM: "um", _DOSE: "mJ_per_cm2", ASPECT: "", _ASTIGMATISM: "um"}
_SHOWN = {
    _FOCUS: ("best focus at Z", 1.0, " mm"),
    _RANGE: ("Rayleigh range, from the focus to where the spot is √2 wider,", 1000.0, " µm"),
    _FWHM: ("spot's FWHM in focus", 1000.0, " µm"),
    _DOSE: ("critical dose", 100.0, " mJ/cm²"),
    ASPECT: ("FWHM along x ÷ along y", 1.0, ""),
    _ASTIGMATISM: ("lines along y are sharpest above those along x by", 1000.0, " µm"),
}
"""Name → words, displayed units in our unit, displayed unit."""


def fit_focus(measurements: Measurements, *, robust: bool = False) -> FocusFit | None:
    """Best focus and Rayleigh range from a chart at several heights; None: all its items are at one.

    robust: outliers count less.  Raises InputError if the sizes do not tell them.
    """
    rows = tuple(row for row in measurements.rows if row.item.kind != "pair")
    if len({row.item.z for row in rows}) < 2:
        return None
    data = Data.of(replace(measurements, rows=rows), _PROFILE)
    data = data.only(~data.deep)
    z = np.array([row.item.z for row in rows])
    heights = len(np.unique(z[data.item]))
    if heights < _HEIGHTS:
        raise InputError(
            f"the focus is undetermined, since widths are filled in at {heights} heights; measure some at "
            f"{_HEIGHTS} or more"
        )
    solution = _solved(data, z, robust)
    found = {name: _estimate(solution, name) for name in solution.unknowns.names}
    k = solution.unknowns.names.index(_RANGE)
    if not solution.half[k] < _VAGUE:
        raise InputError(
            "the depth of focus is undetermined: the widths hardly change with the height, or scatter as "
            "much; measure a series over a larger range of Z"
        )
    return FocusFit(
        found[_FOCUS], found[_RANGE], found[_FWHM], found[_DOSE], found.get(ASPECT), found.get(_ASTIGMATISM),
        measurements.order, float(solution.noise["width"]),
        tuple(_warnings(found, z[data.item])),
    )  # fmt: skip


def _solved(data: Data, z: Floats, robust: bool) -> FitSolution:
    """The best of the fits from several starts."""
    upright = data.model.upright[data.item]
    both = bool(upright.any() and not upright.all())
    names = (_DOSE, _FWHM, _FOCUS, _RANGE, *(_ALONG_BOTH if both else ()))
    span = float(np.ptp(z))
    unknowns = _FocusUnknowns(names, Physics((1.0, 1.0), 1.0), 1, z, span)
    solutions, refused = [], []
    for start in _starts(data, unknowns):
        try:
            solutions.append(solve(data, unknowns, start, {}, robust, None))
        except InputError as error:
            refused.append(error)
    if not solutions:
        raise refused[0]
    # A fit beside the focus may leave out many sizes, and then scatters little.
    return min(solutions, key=lambda one: one.noise["width"] / one.used.mean() ** 2)


def _starts(data: Data, unknowns: _FocusUnknowns) -> list[Floats]:
    """θ of those combinations of a grid whose sizes are nearest to the measured ones."""
    z, span = unknowns.z, unknowns.span
    middle = np.log(np.median(data.size))
    unit = data.model.sizes(Physics((np.exp(middle), np.exp(middle)), 1.0)).excess[data.item]
    grid = np.meshgrid(
        float(np.median(unit)) - np.linspace(0.3, 3.3, 6),
        middle + np.log(np.geomspace(0.3, 1.4, 6)),
        np.linspace(z.min() - span / 4, z.max() + span / 4, 11) / span,
        np.log(span * np.geomspace(0.06, 1.5, 6)),
        indexing="ij",
    )
    points = np.stack([axis.ravel() for axis in grid])
    points = np.vstack([points, np.zeros((len(unknowns.names) - len(points), points.shape[1]))])
    sizes = data.model.sizes(unknowns.physics(points[..., None]))
    off = np.abs(np.log(np.maximum(data.predicted(sizes), 1e-9) / data.size)).mean(axis=1)
    hidden = np.maximum(-data.sign * sizes.excess[:, data.seen], 0).sum(axis=1) / max(len(data.size), 1)
    order = np.argsort(off + hidden, kind="stable")
    chosen: list[int] = []
    for k in order[:400].tolist():  # far apart in the height of the focus, or its depth
        if all(np.abs(points[2:4, k] - points[2:4, other]).max() > 0.2 for other in chosen):
            chosen.append(k)
        if len(chosen) == _STARTS:
            break
    return [points[:, k] for k in chosen]


def _estimate(solution: FitSolution, name: str) -> Estimate:
    k = solution.unknowns.names.index(name)
    theta, half = solution.theta[k], solution.half[k]
    low, value, high = (float(solution.unknowns.value(name, x)) for x in (theta - half, theta, theta + half))
    return Estimate(name, value, low, high)


def _warnings(found: dict[str, Estimate], z: Floats) -> Iterator[str]:
    focus, depth = found[_FOCUS], found[_RANGE]
    low, high = float(z.min()), float(z.max())
    if not low < focus.value < high:
        yield (
            f"the best focus, Z {focus.value:.3f} mm, is outside the {low:g} to {high:g} mm that were "
            "measured: expose another series around it"
        )
    elif min(focus.value - low, high - focus.value) < depth.value / 2:
        yield f"the best focus, Z {focus.value:.3f} mm, is at an end of the series: expose another around it"
    apart = found.get(_ASTIGMATISM)
    if apart and not apart.low <= 0 <= apart.high and abs(apart.value) > depth.value / 4:
        yield (
            f"the beam is astigmatic: lines along y are sharpest {figure(1000 * apart.value)} µm higher than "
            "those along x, and the best focus is half-way between"
        )
