"""What a photograph of a print tells of the spot and the dose that made it.

The program that was printed is exposed as the process says. At the points of the outline, with normal n, its
edges are at e mm from the drawing. The photograph shows them at t. What the process does not say of the
machine explains the difference:

    t − e ≈ n·(δa + δA x) + (∂e/∂ln F) δ + (∂e/∂ln D) s(x),

with the place, size and turn of the photograph (δa, δA), a spot that is e^δ times as wide, and a dose of
which e^s(x) acts at each place x. s is a tensor product of cubic B-splines (`physics.dose.uneven`) whose
second differences are penalised (P-splines: P. Eilers, B. Marx, Statist. Sci. 11 (1996) 89): a tilt costs
nothing, a bend that few edges ask for costs more than it gains. Tukey's biweight leaves out dust, scratches
and edges that were mistaken (J. Fox, S. Weisberg, An R Companion to Applied Regression, 2nd ed., 2011,
appendix on robust regression). The e and their derivatives are computed anew after each step (Gauss, Newton).

δ and s have normal priors, so that what the edges cannot tell apart is shared, not invented: on edges that
all depend on width and dose in the same ratio, either explains them, and the next plan is the same. Those of
δ and s are about what was known before, so that a second photograph corrects the first. It is weighed as one
of all: with N = CᵀWC of its edges, whose sight is left free, n photographs before it have added about n N.

What is photographed has been developed, and has shrunk (`machine.placement`): an edge that is cured at x is
seen at S (x + b n), with S = diag(1 − s_x, 1 − s_y) and b outward from what stays. So edges are looked for b
further out, and with p = A′ x of what is cured, A = A′ S⁻¹ is the sight of the print, whose pixels have the
given size and whose axes are square. Marks are printed with the design: their places are those in the
program.

A photograph without marks or the size of its pixels tells neither the scale of the print nor, of a drawing
that is all of one piece, whether it is thick: the places of its edges are then explained by its scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage
from scipy.linalg import block_diag

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import place
from laserpath.calibration.photographs import (
    SMOOTHED,
    GreyPhotograph,
    PhotoEdges,
    Sight,
    seen_by_marks,
    seen_by_outline,
)
from laserpath.design.scene import Scene
from laserpath.measure import cured_fraction
from laserpath.measure.window import edges_of
from laserpath.physics import optics
from laserpath.physics.dose import usual_model
from laserpath.physics.dose.uneven import acting, basis, places
from laserpath.physics.resin import development
from laserpath.simulation.result import Simulation
from laserpath.types import DoseMap, Fiducial, Point, Spot, Toolpath

FEWEST_EDGES = 60
"""Points of the outline that a photograph must show."""
LEAST_SHARE = 0.3
"""… and the share of those that the program prints."""
COARSEST_FWHM = 1 / 4
"""Largest pixel of a photograph: edges are read to about a tenth of one."""
DISTORTED = 0.05
"""Largest difference of scales in a photograph, and between a given pixel and the one found."""
MOST_DOSE, MOST_WIDTH = 0.3, 0.2
"""Largest change of dose, and of the spot's width, that a photograph may cause."""

_SPACING_FWHM, _MOST_INTERVALS = 8.0, 8
"""Intervals of the splines: shorter ones follow the edges more closely, and their errors too."""
_BEND = 0.015
"""Usual second difference of the coefficients of s: a larger one lets it bend more."""
_LEVEL, _WIDTH = 0.5, 0.1
"""Standard deviations of s and δ before the photograph."""
_SHEAR, _KNOWN_PIXEL, _MARK = 0.005, 0.002, 1.0
"""Standard deviations of the difference of scales, of a given pixel's size, and of a mark in pixels."""
_APART = 2.0
"""Edges FWHM/4 apart err together, so that the square of this many count as one."""
_HUBER, _TUKEY, _LEAST_ERROR_FWHM = 1.345, 4.685, 0.005
_REACHES_FWHM = (1.5, 1.5, 1.0, 0.8, 0.8)
_STEPS, _SETTLED = 4, 1e-3
_NUDGE = 0.02
"""Relative changes of dose and width for their derivatives."""
_STEEPEST, _NEAR_FWHM = 3.0, 0.8
"""Edges that move by more FWHM than the first, or are further off than the second, tell little."""
_REWEIGHTED = 12
_HELD, _RIM, _FURTHEST = 0.1, 3.0, 1.9
"""Weight by which coefficients are held when values are limited, what they may be at the rim, in limits, and
at all: a larger weight keeps the limit less exactly."""
_LIMITED = 0.01
"""Relative dose left out at the limit from which that is said."""
_REMEMBERED = 4
"""Most photographs before that one is weighed against: more follow a machine that changes more slowly."""


