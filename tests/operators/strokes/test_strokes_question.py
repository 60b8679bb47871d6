"""The faults of a painter whose gradients were zero, each written anew, and what it is now."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import natural_painter
import numpy as np
import pytest

from laserpath.operators.strokes import Canvas, StrokePainter, Strokes

SHAPE = (14, 20)
SLOPE = np.random.default_rng(1).normal(size=SHAPE)
STROKES = np.array([[4.3, 4.2, 14.6, 8.1, 4.3, 0.9, 0.8], [5.2, 9.4, 13.7, 3.3, 3.4, 0.3, 0.6]])
"""a, b, width, grey, alpha of each."""
GEOMETRY, GREY, ALPHA = slice(0, 5), 5, 6
_IN_TAICHI = re.compile(r"taichi\.lang\.exception|\.cpp:\w+@\d+|[Tt]aichi JIT")
"""What Taichi says of an error of its own, so that a mistake in the file does not pass as the fault."""


def ours(rows=STROKES):
    """(picture, ∂/∂rows) of the sum of the picture · SLOPE."""
    points, width, grey, alpha = rows[:, :4].reshape(-1, 2, 2), rows[:, 4], rows[:, 5:6], rows[:, 6]
    given, painter = Strokes(points, width, grey, alpha), StrokePainter(Canvas(SHAPE, (0.0,)), "f64")
    found = painter.gradient(given, SLOPE[..., None])
    slopes = np.column_stack([found.points.reshape(-1, 4), found.width, found.colour, found.alpha])
    return painter.paint(given)[..., 0], slopes


@pytest.mark.slow(5)
def test_loops_over_a_stroke_s_own_bounds_have_no_gradient_by_its_ends_and_width():
    """Bounds that are computed in an outer loop: Taichi's gradient is 0, or the process crashes, not always
    the same of both. It warns that float bounds are cast, but whole ones fail alike.
    """
    request = json.dumps([STROKES.tolist(), SLOPE.tolist()])
    run = subprocess.run(
        [sys.executable, natural_painter.__file__, request],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if run.returncode == 0:
        picture, gradient = (np.array(one) for one in json.loads(run.stdout.splitlines()[-1]))
        np.testing.assert_allclose(picture, ours()[0], atol=1e-12)
        np.testing.assert_array_equal(gradient[:, GEOMETRY], 0)
        assert "Casting range_for boundary values" in run.stderr
    else:
        killed = run.returncode < 0 or run.returncode >= 0xC0000000  # by a signal; an exception of Windows
        assert killed or _IN_TAICHI.search(run.stderr), run.stderr
    assert np.abs(ours()[1][:, GEOMETRY]).max() > 1


@pytest.mark.slow
def test_a_canvas_that_is_written_over_has_a_wrong_gradient():
    """Whole bounds do not help. The derivative by the share is the stroke's grey less what was beneath it;
    backwards Taichi reads the canvas again, where the finished picture is now.
    """
    picture, gradient = natural_painter.natural_gradient(
        natural_painter.over_whole_rows, STROKES, SHAPE, SLOPE
    )
    expected, right = ours()
    np.testing.assert_allclose(picture, expected, atol=1e-12)
    apart = np.abs(gradient - right).max(axis=0)
    assert (apart[GEOMETRY] > 0.05 * np.abs(right[:, GEOMETRY]).max(axis=0)).all()  # the fault
    assert apart[ALPHA] > 0.5 * np.abs(right[:, ALPHA]).max()
    assert apart[GREY] < 1e-12  # needs nothing of the canvas


def test_ours_is_that_of_differences():
    _, right = ours()
    found = np.zeros_like(right)
    for at in np.ndindex(right.shape):
        step = np.zeros_like(STROKES)
        step[at] = 1e-6
        found[at] = ((ours(STROKES + step)[0] - ours(STROKES - step)[0]) * SLOPE).sum() / 2e-6
    np.testing.assert_allclose(right, found, atol=1e-6 * np.abs(found).max())
