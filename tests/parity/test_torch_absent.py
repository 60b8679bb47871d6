"""PyTorch is optional: nothing but `laserpath.operators.dose.torch` needs it, and that says how to get it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import laserpath.physics.dose

WITHOUT = "import sys; sys.modules['torch'] = None; "


def python(program: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A new interpreter, since this one may hold torch already."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=cwd, timeout=120, check=False
    )


@pytest.mark.parity
def test_the_dose_does_not_import_torch():
    """Where torch is, or this would say nothing."""
    run = python(
        "import sys, laserpath, laserpath.physics.dose; print('torch' in sys.modules, 'jax' in sys.modules)"
    )
    assert (run.stdout.split(), run.stderr) == (["False", "False"], "")


@pytest.mark.slow
def test_the_dose_works_without_torch():
    run = python(WITHOUT + "import laserpath.physics.dose; print(laserpath.physics.dose.DoseModel.__name__)")
    assert (run.stdout.strip(), run.returncode) == ("DoseModel", 0)


def test_without_torch_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "laserpath.operators.dose.torch"
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ModuleNotFoundError) as error:
        importlib.import_module(name)
    assert str(error.value) == (f"{name} needs PyTorch, which is not installed: pip install laserpath[torch]")


@pytest.mark.slow
def test_in_its_own_folder_it_does_not_pass_for_pytorch():
    """There `import torch` finds our file, because the current folder comes first."""
    run = python("import torch", cwd=Path(laserpath.physics.dose.__file__).parent)
    assert run.stderr.strip().splitlines()[-1] == (
        "ImportError: this is laserpath/operators/dose/torch.py, not PyTorch: start Python in another folder"
    )
