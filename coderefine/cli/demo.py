"""`coderefine demo`: make a small faulty repository and repair it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from coderefine.app.project import find_project
from coderefine.app.request import Destination, Request
from coderefine.cli.fix import run_and_report
from coderefine.cli.screen import screen
from coderefine.config import toml
from coderefine.errors import UsageError
from coderefine.git import process


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print only the folder's name; the exit code is the result.")
@click.option("--no-model", is_flag=True, help="Use no model, even with a key in the environment.")
def demo(folder: Path | None, *, quiet: bool, no_model: bool) -> int:
    """Make a small git repository with failing tests and lint (in FOLDER, default: a temporary one) and fix it."""
    place = Path(tempfile.mkdtemp(prefix="coderefine-demo-")) if folder is None else folder.absolute()
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty; name a folder that does not exist yet")
    for name, text in toml(Path(__file__).with_name("demo.toml")).items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    steps = (
        ("init", "--quiet"),
        ("config", "user.name", "coderefine demo"),
        ("config", "user.email", "demo@localhost"),
        ("add", "--all"),
        ("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "--message", "A shop with faults"),
    )
    for step in steps:
        result = process.run(step, cwd=place)
        if result.returncode:
            raise process.complaint(result, place)
    click.echo(f"made      {place}: two modules, three bugs, two lint findings")
    settings = {"python": sys.executable, "message": "fix: repair the shop"}
    request = Request(("demo",), settings, Destination(commit=True), model=not no_model)
    with screen(quiet=quiet, format_="text", diff=True) as display:
        code = run_and_report(find_project((str(place),), settings, display.listen), request, display)
    click.echo(f"look      git -C {place} show")
    return code
