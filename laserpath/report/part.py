"""The page of a part: what cures of it, layer by layer and as a whole, that can be turned.

The part is a volume of `operators.volume.marcher`, as in `operators.volume.depth`, seen from twelve sides,
from above and from below; its colour is how far its surface lies from the drawn one. These pictures are
made beforehand, so that the page needs no WebGL. The pictures of layers are kept once for equal layers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from laserpath.base.arrays import Floats
from laserpath.base.errors import figure
from laserpath.design.supports import Unsupported
from laserpath.measure.columns import CuredPart, Overhang
from laserpath.measure.surface import Surface, Voxels
from laserpath.operators.volume import Cameras, March, RayMarcher
from laserpath.operators.volume.depth import facing
from laserpath.physics import optics
from laserpath.report.canvas import INK, OVER, PAPER, RIGHT, UNDER, png_uri, rgb, small_png
from laserpath.report.pages import installed_text, records, template, versions
from laserpath.report.toolpath_svg import printable
from laserpath.report.wording import duration
from laserpath.types import Design, Process, Settings

_SIDES = 12
_TILTS = (0.5, -0.5)
"""Radians above the plate from which it is seen, and below it."""
_SHAPE = (300, 400)
"""(rows, columns) of a view."""
_VIEW = np.radians(20)
_AMBIENT = 0.45
_RIM, _EMPTY = 2, 0.05
_NEAR = 0.85
"""Distance of the eye, in that at which a ball around the part fills the view's height."""
_FLAT = 0.15
"""Height ÷ width below which heights are stretched to be seen."""
_LEAST = 0.01
"""mm, least distance that has the full colour."""
_LISTED = 40
_RING = 0.04
"""Radius of a ring around what cannot print, in the longer side of a picture."""
_PICTURES = 400
"""Most pictures of layers in a page: of more, every second or third one is left out."""


@dataclass(frozen=True, slots=True)
class PartData:
    """What the page of a part is made from.

    whole: what all layers expose.  z: (K,) mm, tops of the layers.  planned: number of different plans.
    cured, surface: of the part; undimmed, before: if each layer were exposed as planned by itself; None: of a
    program that is simulated, it is not known.  planned: 0 then.  seconds: to write all.  hanging: the places
    that cannot print.  title: in place of the design's name.  settings: None where nothing was planned.
    """

    whole: Design
    process: Process
    settings: Settings | None
    z: tuple[float, ...]
    planned: int
    seconds: float
    cured: CuredPart
    surface: Surface
    undimmed: CuredPart | None
    before: Surface | None
    shape: Voxels
    warnings: tuple[str, ...]
    hanging: tuple[Unsupported, ...] = ()
    title: str = ""


