"""Each test runs once: the choices of the Makefile hold every test in one of the four sets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import tools
from hypothesis import settings
from sets import ALL_EXAMPLES, MARKS, OLDEST, QUICK_EXAMPLES, examples, few, oldest, only_one, sort, thorough

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETTINGS = PROJECT["tool"]["pytest"]["ini_options"]


def choice(target: str) -> str:
    """What a target of the Makefile chooses by `-m`; without it, what pyproject.toml does."""
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    found = re.search(r"-m (?!pytest|pip|venv)(?:'([^']+)'|(\w+))", recipe)
    return (found[1] or found[2]) if found else SETTINGS["addopts"][SETTINGS["addopts"].index("-m") + 1]


@pytest.mark.parametrize("mark", [None, *MARKS])
def test_every_test_is_chosen_by_one_command(mark: str | None) -> None:
    names = {name: name == mark for name in MARKS}
    commands = ("test", "test-slow", "test-tools", "test-parity")
    chosen = [command for command in commands if eval(choice(command), {}, names)]
    assert chosen == [f"test-{mark}" if mark else "test"]
    assert choice("test-guards") == choice("test-slow")
    assert choice("test-lower") == choice("test")


def test_everything_is_run_before_a_release() -> None:
    (recipe,) = re.findall(r"^test-all:\n((?:\t.*\n)+)", MAKEFILE, re.M)
    ran = re.findall(r"\$\(MAKE\) ([\w-]+)", recipe)
    assert {"test", "test-slow", "test-tools", "test-parity", "test-lower", "docs", "fuzz"} == set(ran)


def test_what_guards_a_machine_is_there() -> None:
    (guards,) = re.findall(r"^GUARDS := (.*)", MAKEFILE, re.M)
    assert [place for place in guards.split() if not (ROOT / place).exists()] == []


def test_the_sets_are_the_marks() -> None:
    assert [re.match(r"\w+", mark)[0] for mark in SETTINGS["markers"]] == list(MARKS)


def test_the_oldest_dependencies_are_all_tested() -> None:
    names = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"]}
    assert set(OLDEST) == names
    assert [file for file in oldest() if not (ROOT / file).is_file()] == []


def test_no_test_is_in_two_sets() -> None:
    only_one("test", ["parametrize", "slow"])
    with pytest.raises(pytest.UsageError, match="is marked slow and tools: a test is in one set"):
        only_one("test", ["tools", "slow"])


def test_who_needs_a_program_is_among_the_tools() -> None:
    given: list[str] = []
    item = SimpleNamespace(
        nodeid="test", fixturenames=["browser", "need"], get_closest_marker=lambda name: None,
        add_marker=lambda mark: given.append(mark.name), iter_markers=list,
    )  # fmt: skip
    sort(item)
    assert given == ["tools"]


def test_random_tests_run_again_among_the_slow_with_all_their_examples() -> None:
    assert [thorough(choice(f"test{kind}")) for kind in ("", "-slow", "-guards")] == [False, True, True]
    given: list[str] = []
    item = SimpleNamespace(
        nodeid="test", obj=SimpleNamespace(is_hypothesis_test=True), get_closest_marker=lambda name: None,
        add_marker=lambda mark: given.append(mark.name), iter_markers=list,
    )  # fmt: skip
    sort(item)
    assert given == []
    sort(item, thorough=True)
    assert given == ["slow"]
    assert few(ALL_EXAMPLES) == examples(ALL_EXAMPLES).max_examples == settings().max_examples
    assert settings().max_examples in (QUICK_EXAMPLES, ALL_EXAMPLES)
    assert few(3) == 3 and few(12) == max(3, 12 * settings().max_examples // ALL_EXAMPLES)


def test_a_missing_program_fails_the_test_and_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match=r"^broadwayd is not .* libgtk-3-bin: `make tools`"):
        tools.path_of("broadwayd")


def test_make_tools_installs_every_program() -> None:
    (programs,) = re.findall(r"^PROGRAMS := (.*)", MAKEFILE, re.M)
    assert dict(word.split(":") for word in programs.split()) == tools.PACKAGES


def test_the_ci_hides_programs_and_leaves_all_else_in_the_path(tmp_path: Path) -> None:
    for place, program in (("one", "inkscape"), ("one", "other"), ("two", "third")):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / program).write_text("#!/bin/sh\n")
        (tmp_path / place / program).chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two"), os.environ["PATH"]])
    done = subprocess.run(
        [ROOT / ".ci" / "without", tmp_path / "links", *tools.PACKAGES], env=os.environ | {"PATH": path},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = {
        name: shutil.which(name, path=done.stdout.strip())
        for name in (*tools.PACKAGES, "sh", "other", "third")
    }
    assert [name for name, place in found.items() if place is None] == list(tools.PACKAGES)
    assert found["third"] == str(tmp_path / "two" / "third")


def test_modules_of_tests_have_names_of_their_own() -> None:
    """All folders are on one path: of two modules of a name, one would be imported for both."""
    names = [
        file.name
        for file in Path(__file__).parent.rglob("*.py")
        if not file.name.startswith(("__", "conftest"))
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []
