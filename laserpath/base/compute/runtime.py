"""Taichi, started once and quietly, and kernels that any thread may call.

Limits of Taichi 1.7, each worked around or refused:

- A process has one device: the first that is requested. Another one is refused.
- A kernel is compiled only on the thread that started Taichi, so that is a thread of our own; once
  compiled it may be called from every thread, one at a time. On CUDA only that thread, and one that has run a
  kernel, may wait for the GPU or end Taichi.
- A forked child has Taichi's locks but not its threads, and would wait for ever. It is refused.
- Its Linux wheels need a library of the system, and its import reads much source (`quick_frames`).
- Where the folder of its cache of compiled kernels cannot be made, it crashes with a segmentation fault when
  the program ends, even if it was told not to cache; then it gets a folder that exists. It protects its index
  with a file `ticache.lock`; a process that is killed while it saves leaves that file, and nothing is cached
  any more.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import inspect
import io
import linecache
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from laserpath.base.arrays import Floats
from laserpath.base.checks import one_of
from laserpath.base.errors import InputError

LIBRARY = "libX11.so.6"
"""Taichi's Linux wheels are linked with it, for windows that are not used here; a container may lack it."""


def check_library(name: str = LIBRARY) -> None:
    """Raise InputError on a Linux that lacks the library, instead of Taichi's traceback."""
    try:
        ctypes.CDLL(name)
    except OSError:
        raise InputError(
            f"Taichi needs the system's library {name}, which is not here; on Debian and Ubuntu: "
            "apt install libx11-6; on Fedora: dnf install libX11"
        ) from None


@contextmanager
def quick_frames() -> Iterator[None]:
    """While it is open, `inspect.getframeinfo` reads a frame's line without searching for its module.

    Taichi reads that line of each function that it decorates, to see if it is in a class: 0.2 s of an import.
    """
    searching = inspect.getframeinfo

    def quick(frame: Any, context: int = 1) -> inspect.Traceback:
        code, number = frame.f_code, frame.f_lineno
        line = linecache.getline(code.co_filename, number)
        return inspect.Traceback(code.co_filename, number, code.co_name, [line], 0)

    inspect.getframeinfo = quick
    try:
        yield
    finally:
        inspect.getframeinfo = searching


# Taichi prints a banner at import and a line at init, on stdout, which would spoil `--json`.
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
os.environ.setdefault("TI_LOG_LEVEL", "critical")  # its errors are exceptions besides

if sys.platform == "linux":
    check_library()

with quick_frames():
    import taichi as ti
    from taichi.lang import impl, kernel_impl
    from taichi.lang.ast.ast_transformer_utils import ASTTransformerContext

__all__ = [
    "CHUNK", "DEVICES", "POSITIONS", "REAL", "REALS", "ROWS", "Kernel", "cpu_count", "device",
    "on_processors", "own_copy", "start", "strips_of", "ti", "use_processors", "wait",
]  # fmt: skip


