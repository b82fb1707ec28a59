"""Progress for people: a bar on a terminal, plain lines elsewhere."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class RunProgress:
    """Shows what a long run does; also a context manager.

    Args:
        console: where to (standard error, so that results can be piped).
        requests: how many requests there are in all.

    """

    def __init__(self, console: Console, requests: int) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("requests"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=requests)
        self._said: set[int] = set()

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line where there is no bar to look at."""
        if not self._console.is_terminal:
            self.say(text)

    def starting(self, elapsed_s: float, waiting_for: str) -> None:
        """How far the servers are: the bar's label; without a terminal, a line each half minute."""
        text = f"starting servers: {elapsed_s:3.0f} s, waiting for {waiting_for}"
        self.label(text)
        half_minutes = int(elapsed_s // 30)
        if not self._console.is_terminal and half_minutes not in self._said:
            self._said.add(half_minutes)
            self.say(text)

    def label(self, text: str) -> None:
        """The bar's label."""
        self._bar.update(self._task, description=text)

    def expect(self, requests: int) -> None:
        """So many requests are still to come."""
        self._bar.update(self._task, total=self._bar.tasks[self._task].completed + requests)

    def expect_further(self, requests: int) -> None:
        """More requests than were expected."""
        self._bar.update(self._task, total=(self._bar.tasks[self._task].total or 0) + requests)

    def request_done(self) -> None:
        """One more request."""
        self._bar.advance(self._task)
