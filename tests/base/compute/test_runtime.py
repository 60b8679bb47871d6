"""Limits of Taichi, worked around or refused: threads, forks, a second device, a host's own Taichi.

Each in a process of its own, since Taichi is started once.
"""

import ast
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from laserpath import InputError
from laserpath.base.compute.runtime import ASTTransformerContext, check_library, strips_of

SET_UP = """
import numpy as np
from laserpath.physics.dose import engine
from laserpath.types import Grid, Spot

def dose():
    found = engine(Grid((0, 0), 0.02, (40, 50)), Spot(0.1)).spread(np.array([[0.4, 0.3]]), np.ones(1))
    assert found.argmax() == 15 * 50 + 20
    return found
"""


def run(script, **environment):
    """What a script prints, its errors last."""
    result = subprocess.run(
        [sys.executable, "-c", SET_UP + textwrap.dedent(script)],
        capture_output=True, text=True, timeout=100, env={**os.environ, **environment}, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


@pytest.mark.slow
def test_the_first_call_may_come_from_any_of_many_threads():
    assert (
        run("""
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: dose(), range(24)))
        print(all((one == found[0]).all() for one in found), (dose() == found[0]).all())
    """)
        == "True True\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_is_refused_with_the_advice_to_spawn():
    printed = run("""
        import os, warnings
        from laserpath.base.errors import InputError
        warnings.filterwarnings("ignore", ".* fork", DeprecationWarning)  # Python 3.12: threads and a fork
        dose()
        child = os.fork()
        if child == 0:
            try:
                dose()
            except InputError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        dose()
        print("parent goes on")
    """)
    assert "Taichi was started before this process was forked and cannot run in the child" in printed
    assert "start workers with multiprocessing's 'spawn' method" in printed
    assert printed.endswith("parent goes on\n")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_before_taichi_started_works():
    assert "True" in run("""
        import os
        child = os.fork()
        if child == 0:
            print(dose().max() > 0, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)


@pytest.mark.slow
def test_a_host_s_own_taichi_stands():
    assert "cpu True" in run("""
        import taichi as ti
        ti.init(arch=ti.cpu)
        from laserpath.base.compute.runtime import device
        print(device(), dose().max() > 0)
    """)


@pytest.mark.slow
def test_one_device_a_process():
    printed = run("""
        from laserpath.base.errors import InputError
        dose()
        for device in ("cuda", "vulkan", "tpu"):
            try:
                engine(Grid((0, 0), 0.02, (40, 50)), Spot(0.1), device=device)
            except InputError as error:
                print(error)
    """)
    assert "device 'tpu' is unknown; known: auto, cpu, cuda, vulkan, metal" in printed
    for device in ("cuda", "vulkan"):
        assert (
            f"device '{device}' is not the 'cpu' on which Taichi runs already: one device a process"
            in printed
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "precision", "within"),
    [("vulkan", "f32", 1e-5), ("cuda", "f32", 1e-5), ("cuda", "f64", 1e-12)],
)
def test_another_device_computes_what_the_cpu_does(device, precision, within):
    """Where there is such a device; that of Vulkan may be a renderer in software."""
    script = """
        from laserpath.base.errors import InputError
        rng = np.random.default_rng(0)
        xy, energy = rng.uniform(0.2, 0.6, (50, 2)), rng.uniform(0, 1, 50)
        d_dose = rng.normal(size=(40, 50))
        try:
            one = engine(
                Grid((0, 0), 0.02, (40, 50)), Spot(0.1), method="direct", device=DEVICE, precision=PRECISION
            )
            print(one.spread(xy, energy).sum(), *(abs(g).sum() for g in one.gather(xy, energy, d_dose)))
        except InputError as error:
            print(error)
    """.replace("PRECISION", repr(precision))
    found = run(script.replace("DEVICE", repr(device)))
    if "cannot be used" in found:
        pytest.skip(f"no device for {device}")
    numbers = [float(n) for n in found.split()[:3]]
    assert numbers == pytest.approx(
        [float(n) for n in run(script.replace("DEVICE", "'cpu'")).split()], rel=within
    )


@pytest.mark.slow
def test_nothing_is_printed_by_taichi():
    assert run("dose()") == ""


@pytest.mark.slow
def test_a_second_process_finds_the_kernels_compiled(tmp_path):
    """Taichi's cache on disk: less processor time than compiling."""
    timed = """
        import time
        started = time.process_time()
        dose()
        print(time.process_time() - started)
    """

    def seconds() -> float:
        return float(run(timed, TI_OFFLINE_CACHE_FILE_PATH=str(tmp_path)))

    cold = seconds()
    assert list(tmp_path.rglob("*.tic"))
    assert min(seconds() for _ in range(3)) < 0.8 * cold


def test_strips_hold_every_row_once_and_about_as_many_points():
    rows = np.random.default_rng(0).normal(50, 5, 100_000)
    strips = strips_of(rows / 4 - 3, -3.0, 0.25, 200)
    assert strips[0] == 0 and strips[-1] == 200 and (np.diff(strips) >= 0).all()
    shares = np.histogram(rows, strips)[0] / len(rows)
    assert shares.max() < 1.5 / len(shares)
    none = strips_of(np.zeros(0), 0.0, 1.0, 7)
    assert none[0] == 0 and none[-1] == 7


def test_a_library_that_taichi_lacks_is_named_with_its_package() -> None:
    with pytest.raises(InputError, match=r"needs the system's library libNone.so.6, .* apt install libx11-6"):
        check_library("libNone.so.6")


def test_places_in_a_kernel_s_source_are_named_as_taichi_names_them() -> None:
    """Remembered for all nodes, twice, and apart for another function that takes the place of the first."""
    places = ASTTransformerContext.get_pos_info
    for source in (
        "def kernel(x):\n    for k in range(3):\n        x[k] = (x[k] + 1,\n            2)\n    return x\n",
        "def kernel(y):\n    for k in range(4):\n        y[k] = (y[k] - 1,\n            3)\n    return y\n",
    ):
        context = SimpleNamespace(
            file="same.py", src=source.splitlines(), indent=0, lineno_offset=7,
            func=SimpleNamespace(func=SimpleNamespace(__name__="kernel")),
        )  # fmt: skip
        nodes = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.stmt | ast.expr)]
        assert len(nodes) > 15
        own = [places.__wrapped__(context, node) for node in nodes]
        assert own == [places(context, node) for node in nodes] == [places(context, node) for node in nodes]
        assert any("^" in words for words in own)


@pytest.mark.slow
def test_the_device_is_waited_for_before_the_first_kernel():
    """Taichi then makes what kernels share, which only the thread that started it may do."""
    assert run("from laserpath.base.compute import runtime; runtime.wait(); print('waited')") == "waited\n"


@pytest.mark.slow
def test_taichi_ends_on_the_thread_that_started_it():
    """The main thread of a process that ran no kernel has nothing on a GPU, and to end Taichi there fails."""
    printed = run("""
        import threading
        from types import SimpleNamespace
        from laserpath.base.compute import runtime
        runtime.start()
        begun, where = runtime.impl.get_runtime(), []
        ended = begun.prog.finalize
        begun.prog = SimpleNamespace(finalize=lambda: (print(threading.current_thread().name), ended()))
    """)
    assert printed == "taichi\n"
