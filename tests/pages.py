"""Tables in Markdown, and the part of a page of docs/ that a program writes: for bench and compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

Cells = Sequence[str]


def table(head: Cells, body: Iterable[Cells]) -> str:
    """Markdown, its columns aligned so that a terminal can show it."""
    lines = [list(head), *(list(line) for line in body)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    texts = [" | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines]
    rule = " | ".join("-" * max(w, 3) for w in widths)
    return "\n".join(f"| {text} |" for text in (texts[0], rule, *texts[1:]))


def write_between_markers(path: Path, name: str, text: str) -> None:
    """Puts the text in the place of the last run's, between <!-- name: begin --> and <!-- name: end -->."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{path} has no {begin} … {end}")
    path.write_text(pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", old), encoding="utf-8")
