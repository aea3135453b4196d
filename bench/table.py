"""The measurements as one table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Measurement:
    """One fresh process that ran once."""

    peer: str
    rounds: int
    agents: int
    """0: one agent, its first round not counted; otherwise so many at once, counted from the first to the last."""
    repetition: int
    version: str
    python: str
    streamed: bool
    import_seconds: float
    run_seconds: float
    ms_per_round: float
    cpu_seconds: float
    """Processor time of the run in this process, waiting for the disk and the server left out."""
    server_ms: float
    """Processor time of the server for one request: part of `ms_per_round`."""
    rss: int
    disk: int


@dataclass(frozen=True)
class Row:
    """What is known of one peer."""

    name: str
    durable: str
    failed: list[str] = field(default_factory=list)
    """Why numbers are missing."""
    runs: list[Measurement] = field(default_factory=list)

    def of(self, rounds: int, agents: int) -> list[Measurement]:
        return [run for run in self.runs if (run.rounds, run.agents) == (rounds, agents)]

    def ms(self, rounds: int, agents: int = 0) -> float | None:
        """The least of the repetitions: whatever else the machine does only ever adds."""
        return min((run.ms_per_round for run in self.of(rounds, agents)), default=None)

    def most(self, rounds: int, agents: int, size: Callable[[Measurement], int]) -> int | None:
        return max((size(run) for run in self.of(rounds, agents)), default=None)


def rows_as_table(rows: Sequence[Row], rounds: Sequence[int], agents: int, agent_rounds: int) -> str:
    """Markdown, in columns that line up. Times of a peer are followed by how many times bough's they are."""
    bough = next((row for row in rows if row.name == "bough" and row.runs), None)
    few, many = min(rounds), max(rounds)
    head = ["", "durable", "import s", "start s"]
    head += [f"ms/round at {n}" for n in rounds]
    head += ["growth", f"MB at {many}", *(f"disk kB at {n}" for n in rounds)]
    if agents:
        head += [f"{agents} × {agent_rounds}: ms/round", "MB", "disk kB"]
    body = []
    for row in rows:
        cells = [row.name, row.durable]
        if not row.runs:
            body.append([*cells, "; ".join(row.failed), *[""] * (len(head) - 3)])
            continue
        cells += [_seconds([run.import_seconds for run in row.runs]), _seconds(_starts(row.of(few, 0)))]
        cells += [_times(row, bough, n, 0) for n in rounds]
        cells += [_growth(row.ms(few), row.ms(many)), _size(row.most(many, 0, _rss), 2**20)]
        cells += [_size(row.most(n, 0, _disk), 1024) for n in rounds]
        if agents:
            cells.append(_times(row, bough, agent_rounds, agents))
            cells.append(_size(row.most(agent_rounds, agents, _rss), 2**20))
            cells.append(_size(row.most(agent_rounds, agents, _disk), 1024))
        body.append(cells)
    return _aligned([head, *body])


def server_line(rows: Sequence[Row], rounds: Sequence[int]) -> str:
    """What of a round is the server's."""
    parts = []
    for n in rounds:
        times = [run.server_ms for row in rows for run in row.of(n, 0)]
        if times:
            parts.append(f"{min(times):.2f} to {max(times):.2f} ms (median {median(times):.2f}) at {n} rounds")
    return "Server, processor time a request, part of the times above: " + "; ".join(parts) + "."


def processor_line(rows: Sequence[Row], rounds: int, agents: int) -> str:
    """What stays the same however busy the machine is, for readers who doubt the times."""
    parts = []
    for row in rows:
        times = [run.cpu_seconds * 1000 / (rounds * max(agents, 1)) for run in row.of(rounds, agents)]
        if times:
            parts.append(f"{row.name} {min(times):.2f}")
    what = f"{agents} × {rounds}" if agents else f"{rounds}"
    return f"Processor time of the process, ms a round at {what}, start and end included: {', '.join(parts)}."


def _rss(run: Measurement) -> int:
    return run.rss


def _disk(run: Measurement) -> int:
    return run.disk


def _starts(runs: Sequence[Measurement]) -> list[float]:
    """Seconds of a run that are not rounds: making the agent, what is loaded on first use, closing."""
    return [max(0.0, run.run_seconds - run.ms_per_round * run.rounds / 1000) for run in runs]


def _seconds(values: Sequence[float]) -> str:
    return f"{min(values):.2f}" if values else "–"


def _times(row: Row, bough: Row | None, rounds: int, agents: int) -> str:
    ms = row.ms(rounds, agents)
    if ms is None:
        return "–"
    least = bough.ms(rounds, agents) if bough and bough is not row else None
    return f"{ms:.2f} ({ms / least:.1f}×)" if least else f"{ms:.2f}"


def _growth(few: float | None, many: float | None) -> str:
    return f"{many / few:.1f}×" if few and many else "–"


def _size(value: int | None, unit: int) -> str:
    return "–" if value is None else f"{value / unit:,.0f}"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines if not _note(line, column)) for column in range(len(lines[0]))]
    printed = [_line(line, widths) for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([printed[0], rule, *printed[1:]])


def _note(line: Sequence[str], column: int) -> bool:
    """A sentence in place of numbers runs over the columns after it."""
    return column == 2 and not any(line[3:])


def _line(line: Sequence[str], widths: Sequence[int]) -> str:
    if not any(line[3:]):
        return f"| {line[0]:<{widths[0]}} | {line[1]:<{widths[1]}} | {line[2]}" + " |" * (len(line) - 2)
    cells = [
        f"{cell:<{width}}" if at < 2 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "| " + " | ".join(cells) + " |"
