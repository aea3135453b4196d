"""`bough completion`"""

from __future__ import annotations

import click

from bough.interfaces.cli.options import bough_command


@bough_command(
    "echo 'eval \"$(bough completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(bough completion zsh)\"' >> ~/.zshrc",
    "bough completion fish > ~/.config/fish/completions/bough.fish",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print shell completion for bash, zsh or fish.

    Commands, options, their values and the names of runs are completed.
    """
    from click.shell_completion import get_completion_class

    from bough.interfaces.cli.entry import COMPLETE, bough

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(bough, {}, "bough", COMPLETE).source())
