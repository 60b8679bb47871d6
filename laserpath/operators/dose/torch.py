"""The dose as a layer of PyTorch (`pip install laserpath[torch]`): a network can be trained through it.

    D = DoseLayer(grid, spot)(xy, power, speed),   D(x) = Σ_k power_k/speed_k ∫_segment_k h(|x − γ(s)|) ds

xy: (N+1, 2) mm, power: (N,) mW, speed: (N,) mm/s, D: (rows, columns) mJ/mm². In `backward`, g = ∂L/∂D
comes from torch and `DoseModel.gradient` gives ∂L/∂(xy, power, speed), the adjoint written by hand.

It is the op `laserpath::dose` of `torch.library` (`laserpath.operators`), so `torch.compile` takes it without
a break. Only the inputs are kept between the calls, and each call writes its own arrays, so torch adds up
gradients as usual: a layer may be called twice, share its inputs with another, or go backward again over a
retained graph. The adjoint has no derivative of its own; a second one is refused.

Tensors on the CPU share their memory with NumPy. Those on another device are copied to the host's memory, and
the result is copied back to the input's device, in its dtype. The engine computes in its own `precision`:
'f64' for `gradcheck`.
"""

from __future__ import annotations

from laserpath.operators.dose import dose_operator
from laserpath.physics.dose.engines import TOLERANCE
from laserpath.physics.dose.model import DoseModel
from laserpath.types import Grid, Spot

if __name__ == "torch":  # a script's own folder comes first in Python's search path
    raise ImportError(
        "this is laserpath/operators/dose/torch.py, not PyTorch: start Python in another folder"
    )
try:
    import torch
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "torch":
        raise
    raise ModuleNotFoundError(
        "laserpath.operators.dose.torch needs PyTorch, which is not installed: pip install laserpath[torch]",
        name="torch",
    ) from error
from laserpath.operators import torch_function

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
        self._dose = torch_function(dose_operator(self.model))

    def forward(self, xy: torch.Tensor, power: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
        """Dose of moves between the vertices xy: (N+1, 2) mm, at power: (N,) mW and speed: (N,) mm/s.

        A move of power 0 is dark, and has no gradient. Raises for a power below 0, a speed not above 0,
        numbers that are not finite, and exposure outside the grid.
        """
        return self._dose(xy, power, speed)

    def extra_repr(self) -> str:
        """The text that `print(layer)` shows between the brackets."""
        return f"{self.model.grid}, {self.model.spot}"

    def __getstate__(self) -> dict[str, object]:
        """What copies and pickles keep: the function is made anew."""
        return {name: one for name, one in self.__dict__.items() if name != "_dose"}

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._dose = torch_function(dose_operator(self.model))
