"""`laserpath plugins`: what is installed, and what cannot be used."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from distributions import install, install_example

from laserpath.cli import main
from laserpath.cli.plugins.inkscape import FILES


def run(*words: str) -> str:
    """The text on stdout. click's own runner mixes it with stderr before 8.2."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error), pytest.raises(SystemExit) as caught:
        main(["plugins", *words])
    assert caught.value.code in (0, None), error.getvalue()
    return out.getvalue()


def test_where_nothing_is_installed_it_says_so() -> None:
    assert run() == run("list") == "No installed package adds anything to laserpath.\n"
    assert json.loads(run("list", "--json")) == []


def test_what_packages_add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install_example(tmp_path))
    rows = json.loads(run("list", "--json"))
    assert {(row["kind"], row["name"]) for row in rows} == {
        ("design reader", "hpgl"), ("starting curve", "diagonals"), ("spot", "ring"), ("dialect", "shop"),
    }  # fmt: skip
    assert {row["package"] for row in rows} == {"laserpath-example 1.0"}
    assert not any(row["trouble"] for row in rows)
    assert run().count("laserpath-example 1.0") == 4


def test_names_that_are_taken_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "one", {"laserpath.designs": {"svg": "one:x", "odd": "one:x"}})
    install(tmp_path, "two", {"laserpath.designs": {"odd": "two:x"}, "gcode.dialects": {"grbl": "two:x"}})
    monkeypatch.syspath_prepend(tmp_path)
    printed = run()
    assert printed.count("cannot be used: one of laserpath's own has this name") == 2
    assert printed.count("cannot be used: several packages have this name") == 2


def test_the_extension_goes_into_the_given_folder(tmp_path: Path) -> None:
    there = tmp_path / "a" / "folder"
    assert run("install", "inkscape", "--to", str(there)).split() == [str(there / name) for name in FILES]
    assert sorted(os.listdir(there)) == sorted(FILES)
