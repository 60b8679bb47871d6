"""Kill plans at random moments, and judge what they leave: `make torture`, with `SECONDS=60 SEED=7`."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Prepare, torture, say what was found; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("seconds", type=float, help="time for the trials, without the plans made before")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of all that is random")
    parser.add_argument("--share", type=float, default=0.5, help="part of the time for whole plans")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        # Kills must not touch the user's own cache. Taichi reads the variable when it is imported.
        os.environ["TI_OFFLINE_CACHE_FILE_PATH"] = str(Path(folder, "taichi"))
        import kills

        _say(f"seed {options.seed}")
        trial = kills.Torture(Path(folder), random.Random(options.seed), plans=True)
        _say(", ".join(f"{kind}: {s:.3f} s" for kind, s in trial.seconds.items()))
        tally = trial.run(options.seconds, share=options.share)
    for sentence in tally.failures[:20]:
        _say(f"FAILED: {sentence}")
    _say(f"{tally}; seed {options.seed}")
    return 1 if tally.failures else 0


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
