"""What all verbs share: the application, its consoles, common options, and how a fault is said."""

import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.text import Text

from verispec_bench.errors import InfrastructureFailed, UnusableInput

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Is speculative decoding still my model, still my server, and worth it here? "
    "Exit codes: 0 good, 1 the answer is no, 2 unusable input, 3 infrastructure failed.",
)
out = Console(width=None if sys.stdout.isatty() else 140)
err = Console(stderr=True)

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run if there is one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and the commands; start nothing.")]
OutDir = Annotated[Path | None, typer.Option("--out", help="Result directory.")]
ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file, for example scenarios/demo.yaml.")]


def checked_url(text: str) -> str:
    """The address of a server as the other parts want it.

    Raises:
        UnusableInput: it is none, or ends in /v1.

    """
    try:
        parts = urlsplit(text.rstrip("/"))
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or parts.path.endswith("/v1"):
        raise UnusableInput(f"--base-url {text}: give http://HOST:PORT, without /v1")
    return text.rstrip("/")


@contextmanager
def resumable(kept: Callable[[], str], command: str) -> Iterator[None]:
    """Whatever ends the work, it is said what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {kept()}; go on with: {command}", err)
        raise
    except (InfrastructureFailed, OSError) as error:
        said = str(error) if isinstance(error, InfrastructureFailed) else fault_of(error)
        joint = "\n" if "\n" in said else "; "
        raise InfrastructureFailed(f"{said}{joint}{kept()}; go on with: {command}") from error


def fault_of(error: OSError) -> str:
    """What the system refused, and of which file."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error) or type(error).__name__


def say_fault(message: str) -> None:
    """One line on standard error."""
    err.print(Text.assemble(("verispec: ", "red"), message), highlight=False, soft_wrap=True)


def say(message: str, console: Console) -> None:
    """A line as it is: logs and paths may hold brackets that look like markup."""
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it on uvloop."""
    import uvloop

    result: T = uvloop.run(coroutine)
    return result


def result_path(name: str, identity: str, resume: bool) -> Path:
    """results/NAME-TIME; with resume the newest unfinished directory of the same identity, if there is one."""
    from verispec_bench.record import ResultDirectory

    for path in sorted(Path("results").glob(f"{name}-*"), reverse=True) if resume else ():
        try:
            manifest = ResultDirectory(path).manifest()
        except UnusableInput:
            continue
        if manifest.get("identity_sha256") == identity and not manifest.get("complete"):
            return path
    return Path("results") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
