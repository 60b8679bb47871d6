"""Some seconds of `make torture`, with files that stand for those of a plan."""

from __future__ import annotations

import random
from pathlib import Path

import kills
import pytest


@pytest.mark.slow(15)
def test_kills_leave_whole_files_of_one_version(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    tally = kills.Torture(tmp_path, random.Random(seed), plans=False).run(10.0, share=0.0)
    assert tally.failures == [], f"seed {seed}"
    assert tally.kills.total() > 20
