"""A small server that reads GDSII and OASIS with gdstk in a child of its own for each file.

`laserpath.design.gds.isolate` starts a new Python for each file, which takes 0.2 s. This process has gdstk and
NumPy imported already and forks, which takes some ms; what the child runs is the same: `extract.main`. A line
of JSON in, the arguments; a line out: exit code, s of the processor, bytes of memory, stderr.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import tempfile
import traceback


def serve(script: str, seconds: int) -> None:
    """Answer requests until stdin ends. seconds: of the processor, after which a child is killed."""
    spec = importlib.util.spec_from_file_location("extract", script)
    assert spec is not None and spec.loader is not None
    extract = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extract)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryFile() as said:
        for line in sys.stdin:
            said.seek(0)
            said.truncate()
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
                    extract.main(*json.loads(line))
                    code = 0
                except BaseException:  # noqa: BLE001  as Python itself ends with any
                    os.write(2, traceback.format_exc().encode("utf-8", "replace"))
                finally:
                    os._exit(code)
            _, status, used = os.wait4(child, 0)
            said.seek(0)
            text = said.read().decode("utf-8", "replace")[-4000:]
            cpu = used.ru_utime + used.ru_stime
            answer = [os.waitstatus_to_exitcode(status), cpu, used.ru_maxrss * 1024, text]
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
