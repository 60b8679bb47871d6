"""Names of a package that are imported on first use.

The package `lazy_loader` does the same. For these lines it would be one more dependency, and the names would
still have to stand in `__all__` and in imports for the type checker.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package: str, homes: Mapping[str, Iterable[str]], modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    homes: module, within the package → its public names.  modules: public name → module that it stands for.
    """
    owner, home = sys.modules[package], {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in modules:
            value: Any = import_module(f"{package}.{modules[name]}")
        elif name in home:
            value = getattr(import_module(f"{package}.{home[name]}"), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(owner, name, value)
        return value

    return get, lambda: sorted({*vars(owner), *home, *modules})
