"""The rooms and floors of laserpath, read from its imports: docs/architecture.md."""

from __future__ import annotations

import ast
import gc
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeVar, cast

import pytest

from laserpath.types import SPOT_PROFILES

ROOT = Path(__file__).parents[1]

FLOORS = (
    {"gcode", "base"},
    {"types"},
    {"physics"},
    {"design", "machine"},
    {"config", "operators"},
    {"measure", "calibration"},
    {"report"},
    {"planning", "simulation"},
    {"cli"},
    {"__main__"},
)
"""Rooms from the ground up. A room is a package, or a module of `laserpath`."""

GROUND = ["gcode", "base"]
"""On the same floor, and each stands on those before it."""

LONGEST = 700


@dataclass(frozen=True)
class Import:
    """A room's module says that it needs another module; eager: when it is imported itself."""

    module: str
    needs: str
    line: int
    typing_only: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.needs}"


def modules() -> dict[str, Path]:
    """Every module of both packages by its dotted name."""
    found = {}
    for package in ("laserpath", "gcode"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


Node = TypeVar("Node", bound=ast.AST)


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's garbage collector, which would go through all trees again and again, has nothing to find."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def sources() -> dict[str, str]:
    """The text of every module."""
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every module; made at the first test, since every worker imports this file."""
    with uncollected():
        return {name: ast.parse(text) for name, text in sources().items()}


@cache
def by_kind() -> dict[str, dict[type[ast.AST], list[ast.AST]]]:
    """The nodes of every module by their classes: the trees are walked once."""
    found: dict[str, dict[type[ast.AST], list[ast.AST]]] = {name: defaultdict(list) for name in MODULES}
    left: list[ast.AST]
    with uncollected():
        for name, tree in trees().items():
            kinds, left = found[name], [tree]
            while left:  # `ast.walk` takes half as long again
                node = left.pop()
                kinds[type(node)].append(node)
                for child in node.__dict__.values():
                    if isinstance(child, ast.AST):
                        left.append(child)
                    elif child.__class__ is list:
                        left += [one for one in child if isinstance(one, ast.AST)]
    return found


def nodes(module: str, kind: type[Node]) -> list[Node]:
    """The nodes of one class in a module."""
    return cast(list[Node], by_kind()[module][kind])


def imports(module: str) -> Iterator[Import]:
    """All imports of a module, those inside functions and for the type checker too."""
    typing = {
        child
        for node in nodes(module, ast.If)
        if "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }
    for plain in nodes(module, ast.Import):
        for alias in plain.names:
            yield Import(module, alias.name, plain.lineno, plain in typing)
    for node in nodes(module, ast.ImportFrom):
        assert node.level == 0, f"{module}:{node.lineno} has a relative import"
        # `from laserpath import convert` needs laserpath.convert, if that is a module.
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            need = whole if whole in MODULES else str(node.module)
            yield Import(module, need, node.lineno, node in typing)


@cache
def every_import() -> list[Import]:
    return [one for module in MODULES for one in imports(module)]


@cache
def our_imports() -> list[Import]:
    """Those of which one module of the project needs another."""
    return [one for one in every_import() if one.needs in MODULES]


def room(module: str) -> str:
    """The room that a module is in; '' for the package's own list of names."""
    package, *rest = module.split(".")
    if package == "gcode":
        return "gcode"
    return rest[0] if rest else ""


def floor(name: str) -> int:
    (number,) = [i for i, rooms in enumerate(FLOORS) if name in rooms]
    return number


def test_every_room_has_one_floor() -> None:
    rooms = {room(module) for module in MODULES} - {""}
    assert {name: sum(name in one for one in FLOORS) for name in rooms} == dict.fromkeys(rooms, 1)


def test_the_page_has_every_room_on_its_floor() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `(\w+)/?` \|", page, re.M)
    assert sorted((name, int(number) - 1) for number, name in rows) == sorted(
        (name, level) for level, names in enumerate(FLOORS[:-1]) for name in names
    )


def test_imports_go_downward_only() -> None:
    wrong = []
    for one in our_imports():
        above, below = room(one.module), room(one.needs)
        if above == below or above == "" or (below == "" and above == "cli"):
            continue  # inside a room; the list of public names; the roof, which uses those names
        if below == "":
            # A version is a constant, not a part of the building.
            wrong += [] if imported_names(one) == {"__version__"} else [str(one)]
        elif floor(below) > floor(above) or (floor(below) == floor(above) and not on_ground(above, below)):
            wrong.append(str(one))
    assert wrong == []


def imported_names(one: Import) -> set[str]:
    """What the `from … import` of that line takes."""
    return {
        alias.name
        for node in nodes(one.module, ast.ImportFrom)
        if node.lineno == one.line
        for alias in node.names
    }


def on_ground(above: str, below: str) -> bool:
    """On the ground everything may use the errors, and nouns."""
    return (
        floor(above) == 0
        and below in GROUND
        and (above not in GROUND or GROUND.index(above) > GROUND.index(below))
    )


def test_gcode_knows_nothing_of_laserpath() -> None:
    wrong = [
        str(one) for one in every_import() if one.module.split(".")[0] == "gcode" and "laserpath" in one.needs
    ]
    assert wrong == []


def test_only_optics_asks_what_a_spot_is() -> None:
    """Everyone else asks the spot: tests/physics/optics/test_a_new_spot.py is another one in one file."""
    optics = {module for module in MODULES if module.startswith("laserpath.physics.optics")}
    bases, kinds = {"Shape", "MeasuredBeam"}, {"Shape", "MeasuredBeam"}
    for module in sorted(optics) * 2:  # a shape of a shape, too
        for node in nodes(module, ast.ClassDef):
            if kinds & {base.id for base in node.bases if isinstance(base, ast.Name)}:
                kinds.add(node.name)
    assert {"Airy", "Round", "BeamImage"} <= kinds - bases
    wrong = []
    for module in set(MODULES) - optics:
        for node in (*nodes(module, ast.Compare), *nodes(module, ast.match_case)):
            part = node.pattern if isinstance(node, ast.match_case) else node
            texts = {one.value for one in ast.walk(part) if isinstance(one, ast.Constant)}
            wrong += [f"{module}:{name}" for name in texts & SPOT_PROFILES.keys()]
        for call in nodes(module, ast.Call):
            if ast.unparse(call.func) in ("isinstance", "issubclass"):
                names = {one.id for one in ast.walk(call.args[1]) if isinstance(one, ast.Name)}
                wrong += [f"{module}:{call.lineno} {name}" for name in names & kinds]
    assert wrong == []


OF_KERNELS = ("laserpath.base.compute", "laserpath.operators", "laserpath.physics")
"""What may import Taichi."""


def test_only_rooms_of_kernels_import_taichi() -> None:
    taichi = [one for one in every_import() if one.needs.split(".")[0] == "taichi"]
    assert [str(one) for one in taichi if not one.module.startswith(OF_KERNELS)] == []


def test_numba_caches_through_compiled() -> None:
    """Where nothing can be written, Numba's own `cache=True` ends in a traceback."""
    uncached = {"gcode.controllers.marlin.kernel"}
    numba = {one.module for one in every_import() if one.needs.split(".")[0] == "numba"}
    assert numba == {"gcode.compiled", *uncached}
    assert not [m for m in uncached if "cache=True" in ast.unparse(trees()[m])]


FIRMWARES = {"grbl", "marlin", "klipper", "trapezoid"}
MODELS = {"Grbl", "Marlin", "Klipper", "Limits"}


def asked_controllers(module: str) -> Iterator[str]:
    """Where a module compares a controller's name, tests for its class, or has a table by its name."""
    compared = {node: node for kind in (ast.Compare, ast.MatchValue) for node in nodes(module, kind)}
    keys = {key: table for table in nodes(module, ast.Dict) for key in table.keys if key is not None}
    for part, whole in (compared | keys).items():
        names = {found.value for found in ast.walk(part) if isinstance(found, ast.Constant)}
        if names & FIRMWARES:
            yield f"{module}:{whole.lineno} asks {ast.unparse(whole)}"
    for call in nodes(module, ast.Call):
        tested = ast.unparse(call.func) in ("isinstance", "issubclass")
        if tested and MODELS & set(re.findall(r"\w+", ast.unparse(call.args[1]))):
            yield f"{module}:{call.lineno} asks {ast.unparse(call)}"


def test_nobody_asks_for_a_controllers_name() -> None:
    """A controller answers for itself (gcode/controllers/interface.py): a new one changes no other room."""
    others = [module for module in MODULES if not module.startswith("gcode.controllers")]
    assert [one for module in others for one in asked_controllers(module)] == []


def test_programs_are_written_through_the_gate_only() -> None:
    """`doctor` writes one too, into memory, to read it back."""
    writers = {
        module
        for module in MODULES
        if module.startswith("laserpath")
        and any(
            re.search(r"\bgcode\.(write|write_lines|save)$", ast.unparse(node.func))
            for node in nodes(module, ast.Call)
        )
    }
    assert writers == {"laserpath.machine.gate", "laserpath.cli.diagnosis"}


def test_the_judge_does_not_know_what_is_optimised() -> None:
    loss, judge = "laserpath.planning.optimise.objective", "laserpath.measure"
    wrong = [str(one) for one in our_imports() if one.module == loss and one.needs.startswith(judge)]
    assert wrong == []


def test_modules_do_not_go_in_circles() -> None:
    """Imports inside functions count too; those for the type checker do not."""
    needs: dict[str, set[str]] = {module: set() for module in MODULES}
    for one in our_imports():
        if not one.typing_only and one.needs != one.module:
            needs[one.module].add(one.needs)
    while True:
        # A module that needs no other, or that no other needs, is in no circle.
        needed = {module for below in needs.values() for module in below}
        free = {module for module, below in needs.items() if not below or module not in needed}
        if not free:
            break
        needs = {module: below - free for module, below in needs.items() if module not in free}
    assert needs == {}


def test_planning_is_entered_by_its_front_door() -> None:
    """Only what `laserpath.planning` and its `relief` offer is used elsewhere."""
    doors = {"laserpath.planning", "laserpath.planning.relief"}
    wrong = [
        str(one)
        for one in our_imports()
        if room(one.needs) == "planning" and room(one.module) != "planning" and one.needs not in doors
    ]
    assert wrong == []


def test_a_module_can_be_read_in_a_sitting() -> None:
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    assert {module: count for module, count in lines.items() if count > LONGEST} == {}


# Names and functions


SHARED_NAMES: set[str] = set()
"""Class names that still stand for more than one thing. To be emptied."""

LONG_FUNCTIONS = {"gcode.reading.quick.run"}
"""Functions that are still longer than MOST_LINES. To be emptied."""

MANY_PARAMETERS: set[str] = set()
"""Functions that still take more than MOST_PARAMETERS. To be emptied."""

MOST_LINES = 60
MOST_PARAMETERS = 7
KERNEL = r"(ti\.(kernel|func)|(numba\.)?njit(\(.*\))?)"
"""Decorators of what Taichi or Numba compiles: it takes flat arrays, and calls cost it its speed."""


def test_a_class_name_means_one_thing() -> None:
    """In both packages together; a leading underscore makes no difference."""
    names = Counter(node.name.lstrip("_") for module in MODULES for node in nodes(module, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


def has_kernel(function: ast.FunctionDef) -> bool:
    """Whether it is a kernel, or makes one."""
    return any(
        re.fullmatch(KERNEL, ast.unparse(decorator))
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


@cache
def functions() -> list[tuple[str, ast.FunctionDef]]:
    """Every function by its module and name; not what is compiled, nor what makes it."""
    found = []
    for module in MODULES:
        written = nodes(module, ast.FunctionDef)
        compiled = {inner for node in written if has_kernel(node) for inner in ast.walk(node)}
        found += [(f"{module}.{node.name}", node) for node in written if node not in compiled]
    return found


def parameters(function: ast.FunctionDef) -> int:
    """How many it takes, without `self`."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_a_function_can_be_seen_at_once() -> None:
    lengths = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in functions()}
    assert {name for name, lines in lengths.items() if lines > MOST_LINES} == LONG_FUNCTIONS


def test_a_function_takes_few_parameters() -> None:
    assert {name for name, node in functions() if parameters(node) > MOST_PARAMETERS} == MANY_PARAMETERS


def test_a_module_says_what_it_is() -> None:
    assert [module for module, tree in trees().items() if not ast.get_docstring(tree)] == []


def test_kernels_have_real_annotations() -> None:
    """Taichi reads the annotations of its kernels, and cannot read the text that they would be."""
    kernels = {module for module in MODULES if decorators(module) & {"ti.kernel", "ti.func"}}
    assert kernels
    assert not {one.module for one in every_import() if one.needs == "__future__"} & kernels


def decorators(module: str) -> set[str]:
    return {ast.unparse(d) for function in nodes(module, ast.FunctionDef) for d in function.decorator_list}


SET_OPERATIONS = {
    "union", "difference", "intersection", "symmetric_difference", "unary_union", "union_all",
    "coverage_union", "coverage_union_all", "disjoint_subset_union", "disjoint_subset_union_all",
    "intersection_all", "symmetric_difference_all", "clip_by_rect", "cascaded_union",
}  # fmt: skip
"""Shapely's functions, and its geometries' methods. Python's sets have operators for theirs."""


def set_operations(text: str) -> Iterator[tuple[int, ast.Call | None]]:
    """Line and call of each one; no call where it is handed on, or imported by name."""
    if not re.search(rf"\b({'|'.join(SET_OPERATIONS)}|ops)\b", text):
        return  # a tree takes longer than a search
    with uncollected():
        tree = ast.parse(text)
    calls = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SET_OPERATIONS and not ours(node):
            yield node.lineno, calls.get(node)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("shapely"):
            taken = {str(node.module), *(alias.name for alias in node.names)}
            if taken & {"shapely.ops", "ops", *SET_OPERATIONS}:
                yield node.lineno, None


def ours(node: ast.Attribute) -> bool:
    """Whether it is a function of laserpath.base.overlay."""
    return isinstance(node.value, ast.Name) and node.value.id == "overlay"


def test_only_overlay_calls_set_operations() -> None:
    """Without a grid they are wrong by whole areas where edges almost meet: laserpath/base/overlay.py.

    Operators such as `a - b` a syntax tree cannot tell from numbers: tests/conftest.py refuses them.
    """
    wrong = [
        f"{module}:{line}"
        for module, text in sources().items()
        if module != "laserpath.base.overlay"
        for line, _ in set_operations(text)
    ]
    assert wrong == []


def test_set_operations_in_tests_have_a_grid() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line, call in set_operations(path.read_text(encoding="utf-8")):
            if call is None or "grid_size" not in {keyword.arg for keyword in call.keywords}:
                wrong.append(f"{path.relative_to(ROOT)}:{line}")
    assert wrong == []


PROGRAMS = {"laserpath.cli.plugins.inkscape.laserpath_inkscape"}
"""Run by Inkscape's Python as a program of its own, which imports nothing of laserpath."""


TALK = (
    r"(print|exit|quit|input|breakpoint|sys\.(exit|std(out|err)\..*)|os\._exit|warnings\.warn"
    r"|logging\.(?!getLogger)[a-z]+)"
)


def test_only_the_command_line_prints_or_exits() -> None:
    wrong = [
        f"{module}:{node.lineno} calls {ast.unparse(node.func)}"
        for module in MODULES
        if room(module) not in ("cli", "__main__") and module not in PROGRAMS
        for node in nodes(module, ast.Call)
        if re.fullmatch(TALK, ast.unparse(node.func))
        # A value that was most likely meant in another unit is doubted at the line that gives it.
        if "PlausibilityWarning" not in map(ast.unparse, node.args)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["laserpath", "gcode"])
def test_no_module_has_the_name_of_a_public_function(package: str) -> None:
    (names,) = [
        ast.literal_eval(node.value)
        for node in trees()[package].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    children = {m.split(".")[1] for m in MODULES if m.startswith(f"{package}.") and m.count(".") == 1}
    assert set(names) & children <= {"motion"}  # gcode.motion is offered as the module that it is


# What is installed


def optional() -> set[str]:
    """Names of the extras that laserpath itself can use."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    return {
        re.match(r"[\w-]+", line)[0]
        for name in ("cluster", "parts", "torch", "jax", "vpype")
        for line in extras[name]
    }  # type: ignore[index]


def dependencies() -> dict[str, str]:
    """Name → lower bound of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in project["dependencies"])  # type: ignore


def test_every_lower_bound_is_the_one_that_is_tested() -> None:
    pinned = dict(line.split("==") for line in (ROOT / "tests" / "lower-bounds.txt").read_text().split())
    assert pinned == dependencies()


def test_all_that_is_imported_is_declared_and_no_more() -> None:
    by_module = metadata.packages_distributions()
    needed = {
        by_module[top][0].lower()
        for top in {one.needs.split(".")[0] for one in every_import()}
        if top in by_module and top not in ("laserpath", "gcode")
    }
    assert needed - optional() == set(dependencies())
