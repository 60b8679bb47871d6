"""What compares with PyTorch and JAX is read only where both are: `make test-parity` sees to it."""

from importlib.util import find_spec

NEED = (
    "test_operators_jax.py", "test_operators_torch.py", "test_parity_curves.py", "test_parity_forum.py",
    "test_parity_kinetics.py", "test_parity_reaction.py", "test_parity_strokes.py", "test_parity_volume.py",
    "test_torch_example.py", "test_torch_layer.py",
)  # fmt: skip
collect_ignore = [] if find_spec("torch") and find_spec("jax") else list(NEED)

if not collect_ignore:
    import jax
    import jax.experimental

    if not hasattr(jax, "enable_x64"):  # where the lower bound of JAX has it
        jax.enable_x64 = jax.experimental.enable_x64
