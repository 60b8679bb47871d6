"""Commands with options under headings, from tables, and a group that imports its commands when they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

from laserpath.base.errors import InputError, did_you_mean

if TYPE_CHECKING:
    Type = click.ParamType[Any]
else:
    Type = click.ParamType  # generic for the type checker only, and only since click 8.4

Command = TypeVar("Command", bound=Callable[..., Any])

AS_GIVEN = "laserpath.arguments"
"""Key of a context's `meta`: the command's arguments, for commands that print how to go on."""

Options = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Heading → names, such as `-o --output` → arguments of `click.option`."""


class Parsed(Type):
    """Type of an option whose parser raises `InputError`. name: of the quantity."""

    def __init__(self, parse: Callable[[str], Any], name: str) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parsed value; fails with the parser's sentence."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


class WholeNumber(click.IntRange):
    """click's range of whole numbers, with a plainer sentence for what is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; fails if it is none, or out of range."""
        try:
            int(value)
        except ValueError:
            upper = "" if self.max is None else f" to {self.max}"
            self.fail(f"{value!r} is not a whole number from {self.min}{upper}", param, ctx)
        return super().convert(value, param, ctx)


class GroupedOption(click.Option):
    """An option listed under a heading of the help."""

    def __init__(self, *args: Any, heading: str = "Other", **more: Any) -> None:
        super().__init__(*args, **more)
        self.heading = heading


class GroupedCommand(click.Command):
    """A command whose help lists the options by heading.

    No value may be empty: in a script, that is a variable without a value.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left over; fails if a value is empty."""
        ctx.meta[AS_GIVEN] = tuple(args)
        rest = super().parse_args(ctx, args)
        for parameter in self.get_params(ctx):
            value = ctx.params.get(parameter.name or "")
            if any(one == "" for one in (value if isinstance(value, tuple) else (value,))):
                option = isinstance(parameter, click.Option)
                name = parameter.opts[-1] if option else str(parameter.name).upper()
                raise click.UsageError(f"{name} is empty", ctx)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Headings in the order of their first options."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                rows.setdefault(getattr(option, "heading", "Other"), []).append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run. modules: name → `module:object`, help line.

    `--help` lists the help lines and imports no command.
    """

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._modules = dict(modules)

    def commands_by_name(self) -> dict[str, click.Command]:
        """All commands by name, imported."""
        context = click.Context(self)
        return {name: command for name in self._modules if (command := self.get_command(context, name))}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported; None if unknown."""
        if cmd_name not in self._modules:
            return None
        module, name = self._modules[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._modules.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run; an unknown name fails with the nearest known one."""
        if args and not args[0].startswith("-") and args[0] not in self._modules:
            known = ", ".join(self._modules)
            ctx.fail(f"no command {args[0]!r}; known: {known}{did_you_mean(args[0], self._modules)}")
        return super().resolve_command(ctx, args)


def options(*groups: Options) -> Callable[[Command], Command]:
    """Decorator that adds all options of some groups to a command; it gets their values as keywords."""
    every = [
        (heading, names, more)
        for group in groups
        for heading, rows in group.items()
        for names, more in rows.items()
    ]

    def decorate(command: Command) -> Command:
        for heading, names, more in reversed(every):
            command = click.option(*names.split(), cls=GroupedOption, heading=heading, **more)(command)
        return command

    return decorate
