"""What a program that measures in a process of its own was asked for: `python PROGRAM.py REQUEST`, in JSON.

It is imported before anything that counts the processors, as the process keeps to those of the request.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

REQUEST: dict[str, Any] = {}
if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
    REQUEST = json.loads(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, REQUEST["cores"])


def answer(content: Any) -> None:
    """Write what was found."""
    sys.stdout.write(json.dumps(content) + "\n")
