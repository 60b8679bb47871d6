"""`laserpath doctor`: test whether laserpath works on this computer."""

from __future__ import annotations

import click

from laserpath.cli.ending import HAS_ERRORS


@click.command(epilog="\b\nExit codes: 0 all tests passed; 1 a test failed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Print versions, device and Taichi's cache, and test dose and G-code against known values.

    Please include the output in a bug report.
    """
    from laserpath.cli.diagnosis import diagnose
    from laserpath.cli.show import busy, json_of

    with busy("testing", hidden=as_json):
        diagnosis = diagnose()
    if as_json:
        checks = [
            {"name": c.name, "good": c.good, "what": c.result, "error": c.error, "limit": c.limit}
            for c in diagnosis.checks
        ]
        click.echo(json_of({"good": diagnosis.good, "facts": diagnosis.facts, "checks": checks}))
    else:
        for name, fact in diagnosis.facts.items():
            click.echo(f"{name:14}{fact}")
        for c in diagnosis.checks:
            mark = click.style("good ", fg="green") if c.good else click.style("WRONG", fg="red")
            click.echo(f"{mark} {c.name}: {c.result}; error {c.error:.1e} of {c.limit:g}; {c.seconds:.1f} s")
    if not diagnosis.good:
        context.exit(HAS_ERRORS)
