"""The dose as a layer of PyTorch (`pip install laserpath[torch]`): a network can be trained through it.

    D = DoseLayer(grid, spot)(xy, power, speed),   D(x) = Σ_k power_k/speed_k ∫_segment_k h(|x − γ(s)|) ds

xy: (N+1, 2) mm, power: (N,) mW, speed: (N,) mm/s, D: (rows, columns) mJ/mm². In `backward`, g = ∂L/∂D
comes from torch and `DoseModel.gradient` gives ∂L/∂(xy, power, speed), the adjoint written by hand.

Only the inputs are kept between the calls, and each call writes its own arrays, so torch adds up gradients as
usual: a layer may be called twice, share its inputs with another, or go backward again over a retained graph.
The adjoint has no derivative of its own; a second one is refused.

Tensors on the CPU share their memory with NumPy. Those on another device are copied to the host's memory, and
the result is copied back to the input's device, in its dtype. The engine computes in its own `precision`:
'f64' for `gradcheck`. `torch.compile` does not compile the layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.dose.engines import TOLERANCE
from laserpath.dose.model import DoseModel
from laserpath.types import Grid, Spot, Toolpath

if __name__ == "torch":  # a script's own folder comes first in Python's search path
    raise ImportError("this is laserpath/dose/torch.py, not PyTorch: start Python in another folder")
try:
    import torch
    from torch.autograd.function import once_differentiable
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "torch":
        raise
    raise ModuleNotFoundError(
        "laserpath.dose.torch needs PyTorch, which is not installed: pip install laserpath[torch]",
        name="torch",
    ) from error

__all__ = ["DoseLayer"]


class DoseLayer(torch.nn.Module):
    """Toolpath tensors → dose (rows, columns), mJ/mm². It has no parameters of its own.

    The options are those of `DoseModel`; `device` is the engine's, independent of the tensors' device.
    """

    def __init__(
        self,
        grid: Grid,
        spot: Spot,
        *,
        method: str = "auto",
        device: str = "auto",
        precision: str = "f32",
        tolerance: float = TOLERANCE,
    ) -> None:
        super().__init__()
        self.model = DoseModel(
            grid, spot, method=method, device=device, precision=precision, tolerance=tolerance
        )

    @torch.compiler.disable
    def forward(self, xy: torch.Tensor, power: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
        """Dose of moves between the vertices xy: (N+1, 2) mm, at power: (N,) mW and speed: (N,) mm/s.

        A move of power 0 is dark, and has no gradient. Raises for a power below 0, a speed not above 0,
        numbers that are not finite, and exposure outside the grid.
        """
        _checked(xy=xy, power=power, speed=speed)
        return _Dose.apply(xy, power, speed, self.model)

    def extra_repr(self) -> str:
        """The text that `print(layer)` shows between the brackets."""
        return f"{self.model.grid}, {self.model.spot}"


class _Dose(torch.autograd.Function):
    """The dose, and its adjoint."""

    @staticmethod
    def forward(
        ctx: Any, xy: torch.Tensor, power: torch.Tensor, speed: torch.Tensor, model: DoseModel
    ) -> torch.Tensor:
        ctx.save_for_backward(xy, power, speed)
        ctx.model = model
        dose = model.dose(_toolpath(xy, power, speed))
        return _tensor(dose, xy.device, _common_dtype(xy, power, speed))

    @staticmethod
    def backward(ctx: Any, d_dose: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gradient = _Adjoint.apply(d_dose, *ctx.saved_tensors, ctx.model)
        pairs = zip(gradient, ctx.needs_input_grad, strict=False)
        return (*(one if needed else None for one, needed in pairs), None)


class _Adjoint(torch.autograd.Function):
    """∂L/∂(xy, power, speed). A second derivative, with respect to ∂L/∂D or the path, is refused."""

    @staticmethod
    def forward(
        ctx: Any,
        d_dose: torch.Tensor,
        xy: torch.Tensor,
        power: torch.Tensor,
        speed: torch.Tensor,
        model: DoseModel,
    ) -> tuple[torch.Tensor, ...]:
        gradient = model.gradient(_toolpath(xy, power, speed), _array(d_dose))
        arrays = (gradient.xy, gradient.power, gradient.speed)
        return tuple(
            _tensor(a, one.device, one.dtype) for a, one in zip(arrays, (xy, power, speed), strict=True)
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[None, ...]:
        raise RuntimeError("DoseLayer has no second derivative, so its gradient cannot be differentiated")


def _checked(**tensors: torch.Tensor) -> None:
    """Tensors of real numbers, all on one device."""
    for name, one in tensors.items():
        if not isinstance(one, torch.Tensor):
            raise InputError(f"{name} is of type {type(one).__name__}, but must be a torch.Tensor")
        if one.is_complex():
            raise InputError(f"{name} is of dtype {one.dtype}, but must be real")
    devices = {name: str(one.device) for name, one in tensors.items()}
    if len(set(devices.values())) > 1:
        where = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise InputError(f"tensors must be on one device, but are not: {where}")


def _toolpath(xy: torch.Tensor, power: torch.Tensor, speed: torch.Tensor) -> Toolpath:
    return Toolpath(_array(xy), _array(power), _array(speed))


def _array(tensor: torch.Tensor) -> Floats:
    """The tensor's numbers in host memory; the same memory for float32 and float64 on the CPU."""
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.to(torch.float64)  # NumPy has no bfloat16, and float16 ends at 65504
    return tensor.numpy(force=True)


def _tensor(array: Floats, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """The array's memory as a tensor, copied only if device or dtype differ."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(device=device, dtype=dtype)


def _common_dtype(*tensors: torch.Tensor) -> torch.dtype:
    """The widest floating dtype of the tensors; torch's default if none is floating."""
    dtypes = [one.dtype for one in tensors if one.is_floating_point()]
    widest = dtypes[0] if dtypes else torch.get_default_dtype()
    for dtype in dtypes[1:]:
        widest = torch.promote_types(widest, dtype)
    return widest
