"""Options that several commands share, by heading, for `grouped.options`; `config.request` parses the values.

Text in [brackets] is the default, from `Settings` or from a profile.
"""

from __future__ import annotations

import click

from laserpath.base.choices import INITIAL_CURVES, QUALITIES
from laserpath.cli.grouped import Options, Said
from laserpath.config import profiles
from laserpath.config.project import NAME
from laserpath.config.request import MIRRORS, ORIGINS, TONES

_CURVES = {"contour": "rings", "outline": "outline and hatch", "centreline": "centrelines"}
"""Starting curves whose names need a word of explanation."""


def _profile(kind: str) -> str:
    return f"Profile name or TOML file  [{profiles.DEFAULTS[kind]}; see `laserpath profiles list`]"


def _curves() -> str:
    return ", ".join(f"{name} ({_CURVES[name]})" if name in _CURVES else name for name in INITIAL_CURVES[1:])


OUTPUT: Options = {
    "Output": {
        "-o --output": {"metavar": "DIR", "default": ".", "help": "Output folder  [the current one]"},
        "--json": {"is_flag": True, "help": "Print only JSON on stdout: figures and file names"},
        "-q --quiet": {"is_flag": True, "help": "Print only warnings and errors"},
        "-v --verbose": {"is_flag": True, "help": "Also print each step and how long it takes"},
    },
}

PROCESS: Options = {
    "Machine, resin, spot": {
        "--machine": {"metavar": "NAME|FILE", "help": _profile("machine")},
        "--resin": {"metavar": "NAME|FILE", "help": _profile("resin")},
        "--critical-dose": {
            "type": Said("critical_dose"),
            "metavar": "DOSE",
            "help": "Dose at which the layer just cures, or clears, mJ/cm2  [the resin's]",
        },
        "--tone": {
            "type": click.Choice(TONES),
            "help": "Exposed areas stay (negative) or wash away (positive)  [the resin's]",
        },
        "--spot": {"metavar": "NAME|FILE", "help": _profile("spot")},
        "--spot-fwhm": {
            "type": Said("spot_fwhm"),
            "metavar": "LENGTH",
            "help": "Spot size, full width at half maximum: 0.1, 0.1mm, 100um",
        },
        "--na": {
            "type": Said("na"),
            "metavar": "NUMBER",
            "help": "Numerical aperture; with --wavelength it gives the spot: FWHM = 0.5145 wavelength/NA",
        },
        "--wavelength": {
            "type": Said("wavelength"),
            "metavar": "LENGTH",
            "help": "Wavelength of the laser: 405, 405nm",
        },
    },
}

DESIGN: Options = {
    "Design": {
        "--layer": {
            "metavar": "NAME",
            "multiple": True,
            "help": "Read only this layer; may be repeated. GDSII and OASIS: layer or layer/datatype  "
            "[all; for GDSII and OASIS the layer with the longest outline]",
        },
        "--cell": {"metavar": "NAME", "help": "GDSII and OASIS: cell to read  [the largest top-level cell]"},
        "--unit": {
            "type": Said("unit"),
            "metavar": "UNIT",
            "help": "Unit if the file states none: mm, um, nm, cm, in  [the file format's usual unit]",
        },
        "--line-width": {
            "type": Said("line_width"),
            "metavar": "LENGTH",
            "help": "DXF, GeoJSON, WKT: width on the part of open lines that have none  [they are left out, "
            "or are one FWHM wide if there is nothing else]",
        },
        "--pixel": {
            "type": Said("pixel"),
            "metavar": "LENGTH",
            "help": "Image: pixel size, 10um  [from the image's resolution]",
        },
        "--threshold": {
            "type": Said("threshold"),
            "metavar": "NUMBER",
            "help": "Image: darkness from which a pixel is drawn, 0 (white) to 1 (black)  [0.5]",
        },
        "--grey": {
            "type": Said("grey"),
            "metavar": "BLACK",
            "help": "Image: take its greys as target heights or doses, black is BLACK: 60um, 80mJ/cm2",
        },
        "--mirror": {
            "type": click.Choice(MIRRORS),
            "help": "x swaps left and right, y top and bottom, xy both",
        },
        "--rotate": {
            "type": Said("rotate"),
            "metavar": "DEGREES",
            "help": "Rotation, counter-clockwise  [0]",
        },
        "--scale": {"type": Said("scale"), "metavar": "NUMBER", "help": "Scale factor  [1]"},
        "--size": {
            "type": Said("size"),
            "metavar": "LENGTH",
            "help": "Size of the drawing, instead of --scale: 20mm (width), 20x30mm, x30mm (height)",
        },
        "--negative": {
            "is_flag": True,
            "default": None,
            "help": "Invert the design: take what is not drawn on the page",
        },
        "--repeat": {
            "type": Said("repeat"),
            "metavar": "NxM@PITCH",
            "help": "Columns x rows of copies at a pitch: 3x2@10mm, 3x2@10x8mm",
        },
        "--origin": {
            "type": click.Choice(ORIGINS),
            "help": "Work zero: lower left corner of the page or of the design, or the design's centre; "
            "auto: the page's corner if the design then fits on the machine, else the design's  [auto]",
        },
        "--offset": {
            "type": Said("offset"),
            "metavar": "X,Y",
            "help": "Where to put that corner or centre, from the work zero: 5,3mm  [0,0]",
        },
    },
}
"""Applied in this order: mirror, rotate, scale or size, negative, repeat."""

PLAN: Options = {
    "Plan": {
        "--quality": {
            "type": click.Choice(QUALITIES),
            "help": "From shortest write time to most accurate edges  [standard]",
        },
        "--initial": {
            "type": Said("initial"),
            "metavar": "NAME",
            "help": f"Starting curve: {_curves()}; auto tries several and takes the best for each "
            "region  [auto]",
        },
        "--pitch": {
            "type": Said("pitch"),
            "metavar": "LENGTH",
            "help": "Hatch pitch, the distance between lines: 0.12mm, 120um, 1.2fwhm  [1.2fwhm]",
        },
        "--angle": {"type": Said("angle"), "metavar": "DEGREES", "help": "Hatch angle from +x  [0]"},
        "--iterations": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Maximum optimiser iterations  [500]",
        },
        "--seed": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Seed of the random starting curve  [0]",
        },
        "--passes": {
            "type": click.IntRange(1, 100),
            "metavar": "N",
            "help": "Repeat the path N times, sharing the power among them  [1]",
        },
        "--max-epe": {
            "type": Said("max_epe"),
            "metavar": "LENGTH",
            "help": "Edge tolerance for 95 % of the edge: 10um, 0.1fwhm. Takes the fastest plan found "
            "that meets it, whatever the --quality; exit code 3 if none does  [none]",
        },
        "--blur": {
            "type": Said("blur"),
            "metavar": "N",
            "help": "Optimise also for a spot N times as wide, 1 to 2, against defocus or a tilted plate. "
            "1.15 costs a little accuracy in focus; 1 is in focus only  [1]",
        },
    },
}

FILES: Options = {
    "Output": {
        "--frame": {
            "is_flag": True,
            "help": "Also write DESIGN.frame.gcode: a low-power pass around the design's bounding box. "
            "It exposes resin, too",
        },
        "--save-project": {
            "is_flag": True,
            "help": f"Also write {NAME}; put beside the design, it makes `laserpath plan` repeat this plan",
        },
        "--project": {
            "metavar": "FILE",
            "help": f"Project file with settings  [{NAME} beside the design, if any]",
        },
    },
}