@dataclass(frozen=True, slots=True)
class PrintedFit:
    """What a photograph has told. spot: as wide, and with the dose map, that explain it.

    pixel: mm.  turn: degrees.  width: e^δ, and half of its 95 % interval.  dose: (lowest, mean, highest)
    share of the dose that acts beside what was known, along the outline.  thin, thick: mm, where it is lowest
    and highest.  found, of: points of the outline.  before, after: mean |t − e| of the process as it was, and
    as it is explained, mm.  limited: share of the outline at which the dose asked for more than `MOST_DOSE`.
    """

    spot: Spot
    pixel: float
    turn: float
    width: tuple[float, float]
    dose: tuple[float, float, float]
    thin: Point
    thick: Point
    found: int
    of: int
    before: float
    after: float
    limited: float

    def sentences(self) -> tuple[str, ...]:
        """What was found and what the next plan makes up for, a sentence each."""
        low, mean, high = (f"{100 * (share - 1):+.1f}" for share in self.dose)
        fwhm = optics.fwhm(self.spot)
        width = f"{self.width[0]:.3f} +/- {self.width[1]:.3f}"
        said = [
            f"the photograph shows {self.found} of {self.of} points of the outline, with pixels of "
            f"{figure(1000 * self.pixel)} um, turned by {figure(self.turn, 2)} degrees; its edges are "
            f"{figure(1000 * self.before)} um from where the last plan has them, on average",
            f"they are explained by {low} to {high} % of dose ({mean} % on average; the least at "
            f"{place(self.thin, fwhm)} mm, the most at {place(self.thick, fwhm)} mm) and by a spot {width} "
            f"times as wide ({figure(1000 * fwhm)} um); {figure(1000 * self.after)} um are left",
        ]
        if self.limited:
            said.append(
                f"at {figure(100 * self.limited, 2)} % of the outline the photograph asks for more than "
                f"{100 * MOST_DOSE:.0f} % of dose, which is the most that is corrected at once: print again, "
                "and photograph that"
            )
        return tuple(said)


