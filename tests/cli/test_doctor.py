"""The self-test passes here, and fails where something is wrong."""

from __future__ import annotations

import pytest
from commands import Answer, Captured, run

import laserpath
from laserpath.physics.dose import DoseModel

CHECKS = {"dose", "gradient", "cured width", "G-code"}


def test_all_is_well_here(capsys: Captured) -> None:
    assert run("doctor") == 0
    printed = capsys.readouterr().out
    assert f"laserpath     {laserpath.__version__}" in printed
    assert printed.count("good ") == len(CHECKS)
    assert "taichi cache" in printed


def test_as_json(answer: Answer) -> None:
    content = answer("doctor")
    assert content["good"] is True
    assert {check["name"] for check in content["checks"]} == CHECKS
    assert all(check["error"] <= check["limit"] for check in content["checks"])


def test_a_dose_that_is_off_is_found(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    true_dose = DoseModel.dose
    monkeypatch.setattr(DoseModel, "dose", lambda self, path: 1.01 * true_dose(self, path))
    assert run("doctor") == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG"))
    assert "dose" in line


def test_a_failure_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no device\nat all")

    monkeypatch.setattr(DoseModel, "line_gradient", fail)
    assert run("doctor") == 1
    assert "WRONG gradient: no device at all" in capsys.readouterr().out
