"""What people write → values: units, pairs, sizes, and a sentence for what cannot be parsed."""

from __future__ import annotations

from typing import Any

import pytest

from laserpath.base.errors import InputError
from laserpath.base.quantities import Length
from laserpath.config import options, request
from laserpath.config.layers import Dose, LayerChoice
from laserpath.design.arrange import Arrangement, Repeat
from laserpath.types import Settings


def parsed(name: str, written: Any) -> Any:
    return options.by_name()[name].parse(written)


@pytest.mark.parametrize(
    ("name", "written", "meant"),
    [
        ("critical_dose", "35", 0.35),
        ("critical_dose", "0.35mJ/mm2", 0.35),
        ("spot_fwhm", "80um", 0.08),
        ("wavelength", "405", 405e-6),
        ("rotate", "-90", -90.0),
        ("size", "20", (20.0, None)),
        ("size", "20mm", (20.0, None)),
        ("size", "20x30mm", (20.0, 30.0)),
        ("size", "2x3cm", (20.0, 30.0)),
        ("size", "20x", (20.0, None)),
        ("size", "x30mm", (None, 30.0)),
        ("size", "1e1x", (10.0, None)),
        ("offset", "5,3", (5.0, 3.0)),
        ("offset", "5,-3mm", (5.0, -3.0)),
        ("offset", "5cm,3mm", (50.0, 3.0)),
        ("offset", "1,2cm", (10.0, 20.0)),
        ("offset", [5, 3], (5.0, 3.0)),
        ("repeat", "3x2@10mm", Repeat(3, 2, (10.0, 10.0))),
        ("repeat", "3 x 2 @ 10x8", Repeat(3, 2, (10.0, 8.0))),
        ("layer", "F.Cu", ("F.Cu",)),
        ("layer", ["1/0", "2/0"], ("1/0", "2/0")),
        ("layers", "pads, text", (LayerChoice("pads"), LayerChoice("text"))),
        ("layers", ["a,b", {"name": "c", "on": False}], (LayerChoice("a,b"), LayerChoice("c", on=False))),
        ("layers", [{"name": "a", "dose": 1.2}], (LayerChoice("a", dose=Dose(factor=1.2)),)),
        ("layers", [{"name": "a", "dose": "42mJ/cm2"}], (LayerChoice("a", dose=Dose(absolute=0.42)),)),
        (
            "layers",
            [{"name": "a", "passes": 2, "max-epe": "10um", "resin": "my.toml"}],
            (LayerChoice("a", values={"passes": 2, "max_epe": Length(0.01, False), "resin": "my.toml"}),),
        ),
    ],
)
def test_what_is_written_is_parsed(name: str, written: Any, meant: Any) -> None:
    assert parsed(name, written) == meant


@pytest.mark.parametrize(
    ("name", "written", "words"),
    [
        ("layers", "", "names no layer"),
        ("layers", "a,b,a", "layer 'a' is listed twice; each layer has one program"),
        ("layers", [{"dose": 2}], "a layer has no name; it begins with"),
        ("layers", [{"name": ""}], "'' must be text"),
        ("layers", [{"name": "a", "doze": 2}], "layer 'a': key 'doze' is unknown; did you mean dose?"),
        ("layers", [{"name": "a", "rotate": 2}], "layer 'a': key 'rotate' is unknown; known: name, on, dose"),
        ("layers", [{"name": "a", "on": "no"}], "layer 'a': on: 'no' must be true or false"),
        ("layers", [{"name": "a", "passes": 0}], "layer 'a': passes: 0 must be a whole number of at least 1"),
        ("layers", [{"name": "a", "quality": "best"}], "layer 'a': quality: 'best' is unknown; known: draft"),
        (
            "layers",
            [{"name": "a", "dose": 35}],
            "35 is a factor of .* 0.1 to 10; a dose has a unit: 35mJ/cm2",
        ),
        (
            "layers",
            [{"name": "a", "dose": "1.2mW"}],
            "layer 'a': dose: '1.2mW' has the unknown unit|unit 'mW'",
        ),
        ("layers", [{"name": "a", "dose": "0mJ/cm2"}], "layer 'a': dose: '0mJ/cm2' must be above 0"),
        ("layers", [{"name": "a", "dose": True}], "layer 'a': dose: True is not a number"),
        ("size", "x", "'x' is not a size such as 20mm"),
        ("size", "20xx30", "is not a size"),
        ("size", "-20", "'-20' must be above 0"),
        ("size", "nan", "is not a size|is not a number"),
        ("size", "20furlong", "unknown unit 'furlong'"),
        ("offset", "5", "is not a pair of lengths"),
        ("offset", "5,3,1", "is not a pair of lengths"),
        ("offset", "a,b", "is not a number"),
        ("repeat", "3x2", "is not a repetition such as 3x2@10mm"),
        ("repeat", "0x2@10", "repeat is 0x2, but must be 1 to"),
        ("repeat", "3x2@x10", "gives no pitch in x"),
        ("repeat", "999999x2@1", "must be 1 to 10000 copies"),
        ("negative", "yes", "must be true or false"),
        ("iterations", 1.5, "must be a whole number of at least 0"),
        ("passes", 101, "at least 1 and at most 100"),
        ("unit", "furlong", "known: mm, um, nm, cm, in"),
        ("spot_fwhm", "100", "a spot of 100 mm is above 10 mm; was 100um meant"),
        ("mirror", "z", "known: x, y, xy"),
        ("layer", [3], "must be text"),
        ("critical_dose", True, "is not a number"),
    ],
)
def test_what_cannot_be_parsed_is_refused(name: str, written: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parsed(name, written)


def test_an_option_replaces_those_that_set_the_same() -> None:
    usual = {"spot": "fibre-10um", "scale": 2.0, "quality": "fine"}
    assert request.over(usual, {"spot_fwhm": 0.1}) == {"spot_fwhm": 0.1, "scale": 2.0, "quality": "fine"}
    assert request.over(usual, {"size": (20.0, None)})["size"] == (20.0, None)
    assert "scale" not in request.over(usual, {"size": (20.0, None)})
    assert request.over(usual, {}) == usual


def test_without_options_there_are_defaults() -> None:
    assert request.settings_of({}, 0.1) == Settings(origin="auto")
    assert request.arrangement_of({}) == Arrangement()
    assert request.settings_of({"pitch": parsed("pitch", "0.2mm")}, 0.1).pitch_fwhm == 2


@pytest.mark.parametrize("kind", ["machine", "resin", "spot"])
def test_an_empty_name_is_not_that_of_the_default(kind: str) -> None:
    """`--machine "$MACHINE"` with an unset variable must not plan for another machine."""
    with pytest.raises(InputError, match=f"{kind} profile '' is unknown"):
        request.process_of({kind: ""})