def fit_photograph(
    simulated: Simulation, photo: Floats, marks: Sequence[Fiducial] = (), pixel: float | None = None
) -> PrintedFit:
    """Spot and dose of the print of a simulated program, from a photograph (H, W) with row 0 at the top.

    simulated: against its design.  marks: design, the pixel (column, row) of each; machine, its place in mm
    in the program.  pixel: mm, the size of a pixel on the print, if it is known.
    Raises InputError for a photograph of something else, or too coarse, distorted or faint.
    """
    scene = simulated.executed.scene
    if scene is None or simulated.executed.measured is None:
        raise InputError("a photograph is compared with a design, and the simulation has none")
    if scene.resin.kinetics is not None:
        raise InputError("a resin that reacts through time cannot be fitted to a photograph of its print")
    if scene.spot.measured is not None:
        raise InputError(
            f"a measured spot, {scene.spot.measured.title}, cannot be recorded with a dose map; plan with a "
            "profile and a FWHM"
        )
    known = _Known.of(scene, simulated.shipped.executed, scene.spot)
    _check_printed(known)
    look = _Look.of(photo, known, marks, pixel).registered(known)
    look.check(scene.fwhm)
    now, far = _Explained.of(look, known), np.inf
    for _ in range(_STEPS):
        if far < _SETTLED:
            break
        now, far = now.step()
    return now.result(known)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A print as it is explained. spot: of its width, with its map.

    epe: (M,) mm.  by_dose, by_width: (M,) mm, ∂e/∂ln D and ∂e/∂ln F.  usable: (M,) whether an edge is printed
    that depends on them smoothly.
    """

    scene: Scene
    path: Toolpath
    spot: Spot
    epe: Floats
    by_dose: Floats
    by_width: Floats
    usable: Bools

    @classmethod
    def of(cls, scene: Scene, path: Toolpath, spot: Spot) -> _Known:
        mapped = replace(scene, spot=replace(scene.spot, dose_map=spot.dose_map))
        width = spot.fwhm / scene.spot.fwhm
        doses, widths = (1 - _NUDGE, 1.0, 1 + _NUDGE), (width, width * (1 + _NUDGE))
        epe, missing = edges_of(path, mapped, doses, widths)
        by_dose = (epe[0, 2] - epe[0, 0]) / (2 * _NUDGE)
        by_width = (epe[1, 1] - epe[0, 1]) / np.log1p(_NUDGE)
        smooth = np.maximum(np.abs(by_dose), np.abs(by_width)) < _STEEPEST * scene.fwhm
        near = np.abs(epe[0, 1]) < _NEAR_FWHM * scene.fwhm
        usable = ~missing.any(axis=(0, 1)) & ~scene.samples.corner & near & smooth
        return cls(scene, path, spot, epe[0, 1], by_dose, by_width, usable)

    @property
    def size(self) -> float:
        """mm, of the design."""
        return max(self.scene.design.size)

    @property
    def around(self) -> Floats:
        """(M, 2) where the points are from the middle of the design, in its size."""
        return self.placed(self.scene.samples.xy)

    def placed(self, xy: Floats) -> Floats:
        """(N, 2) places (N, 2) mm from the middle of the design, in its size."""
        x0, y0, x1, y1 = self.scene.design.bounds
        return (xy - ((x0 + x1) / 2, (y0 + y1) / 2)) / self.size


@dataclass(frozen=True, slots=True, eq=False)
class _Beliefs:
    """Sums of P unknowns, rows: (K, P), and what they ought to be, values: (K,); in standard deviations."""

    rows: Floats
    values: Floats

    def beside(self, other: _Beliefs) -> _Beliefs:
        """These of some unknowns and the others of others."""
        return _Beliefs(block_diag(self.rows, other.rows), np.append(self.values, other.values))


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """How a photograph sees a scene. depth: as of `PhotoEdges`.  shrunk: (2,) S, 1 without shrinkage.

    sight: of what is cured, A′. It moves by six unknowns, mm: what was thought to be at x + a + L u is at x,
    u = (x − middle)/size.
    """

    photo: GreyPhotograph
    depth: Floats
    marks: tuple[Fiducial, ...]
    pixel: float | None
    sight: Sight
    shrunk: Floats

    @classmethod
    def of(cls, photo: Floats, known: _Known, marks: Sequence[Fiducial], pixel: float | None) -> _Look:
        """The look before its edges are read."""
        scene = known.scene
        dose = usual_model(scene.grid, scene.spot).dose(known.path)
        solid = dose >= scene.critical_dose
        inside, outside = (ndimage.distance_transform_edt(one) for one in (solid, ~solid))
        depth = (inside - outside) * (scene.grid.pitch / scene.fwhm)
        printed = development(dose, scene.resin)
        shrunk = 1 - np.array(scene.resin.shrinkage[:2])
        cured_pixel = pixel and pixel / float(np.sqrt(shrunk.prod()))
        sight = seen_by_marks(marks) if marks else seen_by_outline(photo, printed, scene.grid, cured_pixel)
        return cls(GreyPhotograph.of(photo), depth, tuple(marks), pixel, sight, shrunk)

    @property
    def on_print(self) -> Sight:
        """What is seen of the print that has shrunk."""
        return Sight(self.sight.matrix / self.shrunk, self.sight.at)

    @staticmethod
    def developed(scene: Scene) -> Floats:
        """(M, 2) mm, the points of the outline, by the bias of development further out from what stays."""
        outward = scene.resin.development_bias * (1 if scene.resin.tone == "negative" else -1)
        return np.asarray(scene.samples.xy + outward * scene.samples.normal)

    def offsets(self, known: _Known, reach: float, *, exact: bool = False) -> tuple[Floats, Bools]:
        """((M,) mm, t − e, (M,) whether the edge is seen and usable). reach: FWHM.

        exact: as the blur of the photograph moves e, too.
        """
        scene, samples = known.scene, known.scene.samples
        edges = PhotoEdges.of(self.photo, self.sight, self.depth, scene.grid, scene.fwhm)
        xy = self.developed(scene)
        at, seen = edges.along(xy, samples.normal, known.epe, reach * scene.fwhm)
        seen &= known.usable
        if not exact or not seen.any():
            return at - known.epe, seen
        blur = edges.blur(xy[seen], samples.normal[seen], at[seen])
        blurred, there = self._blurred(known, blur).along(
            samples.xy, samples.normal, known.epe, reach * scene.fwhm
        )
        return at - blurred, seen & there

    def _blurred(self, known: _Known, blur: float) -> PhotoEdges:
        """The expected print, blurred by σ mm, as a photograph on the scene's grid."""
        scene, grid = known.scene, known.scene.grid
        dose = usual_model(grid, known.spot).dose(known.path)
        own = grid.pitch**2 * (SMOOTHED**2 + 1 / 12)  # of its pixels, and what is smoothed anyway
        sigma = np.sqrt(max(blur**2 - own, 0.0)) / grid.pitch
        picture = ndimage.gaussian_filter(cured_fraction(dose, scene.critical_dose), sigma)[::-1]
        rows, low = len(picture), np.array(grid.origin) / grid.pitch
        sight = Sight(np.diag([1, -1]) / grid.pitch, np.array([-low[0], rows - 1 + low[1]]))
        return PhotoEdges.of(GreyPhotograph.of(picture), sight, self.depth, grid, scene.fwhm)

    def moved(self, by: Floats, known: _Known) -> _Look:
        """The look after its six unknowns."""
        places = np.array(known.scene.design.bounds[:2]) + known.size * np.array([[0.0, 0], [1, 0], [0, 1]])
        shifted = places + by[:2] + known.placed(places) @ by[2:].reshape(2, 2).T
        return replace(self, sight=Sight.fitted(places, self.sight.pixels(shifted)))

    def beliefs(self, known: _Known) -> _Beliefs:
        """What is known of the six unknowns."""
        sight, shown, size = self.sight, self.on_print, known.size
        rows, values, sigmas = [], [], []
        for mark in self.marks:
            ((u, v),), (seen,) = (
                known.placed(np.array([mark.machine])),
                sight.pixels(np.array([mark.machine])),
            )
            rows += [[1, 0, u, v, 0, 0], [0, 1, 0, 0, u, v]]
            values += np.linalg.solve(sight.matrix, mark.design - seen).tolist()
            sigmas += [_MARK * sight.pixel] * 2
        if len(self.marks) < 3:  # a camera at a right angle has one scale, and square axes
            strain = shown.matrix.T @ shown.matrix * shown.pixel**2
            rows += [[0, 0, 1, 0, 0, -1], [0, 0, 0, 1, 1, 0]]
            values += [size * (strain[1, 1] - strain[0, 0]) / 2, -size * strain[0, 1]]
            sigmas += [size * _SHEAR] * 2
        if self.pixel is not None:
            rows.append([0, 0, 0.5, 0, 0, 0.5])
            values.append(size * np.log(shown.pixel / self.pixel))
            sigmas.append(size * _KNOWN_PIXEL)
        return _Beliefs(np.array(rows) / np.array(sigmas)[:, None], np.array(values) / sigmas)

    def registered(self, known: _Known) -> _Look:
        """The look whose sight fits the edges, of one dose and one width for all of them."""
        look, level = self, np.column_stack([known.by_width, known.by_dose])
        for reach in _REACHES_FWHM:
            off, seen = look.offsets(known, reach)
            _check_found(int(seen.sum()), int(known.usable.sum()))
            # The pixel's size is not believed yet, so that a wrong one is told.
            beliefs = (
                replace(look, pixel=None)
                .beliefs(known)
                .beside(_Beliefs(np.diag([1 / _WIDTH, 1 / _LEVEL]), np.zeros(2)))
            )
            columns = np.hstack([_sights(known), level])[seen]
            found, _ = _robust(columns, off[seen], beliefs, known.scene.fwhm)
            look = look.moved(found[:6], known)
        return look

    def check(self, fwhm: float) -> None:
        """Raise InputError for a sight that no photograph of the print can have. fwhm: mm."""
        sight = self.on_print
        if np.linalg.det(sight.matrix) > 0:
            raise InputError(
                "it is mirrored, as if taken through the plate; mirror it back, or check the marks"
            )
        if not sight.pixel <= COARSEST_FWHM * fwhm:
            raise InputError(
                f"its pixels are {figure(1000 * sight.pixel)} um on the print, but must be at most a quarter "
                f"of the spot, {figure(1000 * COARSEST_FWHM * fwhm)} um; take it at a higher magnification"
            )
        if not sight.stretch <= 1 + DISTORTED:
            raise InputError(
                f"one direction is {figure(100 * (sight.stretch - 1), 2)} % larger than another, above "
                f"{100 * DISTORTED:g} %; take it from straight above, or check the marks"
            )
        if self.pixel is not None and abs(np.log(sight.pixel / self.pixel)) > DISTORTED:
            raise InputError(
                f"its pixels are {figure(1000 * sight.pixel)} um by the outline of the print, but "
                f"{figure(1000 * self.pixel)} um were given, which is more than {100 * DISTORTED:g} % apart"
            )


