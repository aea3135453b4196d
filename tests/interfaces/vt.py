"""A small terminal that rewraps long lines when it is resized, as most do: enough to see what a person would see."""

import re

_TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b(.)|(\r)|(\n)|([^\x1b\r\n]+)", re.DOTALL)


class Terminal:
    """Knows the few sequences that bough writes, and refuses all others."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines: list[str] = [""]
        self._line = 0
        self._place = 0
        self.cursor_shown = True

    def write(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            values, final, lone, carriage, newline, words = match.groups()
            assert not lone, f"an escape sequence that is not known: {match[0]!r}"
            if words:
                self._print(words)
            elif carriage:
                self._place -= self._place % self.columns
            elif newline:
                self._down()
            else:
                self._control(values, final)

    def resize(self, columns: int) -> None:
        self.columns = columns

    @property
    def shown(self) -> list[str]:
        rows = [row.rstrip() for line in self.lines for row in self._rows(line)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def _rows(self, line: str) -> list[str]:
        return [line[start : start + self.columns] for start in range(0, max(len(line), 1), self.columns)]

    def _print(self, words: str) -> None:
        line = self.lines[self._line].ljust(self._place)
        self.lines[self._line] = line[: self._place] + words + line[self._place + len(words) :]
        self._place += len(words)

    def _down(self) -> None:
        self._line += 1
        self._place = 0
        if self._line == len(self.lines):
            self.lines.append("")

    def _control(self, values: str, final: str) -> None:
        number = int(values) if values.isdigit() else 0
        if final == "A":
            for _ in range(number or 1):
                self._up()
        elif final == "G":
            self._place += (number or 1) - 1 - self._place % self.columns
        elif final == "K":
            start = self._place - self._place % self.columns
            line = self.lines[self._line]
            kept = line[:start] if values == "2" else line[: self._place]
            self.lines[self._line] = kept.ljust(start) if line[start + self.columns :] else kept
        elif final == "H":
            self._line = self._place = 0
        elif final == "J":
            self.lines[self._line :] = [self.lines[self._line][: self._place]]
        elif final in "hl":
            self.cursor_shown = final == "h"
        else:
            assert final == "m", f"an escape sequence that is not known: {values}{final}"

    def _up(self) -> None:
        if self._place >= self.columns:
            self._place -= self.columns
        elif self._line:
            column = self._place
            self._line -= 1
            last = (max(len(self.lines[self._line]), 1) - 1) // self.columns
            self._place = last * self.columns + column
