"""Options of the benchmark, and the one table at its end: `make bench`, `make bench SIZES=S`."""

from __future__ import annotations

from pathlib import Path

import figure
import pages
import pytest
import report
from bench_dose import Extras
from campaign import Campaign, Group, has_cuda
from machine import cores
from problem import SIZES
from rows import BY_KEY

DOCS = Path(__file__).parents[2] / "docs"
CAMPAIGN = pytest.StashKey[Campaign]()
EXTRAS = pytest.StashKey[Extras]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What to measure."""
    group = parser.getgroup("laserpath")
    group.addoption("--sizes", default="S,M,L", help="of S, M, L")
    group.addoption("--threads", default="1,all", help="numbers of threads, or all")
    group.addoption("--rows", default="", help=f"only these, by key: {', '.join(BY_KEY)}")
    group.addoption("--profile", default="gaussian", choices=("gaussian", "airy"), help="of the spot")
    group.addoption("--no-scaling", action="store_true", help="leave the log-log plot out")
    group.addoption("--write", action="store_true", help="write docs/performance.md and its picture")


def pytest_configure(config: pytest.Config) -> None:
    """One campaign for the whole run."""
    requested = config.getoption("--rows")
    keys = [key.strip() for key in requested.split(",")] if requested else None
    if unknown := sorted(set(keys or ()) - set(BY_KEY)):
        raise pytest.UsageError(f"--rows: {unknown} unknown; known: {', '.join(BY_KEY)}")
    config.stash[CAMPAIGN] = Campaign(config.getoption("--profile"), keys)
    config.stash[EXTRAS] = Extras()


def _sizes(config: pytest.Config) -> list[str]:
    chosen = [name.strip() for name in config.getoption("--sizes").replace(" ", ",").split(",") if name]
    if unknown := sorted(set(chosen) - set(SIZES)):
        raise pytest.UsageError(f"--sizes: {unknown} unknown; known: {', '.join(SIZES)}")
    return chosen


def _threads(config: pytest.Config) -> list[int]:
    every = len(cores())
    chosen = config.getoption("--threads").split(",")
    return sorted({every if one == "all" else min(int(one), every) for one in chosen})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for every row of every group."""
    config = metafunc.config
    if "group" in metafunc.fixturenames:
        campaign = config.stash[CAMPAIGN]
        groups = [Group(size, n) for size in _sizes(config) for n in _threads(config)]
        if has_cuda():
            groups += [Group(size, len(cores()), "cuda") for size in _sizes(config)]
        pairs = [(group, row.key) for group in groups for row in campaign.rows(group.size, group.device)]
        names = [f"{group.size}-{group.threads}-{group.device}-{key}" for group, key in pairs]
        metafunc.parametrize(("group", "key"), pairs, ids=names)
    elif "threads" in metafunc.fixturenames:
        metafunc.parametrize("threads", _threads(config))


@pytest.fixture
def campaign(pytestconfig: pytest.Config) -> Campaign:
    """All rows of the run."""
    return pytestconfig.stash[CAMPAIGN]


@pytest.fixture
def extras(pytestconfig: pytest.Config) -> Extras:
    """What is measured beside the rows."""
    return pytestconfig.stash[EXTRAS]


@pytest.fixture
def sizes(pytestconfig: pytest.Config) -> list[str]:
    """The requested ones."""
    return _sizes(pytestconfig)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The table; and the docs, if all of it was measured."""
    campaign, extras = config.stash[CAMPAIGN], config.stash[EXTRAS]
    if not campaign.groups:
        return
    text = report.document(campaign, extras.machines, extras.memories, _gpu(campaign))
    terminalreporter.write_line("")
    terminalreporter.write_line(text)
    if config.getoption("--write"):
        _write(terminalreporter, campaign, extras, text)


def _gpu(campaign: Campaign) -> str:
    if any(group.device == "cuda" for group in campaign.groups):
        return "On the GPU, times until the result is back in the host's memory:\n\n" + report.main_table(
            campaign, "cuda"
        )
    return "GPU: not run, there was none on this machine."


def _write(terminal: pytest.TerminalReporter, campaign: Campaign, extras: Extras, text: str) -> None:
    complete = {group.size for group in campaign.groups} == set(SIZES) and extras.curves
    if not complete or campaign.keys is not None or campaign.profile != "gaussian":
        terminal.write_line("docs/performance.md is left as it was: that was not the whole benchmark")
        return
    pages.write_between_markers(DOCS / "performance.md", "measured", text)
    figure.draw(extras.curves, DOCS / "img" / "scaling.svg")
