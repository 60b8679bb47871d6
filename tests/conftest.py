"""For all tests: which set each is in, the programs that some need, and how hypothesis tries.

A random test that fails prints how to have its example again: `@reproduce_failure`, and under the name of
the test the seed for `--hypothesis-seed`. The fast set and the CI have the same examples on
every run, `make test-slow` has others each time. No test has a deadline.

Geometry has no operators here: `a - b` has no grid, and is wrong by whole areas where edges almost meet.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any, NoReturn

import pytest
import sets
import tools
from hypothesis import settings
from shapely.geometry.base import BaseGeometry

from laserpath.base import decode, isolated
from laserpath.design.scene import Scene
from laserpath.planning import Progress, pipeline
from laserpath.planning.unconstrained import Effort
from laserpath.report import pictures
from laserpath.types.results import Limit

ROUGH = 6
"""Evaluations of the unconstrained optimum of a plan in the fast set."""

pytest.register_assert_rewrite("readers.compared")


def pytest_configure(config: pytest.Config) -> None:
    """Before the tests are imported, which ask for their numbers of examples."""
    gc.disable()  # until they are: next to nothing of what importing makes is garbage
    gc.set_threshold(20_000)
    settings.register_profile(
        "laserpath",
        deadline=None,
        print_blob=True,
        derandomize=bool(os.environ.get("CI")) or not _is_thorough(config),
        max_examples=sets.ALL_EXAMPLES if _is_thorough(config) else sets.QUICK_EXAMPLES,
    )
    settings.load_profile("laserpath")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what runs in the background like that, and then no command would heed Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # `nohup` leaves this ignored, and then no command would end with its terminal. Windows has no SIGHUP.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _is_thorough(config: pytest.Config) -> bool:
    return sets.thorough(config.getoption("markexpr"))


def _refuse(one: object, other: object) -> NoReturn:
    raise AssertionError("an operator on geometry has no grid: use base.overlay, in tests shapes.py")


for _operator in ("__and__", "__or__", "__sub__", "__xor__"):
    setattr(BaseGeometry, _operator, _refuse)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` chooses."""
    for item in items:
        sets.sort(item, thorough=_is_thorough(config))
    sets.longest_first(items)


def pytest_collection_finish() -> None:
    """What lives until the end, modules and thousands of tests, is not looked through for garbage again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def limits_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each worker computes the unconstrained optimum of a scene once: it depends on nothing else, and takes
    up to half of a small plan's time. In the fast set it is a rough one.

    tests/planning/test_unconstrained.py and tests/report/test_report_limit.py compute them themselves.
    """
    known: dict[bytes, Limit | None] = {}
    real = pipeline.affordable_limit
    optimum = pipeline.unconstrained_optimum
    effort = Effort() if _is_thorough(request.config) else Effort(evaluations=ROUGH)

    def remembered(scene: Scene, progress: Callable[[Progress], None] | None = None) -> Limit | None:
        key = pickle.dumps((scene.design.area.wkb, scene.grid, scene.spot, scene.resin))
        if key not in known:
            known[key] = real(scene, progress)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "affordable_limit", remembered)
        patch.setattr(
            pipeline,
            "unconstrained_optimum",
            lambda scene, loss, **given: optimum(scene, loss, effort, **given),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def packages_once() -> Iterator[None]:
    """The entry points of each search path are looked up once: every file that is read, and every spot that
    is named, asks for them, and Python would go through all installed packages each time.
    """
    known: dict[tuple[object, ...], metadata.EntryPoints] = {}
    real = metadata.entry_points

    def remembered(**chosen: Any) -> metadata.EntryPoints:
        key = (*sys.path, None, *sorted(chosen.items()))
        if key not in known:
            known[key] = real(**chosen)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "entry_points", remembered)
        yield


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """The path of a program beside Python; who asks for this is run by `make test-tools` alone."""
    return tools.path_of


@pytest.fixture
def unillustrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without their pictures, which take most of the time of a small plan: for tests of all else.

    The pictures are drawn in tests/report, and under `slow` for every command of the docs.
    """
    for name in ("maps", "enlarged", "errors", "distributions", "courses", "unprintable"):
        monkeypatch.setattr(pictures, name, lambda *_: ())


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images, decoded in this process; test_limits and `slow` use the real subprocess."""

    def run(arguments: list[str]) -> None:
        try:
            decode.write(*arguments[:3], int(arguments[3]))
        except MemoryError:
            raise isolated.no_memory(0) from None

    monkeypatch.setattr(isolated, "_run", run)
