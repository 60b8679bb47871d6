"""Resins whose working curve at 405 nm is published, as profiles to start from.

They are starting points, not calibrations: of one batch of one resin 24 laboratories found penetration depths
that differ by up to 7 times, and E_c by up to 70 times (https://pmc.ncbi.nlm.nih.gov/articles/PMC10986335).
Dry films, solder masks and SU-8 are not among them. Their data sheets state doses for lamps, whose light at
365 nm they absorb best; no source was found that states one at 405 nm, where they need more.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from gcode.files import toml

_FILE = "materials.toml"


@cache
def _table() -> dict[str, Any]:
    return dict(toml((resources.files(__package__) / _FILE).read_text("utf-8")))


def names() -> tuple[str, ...]:
    """The names of their profiles."""
    return tuple(_table()["resins"])


def text(name: str) -> str:
    """The TOML text of a profile, to copy and edit."""
    resin = _table()["resins"][name]
    source = _table()["sources"][resin["source"]]
    return f"""\
# {resin["name"]} at 405 nm, a starting point. Nobody has measured it with your laser, and of one resin two
# publications state E_c nearly three times apart: print a chart, and `laserpath fit` writes yours.

name = "{resin["name"]}"
tone = "negative"               # exposed stays

e_c_mJ_per_cm2 = {resin["e_c"]:<15g}# dose at which the resin begins to gel
penetration_depth_um = {resin["penetration_depth"]:<9g}# depth at which the light has fallen to 1/e
layer_um = 50                   # thickness to cure through; more than the layer, to bond to the one below

contrast = 10                   # how sharply it turns solid around that dose; for the planner only
over_dose = 3                   # largest dose wanted, in critical doses

# Where the numbers stand; plans say it until the resin has been measured
source = "{source["by"]}, {source["at"]}"
"""
