"""A volume that light passes through: differentiable pictures of one, and the resin that cures in depth.

`marcher` renders a volume from several `camera`s, and has the gradients by both; `kernels` are the loops.
"""

from laserpath.volume.camera import CameraGradient, Cameras
from laserpath.volume.marcher import March, RayMarcher, RenderGradient

__all__ = ["CameraGradient", "Cameras", "March", "RayMarcher", "RenderGradient"]