def _remembered(position: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """The place of a node of a kernel's source in words, which is written once for each place.

    Taichi has these words ready for an error at every node that it visits, and visits a node anew in each
    turn of an unrolled loop and each call of a function: they took a third of the time of loading a kernel
    from its cache, 0.4 s of every plan.
    """
    known: dict[tuple[object, ...], str] = {}

    @wraps(position)
    def remembered(context: Any, node: Any) -> str:
        body = getattr(node, "body", None)
        key = (
            context.file, context.func.func.__name__, context.lineno_offset, context.indent, type(node),
            node.lineno, node.col_offset, node.end_lineno, node.end_col_offset,
            body[0].lineno if isinstance(body, list) and body else None,
            # A notebook may define another function under the same name, at the same place.
            *context.src[node.lineno - 1 : node.end_lineno],
        )  # fmt: skip
        if key not in known:
            known[key] = position(context, node)
        return known[key]

    return remembered


ASTTransformerContext.get_pos_info = _remembered(ASTTransformerContext.get_pos_info)


def _quickly(in_class: Callable[..., bool]) -> Callable[..., bool]:
    """Whether a function that Taichi decorates is in a class; as it asks it costs 0.3 s of every import."""

    @wraps(in_class)
    def quick(level_of_class_stackframe: int) -> bool:
        with quick_frames():
            return in_class(level_of_class_stackframe + 1)  # this function is one more level

    return quick


kernel_impl._inside_class = _quickly(kernel_impl._inside_class)

DEVICES = ("cpu", "cuda", "vulkan", "metal")
"""'vulkan' has run on a software renderer only; 'metal' has never been run."""

CHUNK = 512
"""Iterations of an outer loop that Taichi gives to one thread; a strip has as many, so that one thread owns
it."""

REAL = {"f32": ti.f32, "f64": ti.f64}
"""Taichi's type of each precision."""

REALS, POSITIONS = ti.types.ndarray(ti.f64, 1), ti.types.ndarray(ti.f64, 2)
ROWS = ti.types.ndarray(ti.i32, 1)
"""Annotations of kernel arguments: (M,) values, (M, 2) points, (T + 1,) first rows of strips."""

_PATIENCE = 10.0
"""s that the end of Python waits for a kernel in another thread; after that nothing is cached."""

_state = SimpleNamespace(lock=threading.RLock(), device=None, compiler=None, forked=False, processors=None)


def use_processors(count: int | None) -> None:
    """Let this process use that many processors, whatever the machine has; None: all of them."""
    _state.processors = count


@contextmanager
def on_processors(count: int) -> Iterator[None]:
    """While it is open, this process uses that many processors, and then those of before."""
    before = _state.processors
    use_processors(count)
    try:
        yield
    finally:
        use_processors(before)


def cpu_count() -> int:
    """Processors that this process may use, not all that the machine has."""
    if _state.processors is not None:
        return int(_state.processors)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def start(device: str = "auto") -> str:
    """Start Taichi if needed; return the device. 'auto': the one that runs already, or else the CPU."""
    one_of("device", device, ("auto", *DEVICES))
    with _state.lock:
        if _state.forked:
            raise InputError(
                "Taichi was started before this process was forked and cannot run in the child; "
                "start workers with multiprocessing's 'spawn' method"
            )
        if _state.device is None:
            _state.device = _adopt() or _init("cpu" if device == "auto" else device)
        if device not in ("auto", _state.device):
            raise InputError(
                f"device {device!r} is not the {_state.device!r} on which Taichi runs already: "
                "one device a process"
            )
        return str(_state.device)


def device() -> str:
    """The device that Taichi runs on; starts it on the CPU if need be."""
    return start()


def _adopt() -> str | None:
    """The device of a Taichi that the host program started itself; its `ti.init` stands."""
    if impl.get_runtime().prog is None:
        return None
    arch = ti.cfg.arch
    return "cpu" if arch in (ti.x64, ti.arm64) else str(arch).rpartition(".")[2]


class _Thread:
    """A thread that does one thing after the other, also when Python ends, which an executor's does not."""

    def __init__(self) -> None:
        self._tasks = SimpleQueue[tuple[Future[Any], Callable[[], Any]]]()
        threading.Thread(target=self._work, name="taichi", daemon=True).start()

    def do(self, function: Callable[[], Any]) -> None:
        """Do that, and wait for it."""
        done = Future[Any]()
        self._tasks.put((done, function))
        done.result()

    def _work(self) -> None:
        while True:
            done, function = self._tasks.get()
            try:
                done.set_result(function())
            except BaseException as error:  # noqa: BLE001 it is raised where it is waited for
                done.set_exception(error)
            del done, function  # what they hold is not kept until the next


def _init(device: str) -> str:
    compiler = _Thread()
    options = {"enable_fallback": False, **cache_options(impl.default_cfg())}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            compiler.do(
                partial(ti.init, arch=getattr(ti, device), cpu_max_num_threads=cpu_count(), **options)
            )
    except RuntimeError as error:
        if "emory" in str(error):  # it reserves 1 GiB at once
            raise MemoryError from error
        raise InputError(f"device {device!r} cannot be used on this machine") from error
    _state.compiler = compiler
    atexit.register(_keep)
    return device


def wait() -> None:
    """Wait until the device has done what kernels gave it to do."""
    with _state.lock:
        start()
        if _state.compiler is None:
            ti.sync()
        else:
            _state.compiler.do(ti.sync)


def _keep() -> None:
    """Let Taichi write what it has compiled into its cache; no kernel runs afterwards.

    It does that itself only when its program object is freed, which at the end of Python may never happen:
    what pytest keeps, or a frozen garbage collector, is not.
    """
    if not _state.forked and _state.lock.acquire(timeout=_PATIENCE) and impl.get_runtime().prog is not None:
        _state.compiler.do(impl.get_runtime().prog.finalize)


def _in_child() -> None:
    _state.lock = threading.RLock()  # the parent may have held it
    _state.forked = _state.device is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class Kernel:
    """A Taichi kernel that any thread may call: compiled on Taichi's thread, run on the caller's.

    A function that calls kernels will do as well. By default floats that the code spells out, such as `0.1`,
    are f32 (Taichi's `default_fp`). literals_as_arrays: they are f64 where an array is, f32 where none is.
    """

    def __init__(self, kernel: Callable[..., Any], *, literals_as_arrays: bool = False) -> None:
        self._kernel = _in_precision_of_arrays(kernel) if literals_as_arrays else kernel
        self._compiled: set[tuple[object, ...]] = set()

    def __call__(self, *arguments: Any) -> None:
        """Run it, and wait for it."""
        with _state.lock:
            start()
            kinds = (*map(_kind, arguments),)
            if kinds in self._compiled or _state.compiler is None:
                self._kernel(*arguments)
            else:
                _state.compiler.do(partial(self._kernel, *arguments))
                self._compiled.add(kinds)


def own_copy(kernel: Any) -> Any:
    """A kernel of the same code, which shares nothing compiled with `kernel`; the same one each time.

    What is compiled depends on `default_fp`, of which Taichi does not keep count.
    """
    if kernel not in _copies:
        _copies[kernel] = ti.kernel(kernel.__wrapped__)
    return _copies[kernel]


_copies: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _in_precision_of_arrays(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, during which Taichi's default precision is that of the arrays: it may compile."""

    def call(*arguments: Any) -> None:
        double = any(str(getattr(one, "dtype", "")).endswith(("float64", "f64")) for one in arguments)
        runtime = impl.get_runtime()
        configuration, before = runtime.prog.config(), runtime.default_fp
        try:
            # The first is for Python's floats, the second for quotients of whole numbers.
            runtime.default_fp = configuration.default_fp = ti.f64 if double else ti.f32
            kernel(*arguments)
        finally:
            runtime.default_fp = configuration.default_fp = before

    return call


def _kind(argument: Any) -> tuple[object, ...]:
    """What Taichi compiles a kernel anew for, if the kernel's annotations leave it open."""
    needs_gradient = argument.grad is not None if isinstance(argument, ti.Ndarray) else None
    shape = getattr(argument, "shape", ())
    return (
        type(argument),
        getattr(argument, "dtype", None),
        len(shape),
        0 in shape,
        getattr(argument, "requires_grad", needs_gradient),
    )


_MANY_POINTS = 50_000
"""Points from which each processor takes a strip: fewer are spread sooner than a second thread has begun."""


def strips_of(y: Floats, origin: float, pitch: float, height: int) -> NDArray[np.int32]:
    """First rows of strips with about equally many points, and the end: (T + 1,); of many one a processor.

    y: (M,) of the points, mm.  origin, pitch: of the rows, mm.  height: rows.
    """
    count = cpu_count() if len(y) >= _MANY_POINTS else 1
    if count == 1:
        return np.array([0, height], np.int32)
    some = (y[:: max(1, len(y) // 4096)] - origin) / pitch
    inner = np.quantile(some, np.arange(1, count) / count) if len(some) else np.zeros(0)
    return np.concatenate([[0], inner, [height]]).astype(np.int32)


_STALE = 600.0
"""s, age from which a lock belongs to no process: saving takes less than a second."""


def cache_folder(config: Any) -> Path:
    """The folder of the cache by Taichi's configuration and environment."""
    return Path(os.environ.get("TI_OFFLINE_CACHE_FILE_PATH") or config.offline_cache_file_path)


def cache_options(config: Any) -> dict[str, Any]:
    """The options of `ti.init` with which it caches where it can, and else does without."""
    place = cache_folder(config)
    if _can_hold_files(place):
        _remove_stale_locks(place)
        return {"offline_cache": True}
    existing = next(one for one in place.absolute().parents if one.is_dir())
    return {"offline_cache": False, "offline_cache_file_path": str(existing)}


def _can_hold_files(place: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is missing."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _remove_stale_locks(place: Path) -> None:
    for lock in place.rglob("*.lock"):
        with contextlib.suppress(OSError):
            if time.time() - lock.stat().st_mtime > _STALE:
                lock.unlink()
