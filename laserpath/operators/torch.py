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
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from laserpath.base.compute.runtime import device as device_of_taichi
from laserpath.base.compute.runtime import wait
from laserpath.base.errors import InputError
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


class _Signature(NamedTuple):
    """What the operators of one name have in common. outputs, saved: how many."""

    inputs: tuple[str, ...]
    outputs: int
    saved: int
    differentiated: tuple[bool, ...]


_living: WeakValueDictionary[str, Operator] = WeakValueDictionary()
_registered: dict[str, _Signature] = {}
_numbers = itertools.count()


def function(operator: Operator) -> Callable[..., Any]:
    """The operator as a function of tensors: see `laserpath.operators.torch_function`."""
    op = _op(operator)
    which = f"{operator.name}-{next(_numbers)}"
    _living[which] = operator

    def call(*tensors: torch.Tensor) -> Any:
        _checked(operator, tensors)
        return operator.without_saved(_all(op(*tensors, which)))

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
    signature = _Signature(
        operator.inputs, len(operator.outputs), len(operator.saved), operator.differentiated
    )
    if _registered.setdefault(operator.name, signature) != signature:
        raise InputError(f"operator name {operator.name} is taken, by one with other inputs or outputs")
    _register(operator.name, signature)
    return _by_name(operator.name)


def _by_name(name: str) -> Any:
    namespace, name = name.split("::")
    return getattr(getattr(torch.ops, namespace), name)


@cache
def _register(name: str, signature: _Signature) -> None:
    """The op with its shapes, and its adjoint as its derivative."""
    inputs, m, saved, differentiated = signature
    op = torch.library.custom_op(name, _forward, mutates_args=(), schema=_schema(inputs, "", m + saved))
    op.register_fake(_fake_forward)
    if not any(differentiated):
        return
    all_read = (*inputs, *(f"_read_{number}" for number in range(saved + m)))
    schema = _schema(all_read, "bool[] wanted, ", sum(differentiated))
    back = torch.library.custom_op(f"{name}_adjoint", _adjoint, mutates_args=(), schema=schema)
    back.register_fake(_fake_adjoint)
    adjoint = _by_name(f"{name}_adjoint")

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.which = inputs
        ctx.operator = _operator(ctx.which)  # alive as long as the graph
        ctx.save_for_backward(*tensors, *_all(output)[m:])

    def pull(ctx: Any, *above: torch.Tensor) -> tuple[Any, ...]:
        pairs = zip(ctx.needs_input_grad, differentiated)  # noqa: B905  # behind them comes `which`
        wanted = [needs for needs, has in pairs if has]
        found = iter(_all(adjoint(*ctx.saved_tensors, *above[:m], wanted, ctx.which)))
        asked = iter(wanted)
        every = [(next(found), next(asked)) if has else (None, False) for has in differentiated]
        return (*(one if needs else None for one, needs in every), None)

    def refuse(ctx: Any, *_: torch.Tensor) -> None:
        raise RuntimeError(f"{name} has no second derivative, so its gradient cannot be differentiated")

    op.register_autograd(pull, setup_context=keep)
    back.register_autograd(refuse)


def _schema(read: Sequence[str], more: str, written: int) -> str:
    results = ", ".join(["Tensor"] * written)
    return f"({', '.join(f'Tensor {name}' for name in read)}, {more}str which) -> " + (
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
    return _one_or_all(
        _run(operator, operator.forward, inputs, inputs, shapes, _written_in(operator, inputs))
    )


def _adjoint(*arguments: Any) -> Any:
    """What the op of the adjoint does. A derivative that is not wanted is a tensor without elements."""
    *read, wanted, which = arguments
    operator = _operator(which)
    inputs = read[: len(operator.inputs)]
    kept = [one for one, has in zip(inputs, operator.differentiated, strict=True) if has]
    shapes = [tuple(one.shape) for one in kept]
    dtypes = [one.dtype for one in kept]
    found = _run(operator, operator.adjoint_of(wanted), inputs, read, shapes, dtypes)
    return _one_or_all(
        [one if asked else like.new_empty(0) for one, like, asked in zip(found, kept, wanted, strict=True)]
    )


def _fake_forward(*arguments: Any) -> Any:
    """The outputs' shapes, dtypes and device."""
    *inputs, which = arguments
    operator = _operator(which)
    shapes = operator.shapes(*(tuple(one.shape) for one in inputs))
    dtypes = _written_in(operator, inputs)
    return _one_or_all(
        [inputs[0].new_empty(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    )


def _fake_adjoint(*arguments: Any) -> Any:
    """The derivatives' shapes, dtypes and device: those of the inputs."""
    *inputs, wanted, which = arguments
    has = _operator(which).differentiated
    kept = [one for one, differentiated in zip(inputs, has) if differentiated]  # noqa: B905  # then others
    return _one_or_all(
        [one.new_empty(tuple(one.shape) if asked else 0) for one, asked in zip(kept, wanted, strict=True)]
    )


def _written_in(operator: Operator, inputs: Sequence[torch.Tensor]) -> list[torch.dtype]:
    """The dtypes of the outputs, and of what is saved: that is not rounded to f16."""
    return [_dtype(inputs)] * len(operator.outputs) + [_computed_in(inputs)] * len(operator.saved)


def _run(
    operator: Operator,
    function: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    read: Sequence[torch.Tensor],
    shapes: Sequence[Shape],
    dtypes: Sequence[torch.dtype],
) -> list[Any]:
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
        written = [
            None if one is None else torch.from_numpy(np.require(one, requirements=["C", "W"]))
            for one in arrays
        ]
    else:
        written = [torch.zeros(shape, dtype=real, device=place) for shape in shapes]
        _wait(place)
        function(*given, *written)
        _wait(place)
    return [
        None if one is None else one.to(device, dtype) for one, dtype in zip(written, dtypes, strict=True)
    ]


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
        wait()


def _one_or_all(tensors: list[torch.Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _all(found: Any) -> tuple[torch.Tensor, ...]:
    """The opposite of `_one_or_all`."""
    return (found,) if isinstance(found, torch.Tensor) else tuple(found)


def _computed_in(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """In what the operator computes: f32 if its real inputs have no more, else f64."""
    f32 = single(one.dtype.itemsize for one in tensors if one.is_floating_point())
    return torch.float32 if f32 else torch.float64


def _dtype(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The widest floating dtype of the tensors; torch's default if none is floating."""
    dtypes = [one.dtype for one in tensors if one.is_floating_point()]
    return reduce(torch.promote_types, dtypes) if dtypes else torch.get_default_dtype()
