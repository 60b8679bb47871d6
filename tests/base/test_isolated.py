"""A process that reads a file and fails for want of disk or memory does not call the file damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from laserpath.base import isolated
from laserpath.base.errors import InputError

ENDS = {
    "raise OSError(28, 'No space left on device')": "no temporary folder can be used .*: No space left",
    "raise OSError(122, 'Disk quota exceeded')": "no temporary folder can be used .*",
    "raise OSError(27, 'File too large')": "no temporary folder can be used .*: File too large",
    "raise MemoryError": "takes more than 640 MiB of memory",
    "raise ValueError('its header')": r"the file is damaged: gdstk stopped at it \(ValueError: its header\)",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_reason_is_named(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(end)
    with pytest.raises(InputError, match=ENDS[end]):
        isolated.run(script, [], "gdstk", 0)
