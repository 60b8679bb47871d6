"""Read damaged files of every format for some time, and keep those that fail: `make fuzz`.

`SECONDS=60 SEED=7 FORMATS="svg dxf"` are its options there. What fails is in build/fuzz/, each input with a
text that says what is wrong. Exit code 1 if anything failed.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # before NumPy is imported

import argparse  # noqa: E402
import math  # noqa: E402
import random  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import fuzz_asking  # noqa: E402
import fuzzing  # noqa: E402
from fuzz_readers import READERS  # noqa: E402

HEAD = f"{'format':12}{'inputs':>9}{'refused':>9}{'read':>9}{'s':>8}{'worst s':>9}{'MB':>7}{'failures':>10}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, help="time for all formats together")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of all that is random")
    parser.add_argument("--formats", default="", help="some of: " + ", ".join(READERS))
    parser.add_argument(
        "--count", type=float, default=math.inf, help="inputs of a format, if the time allows"
    )
    parser.add_argument("--kept", type=Path, default=Path("build/fuzz"), help="folder for what fails")
    parser.add_argument("--log", type=Path, help="folder for every input, to compare fuzzers")
    options = parser.parse_args()
    names = options.formats.split() or list(READERS)
    if unknown := set(names) - set(READERS):
        parser.error(f"no such format: {', '.join(sorted(unknown))}; known: {', '.join(READERS)}")
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=fast if fast.is_dir() else None) as scratch:
        os.environ["TMPDIR"] = scratch
        os.environ["LASERPATH_PROFILES"] = str(Path(scratch, "none"))
        return _fuzz(options, names, Path(scratch))


def _fuzz(options: argparse.Namespace, names: list[str], scratch: Path) -> int:
    _say(f"seed {options.seed}")
    _say(HEAD)
    begin, left, tallies = time.monotonic(), list(names), []
    for name in names:
        shutil.rmtree(options.kept / name, ignore_errors=True)
        fuzz = fuzzing.Fuzz(
            name, fuzzing.Plan(options.seed, options.count, options.kept, scratch, options.log)
        )
        fuzz.warm()
        tally = fuzz.run(max(begin + options.seconds - time.monotonic(), 0) / len(left))
        left.remove(name)
        tallies.append(tally)
        _say(
            f"{name:12}{tally.inputs:9}{tally.refused:9}{tally.inputs - tally.refused:9}{tally.seconds:8.0f}"
            f"{tally.worst_seconds:9.2f}{tally.worst_memory >> 20:7}{len(tally.failures):10}"
        )
        _shorten(fuzz, scratch)
        for key, failure in sorted(tally.failures.items()):
            _say(f"FAILED: {options.kept / name / key}: {failure}")
    inputs, failures = sum(one.inputs for one in tallies), sum(len(one.failures) for one in tallies)
    _say(f"{inputs} inputs in {time.monotonic() - begin:.0f} s, {failures} failures; seed {options.seed}")
    return 1 if failures else 0


def _shorten(fuzz: fuzzing.Fuzz, scratch: Path) -> None:
    """Shorten what raised, warned or said too much, each for some seconds in a child."""
    path = scratch / f"fuzz{fuzz.reader.suffix}"
    for note in sorted(fuzz.folder.glob("*.txt")):
        lines = note.read_text("utf-8").splitlines()
        if lines[0].startswith(("more than", "SIG", "prints")):
            continue
        kept = note.with_suffix(fuzz.reader.suffix or ".bin")
        child = os.fork()
        if child == 0:
            variant = int(lines[1].split(",")[0].removeprefix("variant "))
            with fuzzing.quickly():
                data = fuzz_asking.shortened(fuzz.reader, path, kept.read_bytes(), variant, seconds=5)
            kept.write_bytes(data)
            os._exit(0)
        os.waitpid(child, 0)


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
