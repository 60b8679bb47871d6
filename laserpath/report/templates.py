"""HTML templates of the pages, and the files that they hold.

Every page extends `base.html` and imports the macros of `blocks.html`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

PACKAGE = "laserpath.report"

_LONGEST = 20
"""Letters in a row that are not broken. Longer words widen the narrow columns of a phone."""


def text(name: str, package: str = PACKAGE) -> str:
    """The text of a file that is installed with a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def template(name: str, package: str = PACKAGE, **filters: Callable[[str], str]) -> Template:
    """A template of a package; it can extend and import those of this one. filters: by name."""
    environment = Environment(
        loader=FunctionLoader(text), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"pieces": pieces, **filters}
    return environment.from_string(text(name, package))


def pieces(words: str) -> list[str]:
    """A cell's text in pieces between which a line may break: after _ and slashes, and in long words."""
    return re.findall(rf"[^_/\\\s]{{1,{_LONGEST}}}[_/\\]*|[_/\\]+|\s+", words)
