"""The options of a plan, one entry each: its name, help, default, parser, and the field that it sets.

Command line (`cli.options`), project file (`project`), Python (`request`) and docs/cli.md are made from this
table. To add an option, add an entry, its field to the record that it names (`Settings` in types/settings.py,
`Reading` in design/reading.py, `Arrangement` in design/arrange.py), and use the field where it acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from laserpath.base.entry_points import (
    ALIGN_FITS,
    INITIAL_CURVES,
    MOST_COLOURS,
    QUALITIES,
    REPORTS,
    STROKES_MAX,
)
from laserpath.base.quantities import ANGLE, DOSE, LENGTH, NUMBER
from laserpath.config import values
from laserpath.config.layers import LayerList
from laserpath.config.profiles import DEFAULTS
from laserpath.config.values import OneOf, Option, Quantity, Whole


def all_options() -> Iterator[Option]:
    """Every option, in the order of the help."""
    for group in OPTIONS.values():
        yield from group


def by_name() -> dict[str, Option]:
    """Every option by its name."""
    return {option.name: option for option in all_options()}


def setting(*records: str) -> tuple[Option, ...]:
    """The options that set a field of these records."""
    return tuple(option for option in all_options() if option.record in records)


_CURVES = {
    "contour": "rings",
    "outline": "with a hatch inside",
    "centreline": "of narrow bars",
    "strokes": "fitted along lines",
}
"""Explanations of starting curves, for the help."""


def _curves() -> str:
    return ", ".join(f"{name} ({_CURVES[name]})" if name in _CURVES else name for name in INITIAL_CURVES[1:])


def _profile(kind: str, replaces: tuple[str, ...] = ()) -> Option:
    return Option(
        name=kind,
        sets=f"Process.{kind}",
        parse=values.profile,
        metavar="NAME|FILE",
        help=f"{kind.capitalize()} profile: a name or a TOML file",
        default=f"{DEFAULTS[kind]}; see `laserpath profiles list`",
        replaces=replaces,
    )


_PROCESS = (
    _profile("machine"),
    _profile("resin", replaces=("critical_dose", "tone")),
    Option(
        name="critical_dose",
        sets="Resin.critical_dose",
        parse=Quantity(DOSE, "mJ/cm2"),
        metavar="DOSE",
        help="Dose at which the layer just cures, or clears, mJ/cm2",
        default="the resin's",
    ),
    Option(
        name="tone",
        sets="Resin.tone",
        parse=OneOf(("negative", "positive")),
        help="Exposed areas stay (negative) or wash away (positive)",
        default="the resin's",
        drawings_only=True,
    ),
    _profile("spot", replaces=("spot_fwhm", "na", "wavelength")),
    Option(
        name="spot_fwhm",
        sets="Spot.fwhm",
        parse=values.spot_fwhm,
        metavar="LENGTH",
        help="Spot size, full width at half maximum: 0.1, 0.1mm, 100um",
        replaces=("spot", "na", "wavelength"),
    ),
    Option(
        name="na",
        sets="Spot.fwhm",
        parse=Quantity(NUMBER, ""),
        metavar="NUMBER",
        help="Numerical aperture; with --wavelength it gives the spot: FWHM = 0.5145 wavelength/NA",
        replaces=("spot", "spot_fwhm"),
    ),
    Option(
        name="wavelength",
        sets="Spot.fwhm",
        parse=Quantity(LENGTH, "nm"),
        metavar="LENGTH",
        help="Wavelength of the laser: 405, 405nm",
    ),
)

_PLAN = (
    Option(
        name="heights",
        sets="Machine.heights",
        parse=values.heights,
        metavar="FILE|POINTS",
        help="Heights of the bed, which the program follows in Z: a table of x, y, z or Klipper's "
        "printer.cfg with its mesh, either with @X,Y if the work zero is at X, Y of it; or three points of a "
        "plane, 0,0,0:100,0,0.2:0,80,-0.1mm. On a machine without Z the report says how much the spot widens",
        default="the machine's",
    ),
    Option(
        name="quality",
        sets="Settings.quality",
        parse=OneOf(QUALITIES),
        help="From shortest write time to most accurate edges",
        default="standard",
        drawings_only=True,
    ),
    Option(
        name="initial",
        sets="Settings.initial",
        parse=values.text,
        metavar="NAME",
        help=f"Starting curve: {_curves()}; auto tries several and takes the best for each region",
        default="auto",
        replaces=("strokes",),
        drawings_only=True,
    ),
    Option(
        name="strokes",
        sets="Settings.strokes",
        parse=Whole(1, STROKES_MAX),
        metavar="N",
        help=f"With --initial strokes: use at most N, up to {STROKES_MAX}; by default 1000, with --grey 256",
        default="none",
        drawings_only=True,
    ),
    Option(
        name="pitch",
        sets="Settings.pitch_fwhm",
        parse=Quantity(LENGTH, "mm", relative=True),
        metavar="LENGTH",
        help="Hatch pitch, the distance between lines: 0.12mm, 120um, 1.2fwhm",
        default="1.2fwhm",
        drawings_only=True,
    ),
    Option(
        name="angle",
        sets="Settings.angle",
        parse=Quantity(ANGLE, "deg", low=None),
        metavar="DEGREES",
        help="Hatch angle from +x",
        default="0",
        drawings_only=True,
    ),
    Option(
        name="iterations",
        sets="Settings.iterations",
        parse=Whole(),
        metavar="N",
        help="Maximum optimiser iterations",
        default="300",
    ),
    Option(
        name="seed",
        sets="Settings.seed",
        parse=Whole(),
        metavar="N",
        help="Seed of the random starting curve",
        default="0",
        drawings_only=True,
    ),
    Option(
        name="passes",
        sets="Settings.passes",
        parse=Whole(1, 100),
        metavar="N",
        help="Repeat the path N times, sharing the power among them",
        default="1",
    ),
    Option(
        name="max_epe",
        sets="Settings.max_epe_fwhm",
        parse=Quantity(LENGTH, "mm", relative=True),
        metavar="LENGTH",
        help="Edge tolerance for 95 % of the edge: 10um, 0.1fwhm. Takes the fastest plan found "
        "that meets it, whatever the --quality; exit code 3 if none does",
        default="none",
        drawings_only=True,
    ),
    Option(
        name="blur",
        sets="Settings.blur",
        parse=Quantity(NUMBER, ""),
        metavar="N",
        help="Optimise also for a spot N times as wide, 1 to 2, against defocus or a tilted plate. "
        "1.15 costs a little accuracy in focus; 1 is in focus only",
        default="1",
        drawings_only=True,
    ),
    Option(
        name="one_way",
        sets="Settings.one_way",
        parse=values.yes_no,
        help="Draw open lines in one direction only, to the right or up: a late laser or backlash that is "
        "not in the machine's profile then moves all of them alike. Travels are longer",
        drawings_only=True,
    ),
    Option(
        name="report",
        sets="Settings.report",
        parse=OneOf(REPORTS),
        help="brief: a report without pictures, nor what the best of all paths could do; planning takes "
        "about a quarter less time, for the same program",
        default="full",
    ),
    Option(
        name="inset_fwhm",
        sets="Settings.inset_fwhm",
        parse=Quantity(NUMBER, "", low=None),
        help="Distance of the first ring or hatch line from the outline, in FWHM of the spot",
        default="0.4",
        flag=False,
    ),
    Option(
        name="segment_fwhm",
        sets="Settings.segment_fwhm",
        parse=Quantity(NUMBER, ""),
        help="Longest move while optimising, in FWHM; shorter moves follow finer shapes and take longer",
        default="1",
        flag=False,
    ),
    Option(
        name="pixels_per_fwhm",
        sets="Settings.pixels_per_fwhm",
        parse=Quantity(NUMBER, ""),
        help="Pixels per FWHM of the measuring grid, for powers too; a path is optimised on 3",
        default="6",
        flag=False,
    ),
    Option(
        name="simplify_fwhm",
        sets="Settings.simplify_fwhm",
        parse=Quantity(NUMBER, ""),
        help="Largest distance of a dropped vertex from the path, in FWHM; a larger one drops more vertices",
        default="0.005",
        flag=False,
    ),
    Option(
        name="field_fwhm",
        sets="Settings.field_fwhm",
        parse=Quantity(NUMBER, ""),
        help="Side of the squares, in FWHM, in which a larger design is optimised; more takes more memory",
        default="140",
        flag=False,
    ),
)

_FOLLOW = Option(
    name="follow",
    sets="Reading.follow",
    parse=values.yes_no,
    help="Expose the lines of the drawing along themselves, each in its width, and nothing else",
    drawings_only=True,
)

_SPLIT = (
    Option(
        name="layers", sets="Reading.split", parse=LayerList((_PROCESS[1], _FOLLOW, *_PLAN)), metavar="LIST",
        help="SVG, DXF, GDSII, OASIS, GeoJSON: a program for each of these layers, in this order, all with "
        "one zero: pads,text. In a project file each may have settings of its own",
    ),
    Option(
        name="colours", sets="Reading.colours", parse=Whole(2, MOST_COLOURS), metavar="N",
        help="SVG, images: a program for each of N colours, all with one zero; similar colours are merged",
    ),
    Option(
        name="colour", sets="Reading.colour", parse=values.text, metavar="NAME",
        help="With --colours: only this one, by its number or name: 2, red",
    ),
)  # fmt: skip

_DESIGN = (
    Option(
        name="layer",
        sets="Reading.layers",
        parse=values.texts,
        metavar="NAME",
        help="Read only this layer; may be repeated. GDSII and OASIS: layer or layer/datatype. With "
        "--layers: only this one of them. Parts (STL, 3MF, OBJ, drawings): how thick "
        "all layers are, 50um",
        default="all; for GDSII and OASIS the layer with the longest outline",
    ),
    Option(
        name="cell",
        sets="Reading.cell",
        parse=values.text,
        metavar="NAME",
        help="GDSII and OASIS: cell to read",
        default="the largest top-level cell",
    ),
    Option(
        name="unit",
        sets="Reading.unit",
        parse=OneOf(tuple(LENGTH)),
        metavar="UNIT",
        help="Unit if the file states none: mm, um, nm, cm, in",
        default="the file format's usual unit",
    ),
    Option(
        name="line_width",
        sets="Reading.line_width",
        parse=Quantity(LENGTH, "mm"),
        metavar="LENGTH",
        help="DXF, Gerber, GeoJSON, WKT: width on the part of open lines that have none",
        default="they are left out, or are one FWHM wide if there is nothing else",
    ),
    _FOLLOW,
    Option(
        name="pixel",
        sets="Reading.pixel",
        parse=Quantity(LENGTH, "mm"),
        metavar="LENGTH",
        help="Image: pixel size, such as 10um",
        default="from the image's resolution",
    ),
    Option(
        name="threshold",
        sets="Reading.threshold",
        parse=Quantity(NUMBER, ""),
        metavar="NUMBER",
        help="Image: pixels at least this dark are drawn, 0 (white) to 1 (black)",
        default="0.5",
    ),
    Option(
        name="grey",
        sets="Reading.grey",
        parse=values.grey,
        metavar="BLACK",
        help="Image: read greys as target heights or doses; BLACK is the value of black: 60um, 80mJ/cm2",
    ),
    *_SPLIT,
    Option(
        name="mirror",
        sets="Arrangement.mirror",
        parse=OneOf(("x", "y", "xy")),
        help="Mirror the drawing: x swaps left and right, y top and bottom, xy both",
    ),
    Option(
        name="rotate",
        sets="Arrangement.rotate",
        parse=Quantity(ANGLE, "deg", low=None),
        metavar="DEGREES",
        help="Rotation, counter-clockwise",
        default="0",
    ),
    Option(
        name="scale",
        sets="Arrangement.scale",
        parse=Quantity(NUMBER, ""),
        metavar="NUMBER",
        help="Scale factor",
        default="1",
        replaces=("size",),
    ),
    Option(
        name="size",
        sets="Arrangement.size",
        parse=values.size,
        metavar="LENGTH",
        help="Size of the drawing, instead of --scale: 20mm (width), 20x30mm, x30mm (height)",
        replaces=("scale",),
    ),
    Option(
        name="negative",
        sets="Arrangement.negative",
        parse=values.yes_no,
        help="Invert the design: expose what is not drawn on the page",
    ),
    Option(
        name="repeat",
        sets="Arrangement.repeat",
        parse=values.repeat,
        metavar="NxM@PITCH",
        help="Columns x rows of copies at a pitch: 3x2@10mm, 3x2@10x8mm",
    ),
    Option(
        name="align",
        sets="Arrangement.align",
        parse=values.marks,
        metavar="MARK|FILE",
        help="Mark on the part: where it is drawn = where the machine finds it, as in 10,20=110.2,35.1mm; "
        "may be repeated; or a table from `laserpath marks`",
    ),
    Option(
        name="align_fit",
        sets="Arrangement.align_fit",
        parse=OneOf(("auto", *ALIGN_FITS)),
        help="What the marks correct; auto: a shift for one, also the rotation for two, also scales and skew "
        "for more",
        default="auto",
    ),
    Option(
        name="origin",
        sets="Settings.origin",
        parse=OneOf(("auto", "page", "design", "centre", "own")),
        help="Work zero: lower left corner of the page or of the design, the design's centre, or the "
        "drawing's own zero; auto: own with --align, else the page's corner if the design then fits on the "
        "machine, else the design's",
        default="auto",
    ),
    Option(
        name="offset",
        sets="Settings.offset",
        parse=values.offset,
        metavar="X,Y",
        help="Position of that corner or centre relative to the work zero: 5,3mm",
        default="0,0",
    ),
)
"""Applied in this order: mirror, rotate, scale or size, negative, repeat, align."""

_COLOURS = (
    Option(
        name="colour_resin", sets="Process.resin", parse=values.colour_resins, metavar="COLOUR=RESIN",
        help="With --colours: one colour's own resin, a name or TOML file; may be repeated",
    ),
)  # fmt: skip

OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "Machine, resin, spot": _PROCESS,
    "Design": _DESIGN,
    "Colours": _COLOURS,
    "Plan": _PLAN,
}
"""Heading of the help → its options, in the order shown."""

UNLESS_GIVEN: Mapping[str, Any] = {"origin": "auto"}
"""Fields of `Settings` whose default is another one here than in Python: a file's own coordinates are often
off the machine."""
