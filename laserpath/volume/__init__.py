"""A volume that light passes through: differentiable pictures of one, and the resin that cures in depth.

`marcher` renders a volume from several `camera`s, and has the gradients by both; `kernels` are the loops.
`as_operator` makes the marcher an operator for PyTorch and JAX. `depth` says how deep a path cures, and
`view` shows the part.
"""

from laserpath.volume.depth import CuredDepth, Turned, cured_depth, turned
from laserpath.volume.marcher import (
    CameraGradient,
    Cameras,
    March,
    RayMarcher,
    RenderGradient,
    marcher_operator,
)

__all__ = [
    "CameraGradient",
    "Cameras",
    "CuredDepth",
    "March",
    "RayMarcher",
    "RenderGradient",
    "Turned",
    "cured_depth",
    "marcher_operator",
    "turned",
]
