"""The examples in docs/ run as they stand, one page from top to bottom; pages link to what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])


@BY_NAME
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    if any("torch" in example for example in examples):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)


@BY_NAME
def test_links_and_pictures_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
