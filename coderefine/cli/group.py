"""The command group; a command's module is imported only when it is called."""

from __future__ import annotations

import difflib
import gc
import importlib

import click

from coderefine import __version__

COMMANDS = {
    "check": ("coderefine.cli.check", "Run the gates and list what they find."),
    "fix": ("coderefine.cli.fix", "Repair what the gates find; write what is proved, offer what is plausible."),
    "write": ("coderefine.cli.write", "Write the code that you ask for; the tests you name decide."),
    "prove": ("coderefine.cli.prove", "Judge a given patch: proved, or why not."),
    "suggest": ("coderefine.cli.suggest", "Prove patches for a pull request, and suggest them on it."),
    "fleet": ("coderefine.cli.fleet", "Run fix, check, write or prove in many repositories."),
    "hook": ("coderefine.cli.hook", "Check what is staged; install git hooks that do it."),
    "demo": ("coderefine.cli.demo", "Make a small faulty repository and fix it."),
    "pick": ("coderefine.cli.pick", "Prove and write one of the plausible patches that a run offered."),
    "log": ("coderefine.cli.history", "List earlier runs."),
    "show": ("coderefine.cli.history", "Show one run: attempts, verdicts, evidence."),
    "undo": ("coderefine.cli.history", "Take back what a run wrote."),
    "resume": ("coderefine.cli.fix", "Finish an interrupted run without paying for an answer twice."),
    "replay": ("coderefine.cli.history", "Repeat a recorded run from its record, offline."),
    "mcp": ("coderefine.mcp.command_line", "Serve coding agents by the Model Context Protocol."),
    "doctor": ("coderefine.cli.doctor", "Report what works on this system, and how to get the rest."),
    "init": ("coderefine.cli.init", "Write a commented [tool.coderefine] into pyproject.toml."),
}


class LazyGroup(click.Group):
    """Import a command's module only when the command runs, so that `--version` imports almost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # imports leave no garbage: this saves an eighth of the time before `fix` begins and after its end
        module = importlib.import_module(COMMANDS[cmd_name][0])
        if hasattr(gc, "freeze"):  # PyPy has none
            gc.freeze()
        gc.enable()
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="coderefine %(version)s")
def coderefine() -> None:
    """Check, repair, prove, write: only what every check and test accepts is written."""
