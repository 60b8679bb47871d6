"""Every input that ever failed is read, or refused in one sentence; the fuzzer notices what is wrong."""

from __future__ import annotations

import os
import random
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import fuzz_asking
import fuzz_readers
import fuzzing
import pytest
from fuzz_mutants import Mutator
from fuzz_readers import READERS, Reader
from sets import one_fast

from laserpath.base.errors import InputError, PlausibilityWarning

CORPUS = Path(__file__).with_name("corpus")
FAILED = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.fixture(autouse=True)
def _quickly() -> Iterator[None]:
    with fuzzing.quickly():
        yield


def test_the_corpus_has_folders_of_known_formats_only() -> None:
    assert {path.parent.name for path in FAILED} <= set(READERS)


SLOWEST = {
    *("strokes-of-strokes.svg", "a-crowd.gds", "circles-traced-often.gcode"),
    *("a-step-that-overflows.csv", "no-size-used.csv", "no-finite-start.csv", "a-dose-of-zero.csv"),
}
"""Bombs, refused or read within the limit of 10 s, but not in a moment; and sheets, which are fitted."""

LARGE = {"any", "oasis", "gdsii", "png", "tiff", "beam-photo", "photo"}
"""Formats whose readers take a fifth of a second, or more."""


@pytest.mark.parametrize(
    "path",
    one_fast(FAILED, *(p for p in FAILED if p.name not in SLOWEST and p.parent.name not in LARGE)),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_what_failed_once_does_not_fail_again(
    path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With every set of options, under the suffix that the fuzzer gives."""
    reader = READERS[path.parent.name]
    for variant in range(reader.variants):
        copy = tmp_path / f"fuzz{reader.suffix}"
        copy.write_bytes(path.read_bytes())
        answer = fuzz_asking.ask(reader, copy, variant)
        assert answer.failure == "", answer.details
        assert "".join(capfd.readouterr()) == ""


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("count", one_fast([4, 300], 4))
@pytest.mark.parametrize("name", one_fast(READERS, "svg", "dxf", "gerber", "gcode", "board", "machine"))
def test_damaged_files_of_every_format_are_read_or_refused(name: str, count: int, tmp_path: Path) -> None:
    """Always the same ones; `make fuzz` looks for others."""
    fuzz = fuzzing.Fuzz(name, fuzzing.Plan(1, count, tmp_path / "kept", tmp_path))
    tally = fuzz.run(3600)
    assert tally.failures == {}
    assert tally.inputs == count and (count < 100 or 0 < tally.refused < count)


def made_to_fail(path: Path, variant: int) -> list[str]:
    """Raises, warns or says too much, as the file asks for."""
    text = path.read_text()
    if "refuse" in text:
        raise InputError(text)
    if "raise" in text:
        raise KeyError(text)
    if "warn" in text:
        warnings.warn(text, RuntimeWarning, stacklevel=1)
    if "doubt" in text:
        warnings.warn(text, PlausibilityWarning, stacklevel=1)
        return []
    return [text]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("one sentence", ""), ("refused in one sentence", ""), ("refused\nin two lines", "not one sentence"),
        ("long " * 500, "not one sentence"), ("raise", "KeyError at fuzz/test_fuzz.py"),
        ("warn", "warns: RuntimeWarning"), ("doubted in one sentence", ""),
        ("doubted\nin two lines", "not one sentence"), ("doubted, and warns", "warns: RuntimeWarning"),
    ],
)  # fmt: skip
def test_failures_are_noticed(text: str, failure: str, tmp_path: Path) -> None:
    path = tmp_path / "fuzz"
    path.write_text(text)
    answer = fuzz_asking.ask(Reader("", list, made_to_fail), path, 0)
    assert answer.failure.startswith(failure) and bool(answer.failure) == bool(failure)
    assert answer.refused == text.startswith("refused")


def made_to_die(path: Path, variant: int) -> list[str]:
    """Never ends, crashes, waits or prints, by the variant."""
    if variant == 0:
        while True:
            pass
    if variant == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if variant == 2:
        time.sleep(60)
    os.write(2, b"libtiff: bad tag\n")
    return ["one sentence"]


@pytest.mark.slow(10)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("variant", "failure"),
    [
        (0, "more than 1 s at fuzz/test_fuzz.py"),
        (1, "SIGSEGV at fuzz/test_fuzz.py"),
        (2, "more than 1 s of the clock at fuzz/test_fuzz.py"),
        (3, "prints: libtiff:"),
    ],
)
def test_what_kills_a_worker_is_kept(
    variant: int, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "PATIENCE" if variant == 2 else "SECONDS", 1.0)
    reader = Reader("", lambda: [b"some words"], lambda path, _: made_to_die(path, variant))
    monkeypatch.setitem(READERS, "bad", reader)
    fuzz = fuzzing.Fuzz("bad", fuzzing.Plan(1, 1, tmp_path / "kept", tmp_path))
    tally = fuzz.run(60)
    assert tally.inputs == 1
    ((key, found),) = tally.failures.items()
    assert found.startswith(failure)
    assert (tmp_path / "kept" / "bad" / f"{key}.bin").exists()


def test_what_fails_is_shortened(tmp_path: Path) -> None:
    data = fuzz_asking.shortened(
        Reader("", list, made_to_fail), tmp_path / "fuzz", b"many words raise it", 0, 2
    )
    assert data == b"raise"


@pytest.mark.parametrize("name", one_fast(READERS, *(set(READERS) - LARGE)))
def test_an_example_of_every_format_is_read(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    answers = []
    for variant in range(reader.variants):
        path = tmp_path / f"fuzz{reader.suffix}"
        path.write_bytes(reader.examples()[0])
        answers.append(fuzz_asking.ask(reader, path, variant))
    assert not all(answer.refused for answer in answers)
    assert [answer.failure for answer in answers if answer.failure] == []


@pytest.mark.parametrize("name", ["svg", "gdsii", "png"])
def test_mutants_depend_on_the_seed_alone(name: str) -> None:
    examples = fuzz_readers.READERS[name].examples()
    once, again = (Mutator(examples, random.Random(5)) for _ in range(2))
    made = [once.make() for _ in range(50)]
    assert made == [again.make() for _ in range(50)]
    assert len(set(made)) > 40
