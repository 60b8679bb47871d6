"""Operators in PyTorch, through `torch.library`.

One op of torch stands for all operators of a name, which differ in their settings only (an image's size, a
spot): its last argument is a text that says which of them is meant. Torch keeps an op as long as the process
lives, so an op for each would never be freed; and a text is a constant to `torch.compile`.

The adjoint is an op of its own, so that a compiled graph has both; its derivative raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from laserpath.base.errors import InputError
from laserpath.compute.runtime import device as device_of_taichi
from laserpath.compute.runtime import ti
from laserpath.operators.record import returned, single

if __name__ == "torch":  # a script's own folder comes first in Python's search path
    raise ImportError("this is laserpath/operators/torch.py, not PyTorch: start Python in another folder")
try:
    import torch
    from torch.autograd.forward_ad import unpack_dual
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "torch":
        raise
    raise ModuleNotFoundError(
        "laserpath.operators.torch needs PyTorch, which is not installed: pip install laserpath[torch]",
        name="torch",
    ) from error

if TYPE_CHECKING:
    from laserpath.operators.record import Operator, Shape

__all__ = ["function"]

_living: WeakValueDictionary[str, Operator] = WeakValueDictionary()
_registered: dict[str, tuple[tuple[str, ...], int, tuple[bool, ...]]] = {}
_numbers = itertools.count()


def function(operator: Operator) -> Callable[..., Any]:
    """The operator as a function of tensors: see `laserpath.operators.torch_function`."""
    op = _op(operator)
    which = f"{operator.name}-{next(_numbers)}"
    _living[which] = operator

    def call(*tensors: torch.Tensor) -> Any:
        _checked(operator, tensors)
        return op(*tensors, which)

    call.operator = operator  # type: ignore[attr-defined]  # kept alive
    call.which = which  # type: ignore[attr-defined]  # the op's last argument, for torch.library.opcheck
    return call


def _checked(operator: Operator, tensors: Sequence[torch.Tensor]) -> None:
    """As many tensors of real numbers as the operator has inputs, all on one device, and no forward mode."""
    for label, one in zip(operator.inputs, tensors, strict=False):
        if not isinstance(one, torch.Tensor):
            raise InputError(f"{label} is of type {type(one).__name__}, but must be a torch.Tensor")
    operator.check_types(tensors)
    if any(one.device != tensors[0].device for one in tensors):
        where = ", ".join(
            f"{label} on {one.device}" for label, one in zip(operator.inputs, tensors, strict=True)
        )
        raise InputError(f"tensors must be on one device, but are not: {where}")
    # Torch would take an op without a rule for forward mode as one whose outputs do not depend on its inputs.
    if not torch.compiler.is_compiling() and any(unpack_dual(one).tangent is not None for one in tensors):
        raise RuntimeError(
            f"{operator.name} has no forward mode (torch.func.jvp, jacfwd, linearize): "
            "take torch.autograd.grad or backward"
        )


def _op(operator: Operator) -> Any:
    """Torch's op of the operator's name, which is registered when the first operator has it."""
    signature = (operator.inputs, len(operator.outputs), operator.differentiated)
    if _registered.setdefault(operator.name, signature) != signature:
        raise InputError(f"operator name {operator.name} is taken, by one with other inputs or outputs")
    _register(operator.name, *signature)
    return _by_name(operator.name)


def _by_name(name: str) -> Any:
    namespace, name = name.split("::")
    return getattr(getattr(torch.ops, namespace), name)


@cache
def _register(name: str, inputs: tuple[str, ...], outputs: int, differentiated: tuple[bool, ...]) -> None:
    """The op with its shapes, and its adjoint as its derivative."""
    op = torch.library.custom_op(name, _forward, mutates_args=(), schema=_schema(inputs, outputs))
    op.register_fake(_fake_forward)
    if not any(differentiated):
        return
    all_read = (*inputs, *(f"_slope_{number}" for number in range(outputs)))
    schema = _schema(all_read, sum(differentiated))
    back = torch.library.custom_op(f"{name}_adjoint", _adjoint, mutates_args=(), schema=schema)
    back.register_fake(_fake_adjoint)
    adjoint = _by_name(f"{name}_adjoint")

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.which = inputs
        ctx.operator = _operator(ctx.which)  # alive as long as the graph
        ctx.save_for_backward(*tensors)

    def pull(ctx: Any, *above: torch.Tensor) -> tuple[Any, ...]:
        found = adjoint(*ctx.saved_tensors, *above, ctx.which)
        each = iter(found if isinstance(found, (tuple, list)) else (found,))
        every = [next(each) if has else None for has in differentiated]
        return (*(one if needs else None for one, needs in zip(every, ctx.needs_input_grad)), None)  # noqa: B905

    def refuse(ctx: Any, *_: torch.Tensor) -> None:
        raise RuntimeError(f"{name} has no second derivative, so its gradient cannot be differentiated")

    op.register_autograd(pull, setup_context=keep)
    back.register_autograd(refuse)


def _schema(read: Sequence[str], written: int) -> str:
    results = ", ".join(["Tensor"] * written)
    return f"({', '.join(f'Tensor {name}' for name in read)}, str which) -> " + (
        results if written == 1 else f"({results})"
    )


def _operator(which: str) -> Operator:
    try:
        return _living[which]
    except KeyError:
        raise InputError(
            f"operator {which} is gone; keep what torch_function returned as long as a compiled one uses it"
        ) from None


def _forward(*arguments: Any) -> Any:
    """What the op does."""
    *inputs, which = arguments
    operator = _operator(which)
    shapes = operator.shapes(*(tuple(one.shape) for one in inputs))
    return _run(operator, operator.forward, inputs, inputs, shapes, [_dtype(inputs)] * len(shapes))


def _adjoint(*arguments: Any) -> Any:
    """What the op of the adjoint does."""
    *read, which = arguments
    operator = _operator(which)
    inputs = read[: len(operator.inputs)]
    kept = [one for one, has in zip(inputs, operator.differentiated, strict=True) if has]
    shapes = [tuple(one.shape) for one in kept]
    return _run(operator, operator.adjoint, inputs, read, shapes, [one.dtype for one in kept])


def _fake_forward(*arguments: Any) -> Any:
    """The outputs' shapes, dtype and device."""
    *inputs, which = arguments
    shapes = _operator(which).shapes(*(tuple(one.shape) for one in inputs))
    dtype = _dtype(inputs)
    return _one_or_all([inputs[0].new_empty(shape, dtype=dtype) for shape in shapes])


