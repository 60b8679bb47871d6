"""An SVG is read from its own bytes: no file and no address that it refers to is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from listening import listening

from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
from laserpath.design.svg import read

ROOT = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'width="100mm" height="100mm" viewBox="0 0 100 100">'
)
RECT = '<rect id="it" width="9" height="9"/>'
URL = "http://192.0.2.1/x.svg"

OUTSIDE = {
    "a picture": (f'<image href="{{}}"/>{RECT}', "<image> is a picture"),
    "a picture by xlink": (f'<image xlink:href="{{}}"/>{RECT}', "<image> is a picture"),
    "use": (f'<use href="{{}}#it"/>{RECT}', "outside the file: not followed"),
    "use of a whole file": (f'<use xlink:href="{{}}"/>{RECT}', "outside the file: not followed"),
    "a gradient": (f'<rect width="9" height="9" fill="url({{}}#it)"/>{RECT}', "not a paint in this file"),
    "a gradient of a gradient": (
        f'<linearGradient id="g" href="{{}}#it"/><rect width="9" height="9" fill="url(#g)"/>{RECT}',
        "a gradient without colours in this file",
    ),
    "a clip": (f'<g clip-path="url({{}}#it)">{RECT}</g>', "no clipPath of this file"),
    "a clip in a style": (f"<g style=\"clip-path: url('{{}}#it')\">{RECT}</g>", "no clipPath of this file"),
    "a mask": (f'<g mask="url({{}}#it)">{RECT}</g>', "no mask of this file"),
    "a filter": (f'<g filter="url({{}}#it)">{RECT}</g>', "filter is not understood"),
    "a marker": (
        f'<path d="M0 0H9V9Z" marker-end="url({{}}#it)"/>{RECT}',
        "markers (arrow heads) are not drawn",
    ),
    "@import": (f'<style>@import "{{}}";</style>{RECT}', "@import of a style sheet outside the file"),
    "@import url": (f"<style>@import url({{}}) screen;</style>{RECT}", "@import of a style sheet outside"),
    "a font": (f"<style>@font-face {{{{ src: url({{}}) }}}} rect {{{{ font: 9px x }}}}</style>{RECT}", ""),
    "a style's url": (f"<style>rect {{{{ fill: url({{}}#it) black }}}}</style>{RECT}", ""),
    "a cursor": (f'<rect width="9" height="9" style="cursor: url({{}}), auto"/>{RECT}', ""),
    "a script": (f'<script href="{{}}"/>{RECT}', "scripts and animations are not run"),
    "a link": (f'<a href="{{}}">{RECT}</a>', ""),
    "html in it": (
        '<foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="{}"/>'
        f"</foreignObject>{RECT}",
        "<foreignObject> is not understood",
    ),
    "xml:base": (f'<g xml:base="{{}}"><use href="#nowhere"/>{RECT}</g>', "not in this file"),
    "XInclude": (f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="{{}}"/>{RECT}', ""),
}
"""Element beside a square, and words of the warning about it ('': nothing visible is lost)."""

BEFORE = {
    "a style sheet": ('<?xml-stylesheet href="{}" type="text/css"?>', "an xml-stylesheet outside the file"),
    "an external DTD": ('<!DOCTYPE svg SYSTEM "{}">', ""),
    "a public DTD": ('<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "{}">', ""),
    "an external entity": ('<!DOCTYPE svg [<!ENTITY x SYSTEM "{}">]>', "not safe"),
    "a parameter entity": ('<!DOCTYPE svg [<!ENTITY % x SYSTEM "{}"> %x;]>', "not safe"),
    "an entity": ('<!DOCTYPE svg [<!ENTITY x "{}">]>', ""),
    "an entity of an entity": ('<!DOCTYPE svg [<!ENTITY x "{}"><!ENTITY y "&x;">]>', "not safe"),
    "an unparsed entity": (
        '<!DOCTYPE svg [<!NOTATION n SYSTEM "{0}"><!ENTITY x SYSTEM "{0}" NDATA n>]>',
        "not safe",
    ),
}
"""The same before the outermost element; 'not safe' is a refusal."""

HEARD = ("open", "os.", "socket.", "subprocess.", "urllib.", "http.", "ftplib.", "ctypes.dlopen", "import")


def attempt(svg: str) -> tuple[float, str]:
    """The area of a drawing, 0 of one that is refused, and what is said of it."""
    try:
        design = read(svg.encode(), "test", Reading(1e-3))
    except InputError as error:
        return 0.0, str(error)
    return design.area.area, " ".join(design.warnings)


def cases(where: str) -> dict[str, tuple[str, str]]:
    """Name → (file that refers to `where`, words of the warning)."""
    inside = {name: (f"{ROOT}{body.format(where)}</svg>", words) for name, (body, words) in OUTSIDE.items()}
    before = {
        name: (f"{head.format(where)}{ROOT}{RECT}</svg>", words) for name, (head, words) in BEFORE.items()
    }
    return inside | before


@pytest.fixture(scope="module")
def baits(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An existing file, as a path and as an address, and an address in the network."""
    path = tmp_path_factory.mktemp("outside") / "other.svg"
    path.write_text(f'{ROOT}<rect id="it" width="50" height="50"/></svg>')
    return [str(path), path.as_uri(), URL]


def test_nothing_outside_is_opened_and_each_is_named(baits: list[str]) -> None:
    """Every file and every address that Python opens, imports and processes too."""
    files = {f"{name} {bait}": case for bait in baits for name, case in cases(bait).items()}
    for svg, _ in cases(baits[0]).values():
        attempt(svg)  # what Python imports on the way is open now
    with listening(*HEARD) as seen:
        Path(baits[0]).read_bytes()
        assert seen, "the hook hears nothing"
        for name, (svg, words) in files.items():
            seen.clear()
            area, messages = attempt(svg)
            assert seen == [], name
            assert words in messages, (name, messages)
            assert area == pytest.approx(0 if words == "not safe" else 81), name
