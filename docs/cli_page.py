"""Writes reference/cli.md from the commands' own help, when the documentation is built."""

import click
import mkdocs_gen_files
import typer
from typer.cli import get_docs_for_click

from verispec_bench.cli import app

command = typer.main.get_command(app)
with mkdocs_gen_files.open("reference/cli.md", "w") as page:
    text = get_docs_for_click(obj=command, ctx=click.Context(command, info_name="verispec"), name="verispec")
    print(text.replace("# `verispec`", "# Command line", 1), file=page)