def _fake_adjoint(*arguments: Any) -> Any:
    """The derivatives' shapes, dtypes and device: those of the inputs."""
    *inputs, which = arguments
    has = _operator(which).differentiated
    kept = [one for one, differentiated in zip(inputs, has) if differentiated]  # noqa: B905  # then slopes
    return _one_or_all([one.new_empty(tuple(one.shape)) for one in kept])


def _run(
    operator: Operator,
    function: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    read: Sequence[torch.Tensor],
    shapes: Sequence[Shape],
    dtypes: Sequence[torch.dtype],
) -> Any:
    """What a function of the operator writes, or returns, as tensors of `dtypes` on the inputs' device."""
    device, real = inputs[0].device, _computed_in(inputs)
    place = device if _stays(operator, device) else torch.device("cpu")
    whole = [not has for has in operator.differentiated] + [False] * (len(read) - len(inputs))
    given = [
        one.detach().to(place, one.dtype if may and not one.is_floating_point() else real).contiguous()
        for one, may in zip(read, whole, strict=True)
    ]
    if operator.on_host:
        arrays = returned(function(*(one.numpy(force=True) for one in given)))
        written = [torch.from_numpy(np.require(one, requirements=["C", "W"])) for one in arrays]
    else:
        written = [torch.zeros(shape, dtype=real, device=place) for shape in shapes]
        _wait(place)
        function(*given, *written)
        _wait(place)
    return _one_or_all([one.to(device, dtype) for one, dtype in zip(written, dtypes, strict=True)])


def _stays(operator: Operator, device: torch.device) -> bool:
    """Whether Taichi works in the memory of the tensors' device."""
    if device.type == "cpu":
        return True
    return (
        not operator.on_host and device.type == "cuda" and device.index == 0 and device_of_taichi() == "cuda"
    )


def _wait(place: torch.device) -> None:
    """Taichi and torch do not wait for each other's work on a GPU."""
    if place.type == "cuda":
        torch.cuda.synchronize(place)
        ti.sync()


def _one_or_all(tensors: list[torch.Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _computed_in(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """In what the operator computes: f32 if its real inputs have no more, else f64."""
    f32 = single(one.dtype.itemsize for one in tensors if one.is_floating_point())
    return torch.float32 if f32 else torch.float64


def _dtype(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The widest floating dtype of the tensors; torch's default if none is floating."""
    dtypes = [one.dtype for one in tensors if one.is_floating_point()]
    return reduce(torch.promote_types, dtypes) if dtypes else torch.get_default_dtype()
