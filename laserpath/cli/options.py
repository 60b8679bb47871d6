"""The options of the commands, by heading, for `grouped.options`; `config.request` says what they mean.

What stands in [brackets] is the default, of `Settings` or of a profile.
"""

from __future__ import annotations

import click

from laserpath.base.choices import INITIAL_CURVES, QUALITIES
from laserpath.cli.grouped import Options, Said
from laserpath.config import profiles
from laserpath.config.project import NAME
from laserpath.config.request import MIRRORS, ORIGINS, TONES


def _names(kind: str) -> str:
    return f"Name or TOML file  [{profiles.DEFAULTS[kind]}; `laserpath profiles list` has all]"


OUTPUT: Options = {
    "Output": {
        "-o --output": {"metavar": "DIR", "default": ".", "help": "Folder for the files  [the current one]"},
        "--json": {"is_flag": True, "help": "Figures and files as JSON on stdout, nothing else there"},
        "-q --quiet": {"is_flag": True, "help": "Say nothing but errors and warnings"},
        "-v --verbose": {"is_flag": True, "help": "Say more: what is read and done, and how long it takes"},
    },
}

PROCESS: Options = {
    "Machine, resin, spot": {
        "--machine": {"metavar": "NAME|FILE", "help": _names("machine")},
        "--resin": {"metavar": "NAME|FILE", "help": _names("resin")},
        "--critical-dose": {
            "type": Said("critical_dose"),
            "metavar": "DOSE",
            "help": "Dose that cures the layer (or clears it), mJ/cm2  [the resin's]",
        },
        "--tone": {
            "type": click.Choice(TONES),
            "help": "Exposed stays, or is washed away  [the resin's]",
        },
        "--spot": {"metavar": "NAME|FILE", "help": _names("spot")},
        "--spot-fwhm": {
            "type": Said("spot_fwhm"),
            "metavar": "LENGTH",
            "help": "Full width at half maximum: 0.1, 0.1mm, 100um",
        },
        "--na": {
            "type": Said("na"),
            "metavar": "NUMBER",
            "help": "Numerical aperture, with --wavelength: FWHM = 0.5145 wavelength/NA",
        },
        "--wavelength": {"type": Said("wavelength"), "metavar": "LENGTH", "help": "Of the light: 405, 405nm"},
    },
}

DESIGN: Options = {
    "Design": {
        "--layer": {
            "metavar": "NAME",
            "multiple": True,
            "help": "Only this layer; again for more. Of GDSII and OASIS: layer or layer/datatype  "
            "[all; there the one with the longest outline]",
        },
        "--cell": {"metavar": "NAME", "help": "Of GDSII and OASIS  [the largest that no other places]"},
        "--unit": {
            "type": Said("unit"),
            "metavar": "UNIT",
            "help": "Of a file that names none: mm, um, nm, cm, in  [what its format takes for granted]",
        },
        "--line-width": {
            "type": Said("line_width"),
            "metavar": "LENGTH",
            "help": "Of a DXF, GeoJSON or WKT: how wide lines are on the part that have no width and "
            "enclose nothing  [left out; the spot's, if there is nothing else]",
        },
        "--pixel": {
            "type": Said("pixel"),
            "metavar": "LENGTH",
            "help": "Of an image: 10um  [what the image says]",
        },
        "--threshold": {
            "type": Said("threshold"),
            "metavar": "NUMBER",
            "help": "Of an image: the ink that counts, from 0, paper, to 1, black  [0.5]",
        },
        "--grey": {
            "type": Said("grey"),
            "metavar": "BLACK",
            "help": "The greys of an image are wanted as they are, and black is so high, or so much dose: "
            "60um, 80mJ/cm2",
        },
        "--mirror": {"type": click.Choice(MIRRORS), "help": "x: left becomes right; y: top becomes bottom"},
        "--rotate": {"type": Said("rotate"), "metavar": "DEGREES", "help": "Counter-clockwise  [0]"},
        "--scale": {"type": Said("scale"), "metavar": "NUMBER", "help": "Factor of all lengths  [1]"},
        "--size": {
            "type": Said("size"),
            "metavar": "LENGTH",
            "help": "Of what is drawn, instead of a scale: 20mm wide, 20x30mm, x30mm high",
        },
        "--negative": {
            "is_flag": True,
            "default": None,
            "help": "What is not drawn on the page counts",
        },
        "--repeat": {"type": Said("repeat"), "metavar": "NxM@PITCH", "help": "Copies: 3x2@10mm, 3x2@10x8mm"},
        "--origin": {
            "type": click.Choice(ORIGINS),
            "help": "Work zero: lower left corner of the page or of the design, or its centre; auto: the "
            "page's if the design then lies on the machine, else the design's  [auto]",
        },
        "--offset": {
            "type": Said("offset"),
            "metavar": "X,Y",
            "help": "From the work zero to where that corner goes: 5,3mm  [0,0]",
        },
    },
}
"""Done in this order: mirror, rotate, scale or size, negative, repeat."""

PLAN: Options = {
    "Plan": {
        "--quality": {
            "type": click.Choice(QUALITIES),
            "help": "From the fastest to write to the truest edges  [standard]",
        },
        "--initial": {
            "type": Said("initial"),
            "metavar": "NAME",
            "help": f"Starting curve: {', '.join(INITIAL_CURVES)}; auto takes what a short trial finds best "
            "for each part  [auto]",
        },
        "--pitch": {
            "type": Said("pitch"),
            "metavar": "LENGTH",
            "help": "Between lines: 0.12mm, 120um, 1.2fwhm  [1.2fwhm]",
        },
        "--angle": {"type": Said("angle"), "metavar": "DEGREES", "help": "Of the hatch, from +x  [0]"},
        "--iterations": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Of the optimiser, at most  [500]",
        },
        "--seed": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Of the random starting curve  [0]",
        },
        "--passes": {
            "type": click.IntRange(1, 100),
            "metavar": "N",
            "help": "Expose so many times, each with its share of the power  [1]",
        },
        "--max-epe": {
            "type": Said("max_epe"),
            "metavar": "LENGTH",
            "help": "Tolerance on the edge (95 % of it): 10um, 0.1fwhm. Takes the fastest plan found that "
            "keeps it, whatever the quality; exit code 3 if none does  [none]",
        },
        "--blur": {
            "type": Said("blur"),
            "metavar": "N",
            "help": "The edges shall be good with a spot N times as wide too, 1 to 2, as where the plate is "
            "tilted or the focus is off; 1.15 costs a little truth in focus, 1 counts none  [1]",
        },
    },
}

FILES: Options = {
    "Output": {
        "--frame": {
            "is_flag": True,
            "help": "Write DESIGN.frame.gcode too: a weak pass around the design's bounding box. "
            "Its light exposes resin as well",
        },
        "--save-project": {
            "is_flag": True,
            "help": f"Write {NAME} too: with it beside the design, `laserpath plan` makes this plan again",
        },
        "--project": {"metavar": "FILE", "help": f"Settings  [{NAME} beside the design, if there is one]"},
    },
}