def _check_printed(known: _Known) -> None:
    """Raise InputError if the program hardly prints the design."""
    of, drawn = int(known.usable.sum()), int((~known.scene.samples.corner).sum())
    if of < _needed(drawn):
        raise InputError(
            f"the program prints {of} of {drawn} points of the design's outline near their place, but "
            f"{_needed(drawn)} are needed: is it the program of this design, with the same work zero?"
        )


def _check_found(found: int, of: int) -> None:
    """Raise InputError if too few edges are seen."""
    if found < _needed(of):
        raise InputError(
            f"it shows {found} of {of} points of the outline, but at least {_needed(of)} are needed"
        )


def _needed(of: int) -> int:
    """Points of the outline that must be seen, of so many."""
    return max(FEWEST_EDGES, int(np.ceil(LEAST_SHARE * of)))


def _sights(known: _Known) -> Floats:
    """(M, 6) mm by which an edge is off for each of the sight's unknowns."""
    around, normal = known.around, known.scene.samples.normal
    return np.column_stack([normal, normal[:, :1] * around, normal[:, 1:] * around])


def _robust(
    columns: Floats, values: Floats, beliefs: _Beliefs, fwhm: float, prints: int = 0
) -> tuple[Floats, Floats]:
    """((P,) solution, (P, P) its covariance) of values ≈ columns · solution, (M,) and (M, P).

    prints: others like this one, which told that the unknowns after the sight's are 0.
    """
    count = columns.shape[1]
    left, solution, normal = np.asarray(values), np.zeros(count), np.eye(count)
    for k in range(_REWEIGHTED):
        spread = max(1.4826 * float(np.median(np.abs(left))), _LEAST_ERROR_FWHM * fwhm)
        far = np.abs(left) / spread
        # Huber's weights first: they have one solution, from which Tukey's start.
        early = k < _REWEIGHTED // 3
        weight = _HUBER / np.maximum(far, _HUBER) if early else np.maximum(1 - (far / _TUKEY) ** 2, 0) ** 2
        heavy = columns * (weight / (_APART * spread) ** 2)[:, None]
        normal = heavy.T @ columns
        told = normal[6:, 6:] - normal[6:, :6] @ np.linalg.pinv(normal[:6, :6]) @ normal[:6, 6:]
        normal = normal + beliefs.rows.T @ beliefs.rows
        normal[6:, 6:] += prints * told
        wanted = heavy.T @ values + beliefs.rows.T @ beliefs.values
        solution = np.asarray(np.linalg.lstsq(normal, wanted, rcond=1e-12)[0])
        left = values - columns @ solution
    return solution, np.linalg.pinv(normal, rcond=1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class _Explained:
    """What explains a photograph so far. empty: the map of nothing, whose coefficients are `before` + s.

    spline: (M, P) what the coefficients are at the points.  width: δ.  log_dose: (P,) s.  asked: the same
    before its limits.  sure: standard deviation of δ.
    """

    look: _Look
    known: _Known
    empty: DoseMap
    spline: Floats
    before: Floats
    width: float
    log_dose: Floats
    asked: Floats
    sure: float = 0.0

    @classmethod
    def of(cls, look: _Look, known: _Known) -> _Explained:
        """Nothing beside what the process says."""
        empty = _even_map(known.scene)
        before = _on(empty, known.scene.spot.dose_map)
        nothing = np.zeros(len(before))
        spline = _spline(empty, known.scene.samples.xy)
        return cls(look, known, empty, spline, before, 0.0, nothing, nothing)

    def step(self) -> tuple[_Explained, float]:
        """The next step of Gauss and Newton, and how far it went."""
        look, known = self.look, self.known
        off, seen = look.offsets(known, _REACHES_FWHM[-1], exact=True)
        own = np.column_stack([known.by_width, known.by_dose[:, None] * self.spline])
        now = np.append(self.width, self.log_dose)
        beliefs = look.beliefs(known).beside(_bending(self.empty.shape))
        columns = np.hstack([_sights(known), own])[seen]
        before = known.scene.spot.dose_map
        prints = before.prints if before else 0
        found, covariance = _robust(
            columns, off[seen] + own[seen] @ now, beliefs, known.scene.fwhm, min(prints, _REMEMBERED)
        )
        width = float(np.clip(found[6], -MOST_WIDTH, MOST_WIDTH))
        most = np.log1p(MOST_DOSE)
        log_dose = _limited(self.empty, found[7:], most)
        spot = optics.widened(known.scene.spot, float(np.exp(width)))
        coefficients = tuple((self.before + log_dose).tolist())
        made = replace(self.empty, coefficients=coefficients, prints=1 + prints)
        then = replace(
            self,
            look=look.moved(found[:6], known),
            known=_Known.of(known.scene, known.path, replace(spot, dose_map=made)),
            width=width, log_dose=log_dose, asked=found[7:], sure=float(np.sqrt(covariance[6, 6])),
        )  # fmt: skip
        return then, float(np.abs(np.append(width, log_dose) - now).max())

    def result(self, first: _Known) -> PrintedFit:
        """What it tells beside the process as it was, `first`."""
        known, look, xy = self.known, self.look, self.known.scene.samples.xy
        off, seen = look.offsets(known, _REACHES_FWHM[-1], exact=True)
        inside = np.flatnonzero(seen)
        share = np.exp(self.spline @ self.log_dose)[inside]
        (thin, thick) = (tuple(xy[inside[k]].tolist()) for k in (np.argmin(share), np.argmax(share)))
        before = np.abs(off + known.epe - first.epe)[inside]
        width = float(np.exp(self.width))
        beyond = np.abs(self.spline @ (self.asked - self.log_dose))[inside] > _LIMITED
        return PrintedFit(
            spot=known.spot, pixel=look.on_print.pixel, turn=look.on_print.turn,
            width=(width, 1.96 * self.sure * width),
            dose=(float(share.min()), float(share.mean()), float(share.max())), thin=thin, thick=thick,
            found=len(inside), of=int(known.usable.sum()),
            before=float(before.mean()), after=float(np.abs(off[inside]).mean()),
            limited=float(beyond.mean()),
        )  # fmt: skip


def _spline(made: DoseMap, xy: Floats) -> Floats:
    """(M, P) what each coefficient of a map is at places (M, 2) mm."""
    numbers, weights = basis(made, xy)
    spline = np.zeros((len(numbers), len(made.coefficients)))
    np.put_along_axis(spline, numbers, weights, axis=1)
    return spline


def _even_map(scene: Scene) -> DoseMap:
    """The map of nothing, for a design."""
    x0, y0, x1, y1 = scene.design.bounds
    columns, rows = (
        3 + int(np.clip(round(side / (_SPACING_FWHM * scene.fwhm)), 1, _MOST_INTERVALS))
        for side in (x1 - x0, y1 - y0)
    )
    return DoseMap((x0, y0, x1, y1), (rows, columns), (0.0,) * (rows * columns))


def _on(empty: DoseMap, made: DoseMap | None) -> Floats:
    """(P,) the coefficients of a map that is nearest to another one; 0 for none."""
    if made is None:
        return np.zeros(len(empty.coefficients))
    if (made.box, made.shape) == (empty.box, empty.shape):
        return np.array(made.coefficients)
    xy = places(empty.box)
    return np.asarray(np.linalg.lstsq(_spline(empty, xy), np.log(acting(made, xy)[0]), rcond=None)[0])


def _limited(empty: DoseMap, coefficients: Floats, most: float) -> Floats:
    """(P,) coefficients (P,) of a map whose s is at most ±`most` in its box; they themselves may be more."""
    spline = _spline(empty, places(empty.box))
    s = spline @ coefficients
    if np.abs(s).max() <= most:
        return coefficients
    # Coefficients at the rim count for little in the box: where nothing holds them, they stay as they were.
    held, usual = _HELD * np.eye(len(coefficients)), np.clip(coefficients, -_RIM * most, _RIM * most)
    wanted = np.append(np.clip(s, -most, most), _HELD * usual)
    return np.clip(np.linalg.lstsq(np.vstack([spline, held]), wanted, rcond=None)[0], -_FURTHEST, _FURTHEST)


def _bending(shape: tuple[int, int]) -> _Beliefs:
    """Of δ and the coefficients of s (rows, columns): none is large, and they hardly bend."""
    rows, columns = shape
    number = np.arange(rows * columns).reshape(shape)
    bends = np.array([one[k : k + 3] for one in (*number, *number.T) for k in range(len(one) - 2)])
    bend = np.zeros((len(bends), rows * columns))
    np.put_along_axis(bend, bends, np.array([[1.0, -2.0, 1.0]]) / _BEND, axis=1)
    level = np.eye(rows * columns) / _LEVEL
    width = _Beliefs(np.array([[1 / _WIDTH]]), np.zeros(1))
    return width.beside(_Beliefs(np.vstack([bend, level]), np.zeros(len(bend) + len(level))))
