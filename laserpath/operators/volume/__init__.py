"""A volume that light passes through: differentiable pictures of one, and the resin that cures in depth.

`marcher` renders a volume from several cameras, has the gradients by both, and is an operator for PyTorch and
JAX; `kernels` are the loops. `depth` says how deep a path cures, and shows the part.
"""

from laserpath.operators.volume.depth import CuredDepth, Turned, cured_depth, turned
from laserpath.operators.volume.marcher import (
    CameraGradient,
    Cameras,
    March,
    RayMarcher,
    RenderGradient,
    marcher_operator,
)

__all__ = [
    "CameraGradient", "Cameras", "CuredDepth", "March", "RayMarcher", "RenderGradient", "Turned",
    "cured_depth", "marcher_operator", "turned",
]  # fmt: skip