def part_page(data: PartData) -> str:
    """The page as the text of one HTML file without outside references."""
    x0, y0, x1, y1 = data.whole.bounds
    size = " × ".join(figure(one, 4) for one in (x1 - x0, y1 - y0, data.z[-1]))
    most, shape = _most(data.surface), _standing(data)
    planned = f", {data.planned} of them planned" if data.planned else ""
    every = -(-len(data.z) // _PICTURES)
    chosen = range(0, len(data.z), every)
    rings = _rings(data, every)
    used = sorted({(shape.picture_of[k], rings[k]) for k in chosen})
    pictures = [_layer(shape, number, places) for number, places in used]
    return str(template("part.html").render(
        name=printable(data.title or data.whole.name),
        subtitle=f"laserpath report · {len(data.z)} layers{planned} · {size} mm · "
        f"spot {optics.fwhm(data.process.spot):g} mm",
        styles=installed_text("page.css"), script=installed_text("part.js"),
        level="fair" if data.warnings or data.cured.later is None else "good", headline=_headline(data),
        warnings=[printable(one) for one in data.warnings],
        right=RIGHT, over=OVER, under=UNDER,
        views=list(_views(shape, most)), sides=_SIDES, most=figure(1000 * most, 3), stretch=_stretch(shape),
        pictures=pictures,
        layers=[{"number": k + 1, "z": figure(data.z[k], 5),
                 "picture": used.index((shape.picture_of[k], rings[k]))} for k in chosen],
        hanging=[(one.layer // every, printable(one.sentence)) for one in data.hanging[:_LISTED]],
        hidden=max(len(data.hanging) - _LISTED, 0),
        compared=data.undimmed is not None, rows=_rows(data), overhangs=_overhangs(data),
        left=max(len(data.cured.overhangs) - _LISTED, 0),
        records=records(data.process, data.settings, data.whole), versions=versions(),
    ))  # fmt: skip


_Places = tuple[tuple[float, float], ...]


def _rings(data: PartData, every: int) -> dict[int, _Places]:
    """The places in pictures of layers, pixels (column, row), that are marked. every: n-th layer is shown."""
    shape, found = data.shape, defaultdict[int, _Places](tuple)
    hung = data.process.machine.layer_change.hangs
    for one in data.hanging:
        column, row = ((at - low) / shape.pixel for at, low in zip(one.place, shape.corner, strict=True))
        found[one.layer - one.layer % every] += (
            ((shape.layers[0].shape[1] - column) if hung else column, row),
        )
    return found


def _standing(data: PartData) -> Voxels:
    """The shape of the part as it was drawn, also if it hung."""
    shape = data.shape
    if not data.process.machine.layer_change.hangs:
        return shape
    return replace(
        shape, drawn=shape.drawn[..., ::-1], cured=shape.cured[..., ::-1],
        layers=tuple(one[:, ::-1] for one in shape.layers),
    )  # fmt: skip


def _headline(data: PartData) -> str:
    wrong = 100 * data.cured.wrong / data.cured.volume
    soft = "; the first layer of an underside does not gel in its upper half" * (data.cured.later is None)
    return (
        f"{figure(wrong, 2)} % of the part's volume cures wrongly, {figure(data.surface.mean * 1000, 2)} µm "
        f"off on average{soft}; {duration(data.seconds)} to write."
    )


def _rows(data: PartData) -> list[tuple[str, ...]]:
    """(name, what it means, as dimmed, undimmed if that is known) of each figure."""

    def volume(value: float) -> str:
        return f"{figure(value)} mm³"

    def length(value: float) -> str:
        return f"{1000 * value:.1f} µm"

    def layers(value: int | None) -> str:
        return "never" if value is None else f"{value} layer{'s' * (value != 1)}"

    figures = (
        ("missing", "volume of the part that stays liquid", "missing", volume),
        ("too much", "volume outside the part that cures", "excess", volume),
        ("print-through", "mean thickness that cures below undersides", "through", length),
        ("missing above undersides", "mean thickness that stays liquid there", "short", length),
        ("undersides gelled after", "the upper half of their first layer, at the latest", "later", layers),
    )
    surfaces = (
        ("surface off, mean", "over walls, at half of each layer's height, and undersides", "mean"),
        ("surface off, 95 %", "of that area are off by no more", "p95"),
        ("surface off, largest", "at the worst place; two spots where no edge is nearer", "largest"),
    )
    parts = (data.cured, *([data.undimmed] if data.undimmed else []))
    both = (data.surface, *([data.before] if data.before else []))
    return [
        *((name, why, *(said(getattr(one, key)) for one in parts)) for name, why, key, said in figures),
        *((name, why, *(length(getattr(one, key)) for one in both)) for name, why, key in surfaces),
    ]


def _overhangs(data: PartData) -> list[tuple[str, ...]]:
    """A row for each underside: height, area, print-through before and after, missing, gelled."""
    own = data.cured.overhangs
    pairs = zip(own, data.undimmed.overhangs if data.undimmed else [None] * len(own), strict=True)
    worst = sorted(pairs, key=lambda pair: -pair[0].area)[:_LISTED]
    return [_overhang(now, then) for now, then in sorted(worst, key=lambda pair: pair[0].z)]


def _overhang(now: Overhang, then: Overhang | None) -> tuple[str, ...]:
    later = "never" if now.later is None else f"{now.later}"
    before = [then.through] if then else []
    lengths = (f"{1000 * one:.0f}" for one in (*before, now.through, now.deepest, now.short))
    return (figure(now.z, 4), figure(now.area), *lengths, later)


def _most(surface: Surface) -> float:
    """mm, the distance that has the full colour: a round one."""
    wanted = max(surface.p95, _LEAST)
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(min(one * power for one in (1, 2, 5, 10) if one * power >= wanted * (1 - 1e-9)))


def _layer(shape: Voxels, number: int, rings: _Places) -> str:
    """A picture of a layer, as a data URI. rings: (column, row) of places that are marked."""
    made = shape.layers[number][::-1]
    shares = np.stack([made // 25, made // 5 % 5, made % 5], axis=-1) / 4
    inks = np.array([rgb(one) for one in (RIGHT, UNDER, OVER)], float)
    paper = np.array(rgb(PAPER), float)
    pixels = shares @ inks + (1 - shares.sum(axis=-1, keepdims=True)) * paper
    rows, columns = np.indices(made.shape) + 0.5
    radius = max(_RING * max(made.shape), 3.0)
    for x, y in rings:
        distance = np.hypot(columns - x, made.shape[0] - rows - y)
        pixels[np.abs(distance - radius) < max(radius / 8, 1.0)] = rgb(INK)
    return png_uri(small_png(pixels, 32))


def _stretch(shape: Voxels) -> float:
    """By which heights are stretched in the views: 1 unless the part is flat."""
    high, deep, wide = (n * pitch for n, pitch in zip(shape.cured.shape, shape.pitch[::-1], strict=True))
    ratio = high / max(deep, wide)
    return 1.0 if ratio >= _FLAT else float(figure(_FLAT / ratio, 1))


def _views(shape: Voxels, most: float) -> Iterator[str]:
    """Pictures of the part as data URIs: from all sides above the plate, then from all sides below it."""
    stretch, shape = _stretch(shape), _cropped(shape)
    x, y, z = shape.pitch
    pitch = x, y, z * stretch
    values = _lit(shape, most, pitch)
    values[..., 3] *= 2 / min(pitch)
    size = np.array([n * one for n, one in zip(values.shape[2::-1], pitch, strict=True)])
    x, y, z = (one - _RIM * step for one, step in zip(shape.origin, shape.pitch, strict=True))
    origin = x, y, z * stretch
    middle = np.array(origin) + (size - np.array(pitch)) / 2
    reach = 0.5 * float(np.linalg.norm(size))
    away, focal = _NEAR * reach / np.sin(_VIEW / 2), _SHAPE[0] / 2 / np.tan(_VIEW / 2)
    step = 0.5 * min(pitch)
    march = March(
        origin, pitch, step, int(np.ceil(2 * reach / step)), away - reach, jitter=1.0, opacity="clamped"
    )  # fmt: skip
    marcher = RayMarcher(march)
    for tilt in _TILTS:
        for side in range(_SIDES):
            turn = 2 * np.pi * (side + 0.5) / _SIDES - np.pi / 2
            towards = [np.cos(turn) * np.cos(tilt), np.sin(turn) * np.cos(tilt), np.sin(tilt)]
            camera = Cameras.looking_at(middle + away * np.array(towards), middle, (0, 0, 1), focal, _SHAPE)
            seen = marcher.render(values, camera)[0]
            yield png_uri(small_png(255 * (seen[..., :3] + (1 - seen[..., 3:])), 64))


def _cropped(shape: Voxels) -> Voxels:
    """The shape without what is empty around it."""
    some = (shape.drawn > 0) | (shape.cured > _EMPTY)
    if not some.any():
        return shape
    ends = [np.flatnonzero(some.any(axis=(0, 1, 2)[:k] + (0, 1, 2)[k + 1 :]))[[0, -1]] for k in range(3)]
    box = tuple(slice(first, last + 1) for first, last in ends)
    x, y, z = (
        one + step * ends[2 - k][0]
        for k, (one, step) in enumerate(zip(shape.origin, shape.pitch, strict=True))
    )
    return replace(shape, drawn=shape.drawn[box], cured=shape.cured[box], origin=(x, y, z))


def _lit(shape: Voxels, most: float, pitch: Sequence[float]) -> Floats:
    """The volume (z, y, x, 4): colour of the surface by its distance from the drawn one, and its share.

    It is `_RIM` voxels larger on all sides: what surrounds a volume is black, and would darken its surface.
    """
    shape = replace(shape, drawn=np.pad(shape.drawn, _RIM), cured=np.pad(shape.cured, _RIM))
    toward, _ = facing(ndimage.gaussian_filter(shape.cured.astype(np.float64), 1.0), pitch)
    # A lamp above and a weaker one below, so that undersides show their shape, too.
    light = np.where(toward > 0, toward, -0.6 * toward)
    off = np.clip(shape.apart / most, -1, 1)[..., None]
    right, over, under = (np.array(rgb(one), float) / 255 for one in (RIGHT, OVER, UNDER))
    colour = right + np.maximum(off, 0) * (over - right) + np.maximum(-off, 0) * (under - right)
    values = np.empty((*shape.cured.shape, 4))
    values[..., :3] = colour * (_AMBIENT + (1 - _AMBIENT) * light)[..., None]
    values[..., 3] = shape.cured
    return values
