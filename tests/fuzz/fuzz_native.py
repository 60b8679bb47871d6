"""A small server that runs one of the scripts of `laserpath.base.isolated` in children of its own.

`isolated` starts a new Python for each file, which takes 0.2 s. This process has imported the script, and
with it gdstk or Pillow, and forks; what a child runs is the same, the script's `main`. A child reads many
files, since a fork takes longer than most of them; if it dies, the file that it was at gets the signal, and
another child goes on. A line of JSON in, the arguments; a line out: exit code, s of the processor, bytes of
memory, stderr.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import resource
import sys
import tempfile
import time
import traceback
from typing import Any

FILES = 100
"""Of one child; gdstk keeps some memory of every file that it cannot read."""


def serve(script: str, seconds: int) -> None:
    """Fork children until stdin ends. seconds: of the processor for one file."""
    spec = importlib.util.spec_from_file_location("isolated_script", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.dup(1)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        while True:
            child = os.fork()
            if child == 0:
                os._exit(_read(module, out, said, seconds))
            _, status, used = os.wait4(child, 0)
            code = os.waitstatus_to_exitcode(status)
            if code == 1:
                return
            if code:
                _answer(out, said, code, used.ru_utime + used.ru_stime, used.ru_maxrss)


def _read(module: Any, out: int, said: Any, seconds: int) -> int:
    """Answer requests; 0 after `FILES` of them, 1 when there are no more."""
    for _ in range(FILES):
        request = b""
        while not request.endswith(b"\n"):
            part = os.read(0, 1 << 16)
            if not part:
                return 1
            request += part
        said.seek(0)
        said.truncate()
        before, code = time.process_time(), 0
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(before) + seconds, resource.RLIM_INFINITY))
        try:
            module.main(*json.loads(request))
        except BaseException:  # noqa: BLE001  as Python itself ends with any
            said.write(traceback.format_exc().encode("utf-8", "replace"))
            said.flush()
            code = 1
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _answer(out, said, code, time.process_time() - before, memory)
    return 0


def _answer(out: int, said: Any, code: int, cpu: float, memory: int) -> None:
    said.seek(0)
    text = said.read().decode("utf-8", "replace")[-4000:]
    os.write(out, (json.dumps([code, cpu, memory * 1024, text]) + "\n").encode())


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
