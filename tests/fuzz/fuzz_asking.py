"""A reader is asked about one file: what it made of it, and whether that is as it should be."""

from __future__ import annotations

import re
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz_readers import Reader

import gcode
from laserpath.base.errors import InputError, PlausibilityWarning
from laserpath.base.limits import limits

LETTERS = 2000
WALL, MEMORY = 6.0, 1 << 30
"""s and bytes that a reader of designs may take. What it is doing then may end a little later."""
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, EncodingWarning)
"""Warnings that Python does not show."""


@dataclass(frozen=True)
class Answer:
    """What a reader made of an input. template: its words without numbers and quotations.

    failure: '' if it is as it should be; else what is wrong, and where.  details: with a traceback.
    """

    refused: bool
    template: str
    failure: str = ""
    details: str = ""


def ask(reader: Reader, path: Path, variant: int) -> Answer:
    """Read one file, and judge how. A doubt about a value, which is a warning of our own, is a sentence."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.resetwarnings()
        warnings.simplefilter("always")
        for quiet in _QUIET:
            warnings.simplefilter("ignore", quiet)
        refused, failure, details, sentences = False, "", "", []
        try:
            with limits(seconds=WALL, memory=MEMORY):
                sentences = list(reader.read(path, variant))
        except (InputError, gcode.GcodeError) as error:
            refused, sentences = True, [str(error)]
        except Exception as error:  # noqa: BLE001  any other is what is looked for
            failure = f"{type(error).__name__} at {_place(error.__traceback__)}"
            details = "".join(traceback.format_exception(error)[-60:])
    doubts = [str(one.message) for one in shown if issubclass(one.category, PlausibilityWarning)]
    sentences += doubts
    if not failure and len(shown) > len(doubts):
        first = next(one for one in shown if not issubclass(one.category, PlausibilityWarning))
        failure = f"warns: {first.category.__name__} at {Path(first.filename).name}:{first.lineno}"
        details = str(first.message)
    for sentence in sentences if not failure else ():
        if (
            "\n" in sentence
            or "\r" in sentence
            or len(sentence) > LETTERS
            or (not sentence.strip() and refused)
        ):
            failure = f"not one sentence: {_template(sentence)[:60]}"
            details = sentence
    return Answer(refused, _template(" ".join(sorted(set(sentences)))), failure, details)


def _place(frames: Any) -> str:
    """The innermost line of our own code, and of any code."""
    names = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(frames)]
    ours = [n for n in names if "/laserpath/" in n[0] or "/gcode/" in n[0]] or names
    mine, last = (
        f"{Path(file).parent.name}/{Path(file).name}:{line}" for file, line in (ours[-1], names[-1])
    )
    return mine if mine == last else f"{mine}, in {last}"


def _template(text: str) -> str:
    """A sentence without what is quoted from the file."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.eE+-]*|\S*fuzz\S*", "#", text)[:400]


def shortened(reader: Reader, path: Path, data: bytes, variant: int, seconds: float) -> bytes:
    """An input that fails in the same way with parts left out, as far as that goes within the time."""
    until = time.monotonic() + seconds

    def fails(one: bytes) -> str:
        path.write_bytes(one)
        return ask(reader, path, variant).failure

    wanted = fails(data)
    size = len(data) // 2
    while wanted and size and time.monotonic() < until:
        at, shorter = 0, False
        while at < len(data) and time.monotonic() < until:
            less = data[:at] + data[at + size :]
            if fails(less) == wanted:
                data, shorter = less, True
            else:
                at += size
        size = size if shorter and size > 1 else size // 2
    return data
