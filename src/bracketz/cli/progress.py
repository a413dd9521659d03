"""The progress line on standard error: rate, time left and the running bound."""

import math

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class RateColumn(ProgressColumn):
    def render(self, task):
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


class Bar:
    """One bar for the run under way, notes above it. Quiet when standard error is no terminal."""

    def __init__(self, quiet: bool = False):
        self.console = Console(stderr=True, quiet=quiet)
        self._bar: Progress | None = None

    def begin(self, label: str, total: int | None, done: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[value]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task(label, total=total, completed=done, value="")
        self._bar.start()

    def advance(self, done: int, value: float) -> None:
        if self._bar is not None:
            text = "" if math.isnan(value) else f"log w {value:,.1f}"
            self._bar.update(self._task, completed=done, value=text)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)
