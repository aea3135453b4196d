"""The functions that goals are made of: what each has to do, bodies that do it and bodies that do not, and cases."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One function of a module. `right` and `wrong` are bodies; every wrong one fails at least one case."""

    module: str
    name: str
    arguments: str
    spec: str
    right: str
    wrong: tuple[str, ...]
    cases: tuple[tuple[str, str], ...]
    """Arguments of a call, and what it returns, both as Python."""

    @property
    def key(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def stub(self) -> str:
        return f'raise NotImplementedError("{self.name}")'

    @property
    def line(self) -> str:
        """How a task asks for it."""
        return f"- `{self.key}({self.arguments})`: {self.spec}"


def _module(module: str, *rows: tuple[str, str, str, str, tuple[str, ...], tuple[tuple[str, str], ...]]) -> list[Item]:
    return [Item(module, *row) for row in rows]


ITEMS: tuple[Item, ...] = tuple(
    _module(
        "text",
        (
            "slugify",
            "title",
            "words in lower case, joined by dashes.",
            'return "-".join(title.lower().split())',
            ('return title.lower().replace(" ", "-")', 'return "_".join(title.lower().split())'),
            (("'A  b'", "'a-b'"), ("'X'", "'x'")),
        ),
        (
            "initials",
            "name",
            "first letters of all parts in capitals.",
            'return "".join(part[0].upper() for part in name.split())',
            ("return name[0].upper()", 'return "".join(part[0] for part in name.split())'),
            (("'ada lovelace'", "'AL'"), ("'bo'", "'B'")),
        ),
        (
            "shorten",
            "sentence, most",
            "cut to `most` characters, ending in an ellipsis when something was cut.",
            'return sentence if len(sentence) <= most else sentence[: most - 1] + "…"',
            ("return sentence[:most]", 'return sentence[: most - 1] + "…"'),
            (("'abcdef', 4", "'abc…'"), ("'abc', 4", "'abc'")),
        ),
        (
            "vowels",
            "phrase",
            "how many vowels it has, in either case.",
            'return sum(letter in "aeiou" for letter in phrase.lower())',
            ('return sum(letter in "aeiou" for letter in phrase)', 'return len(set(phrase.lower()) & set("aeiou"))'),
            (("'AbEe'", "3"), ("'xyz'", "0")),
        ),
    )
    + _module(
        "figures",
        (
            "clamp",
            "value, low, high",
            "the nearest number inside of the bounds.",
            "return max(low, min(value, high))",
            ("return min(value, high)", "return max(value, low)"),
            (("5, 1, 3", "3"), ("0, 1, 3", "1")),
        ),
        (
            "digits",
            "integer",
            "sum of its decimal figures; the sign does not matter.",
            "return sum(int(figure) for figure in str(abs(integer)))",
            ("return integer % 9", "return len(str(abs(integer)))"),
            (("-123", "6"), ("99", "18")),
        ),
        (
            "divisors",
            "natural",
            "everything that divides it, ascending.",
            "return [d for d in range(1, natural + 1) if natural % d == 0]",
            (
                "return [d for d in range(1, natural) if natural % d == 0]",
                "return [d for d in range(2, natural + 1) if natural % d == 0]",
            ),
            (("6", "[1, 2, 3, 6]"), ("1", "[1]")),
        ),
        (
            "halvings",
            "amount",
            "how often it can be halved before becoming odd.",
            "count = 0\nwhile amount and amount % 2 == 0:\n    amount //= 2\n    count += 1\nreturn count",
            ("return amount // 2", "count = 0\nwhile amount > 1:\n    amount //= 2\n    count += 1\nreturn count"),
            (("12", "2"), ("7", "0")),
        ),
    )
    + _module(
        "sequences",
        (
            "chunks",
            "series, size",
            "consecutive pieces with `size` elements; the final piece may have fewer.",
            "return [series[i : i + size] for i in range(0, len(series), size)]",
            (
                "return [series[i : i + size] for i in range(0, len(series) - size + 1, size)]",
                "return [series[i : i + size] for i in range(len(series))]",
            ),
            (("[1, 2, 3], 2", "[[1, 2], [3]]"), ("[], 2", "[]")),
        ),
        (
            "unique",
            "series",
            "without repetitions, order of first appearance kept.",
            "return list(dict.fromkeys(series))",
            ("return sorted(set(series), reverse=True)", "return [x for x in series if series.count(x) == 1]"),
            (("[2, 1, 2, 3]", "[2, 1, 3]"),),
        ),
        (
            "rotate",
            "series, places",
            "shifted leftwards; whatever falls off comes back at the right.",
            "places = places % len(series) if series else 0\nreturn series[places:] + series[:places]",
            ("return series[-places:] + series[:-places]", "return series[places:]"),
            (("[1, 2, 3, 4], 1", "[2, 3, 4, 1]"), ("[1, 2], 3", "[2, 1]")),
        ),
        (
            "pairs",
            "series",
            "neighbouring elements as tuples.",
            "return list(zip(series, series[1:]))",
            ("return list(zip(series[::2], series[1::2]))", "return [(a, b) for a in series for b in series]"),
            (("[1, 2, 3]", "[(1, 2), (2, 3)]"),),
        ),
    )
    + _module(
        "clock",
        (
            "seconds",
            "stamp",
            "of a stamp like `1:02:03`, counted since midnight.",
            'h, m, s = (int(part) for part in stamp.split(":"))\nreturn (h * 60 + m) * 60 + s',
            ('h, m, s = (int(part) for part in stamp.split(":"))\nreturn h * 60 + m + s', "return int(stamp[-2:])"),
            (("'1:02:03'", "3723"), ("'0:00:09'", "9")),
        ),
        (
            "stamp",
            "elapsed",
            "minutes and seconds with a colon, seconds always with two figures.",
            'return f"{elapsed // 60}:{elapsed % 60:02d}"',
            ('return f"{elapsed // 60}:{elapsed % 60}"', 'return f"{elapsed // 3600}:{elapsed % 60:02d}"'),
            (("65", "'1:05'"), ("9", "'0:09'")),
        ),
        (
            "leap",
            "year",
            "whether the Gregorian calendar gives it a 29th of February.",
            "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
            ("return year % 4 == 0", "return year % 4 == 0 and year % 100 != 0"),
            (("1900", "False"), ("2000", "True"), ("2024", "True")),
        ),
        (
            "overlap",
            "one, other",
            "whether two half-open intervals share a moment.",
            "return one[0] < other[1] and other[0] < one[1]",
            ("return one[0] <= other[1] and other[0] <= one[1]", "return one[1] > other[0]"),
            (("(1, 3), (2, 4)", "True"), ("(1, 2), (2, 3)", "False"), ("(5, 6), (1, 2)", "False")),
        ),
    )
    + _module(
        "grid",
        (
            "transpose",
            "rows",
            "columns become lines of the matrix.",
            "return [list(column) for column in zip(*rows)]",
            ("return [list(reversed(row)) for row in rows]", "return rows[::-1]"),
            (("[[1, 2], [3, 4]]", "[[1, 3], [2, 4]]"),),
        ),
        (
            "neighbours",
            "x, y",
            "the four cells beside: left, right, above, below.",
            "return [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]",
            (
                "return [(x - 1, y), (x + 1, y)]",
                "return [(x - 1, y - 1), (x + 1, y + 1), (x, y - 1), (x, y + 1)]",
            ),
            (("1, 1", "[(0, 1), (2, 1), (1, 0), (1, 2)]"),),
        ),
        (
            "distance",
            "start, goal",
            "steps of a rook that moves one square at a time.",
            "return abs(start[0] - goal[0]) + abs(start[1] - goal[1])",
            (
                "return max(abs(start[0] - goal[0]), abs(start[1] - goal[1]))",
                "return start[0] - goal[0] + start[1] - goal[1]",
            ),
            (("(0, 0), (2, 3)", "5"), ("(3, 1), (1, 1)", "2")),
        ),
        (
            "border",
            "width, height",
            "how many squares of the board lie at its rim.",
            "return width * height - max(0, width - 2) * max(0, height - 2)",
            ("return 2 * (width + height)", "return 2 * (width + height) - 4"),
            (("3, 3", "8"), ("1, 4", "4")),
        ),
    )
    + _module(
        "bag",
        (
            "tally",
            "votes",
            "dictionary of how often each candidate occurs.",
            "return {vote: votes.count(vote) for vote in votes}",
            ("return {vote: 1 for vote in votes}", "return len(set(votes))"),
            (("['a', 'b', 'a']", "{'a': 2, 'b': 1}"),),
        ),
        (
            "winner",
            "votes",
            "most frequent candidate; alphabetically first among equals.",
            "return min(votes, key=lambda vote: (-votes.count(vote), vote))",
            ("return max(votes, key=votes.count)", "return min(votes)"),
            (("['b', 'a', 'b', 'a']", "'a'"), ("['b', 'b', 'a']", "'b'")),
        ),
        (
            "invert",
            "mapping",
            "values become keys; sorted lists of former keys become values.",
            "return {v: sorted(k for k in mapping if mapping[k] == v) for v in mapping.values()}",
            (
                "return {v: k for k, v in mapping.items()}",
                "return {v: [k] for k, v in mapping.items()}",
            ),
            (("{'b': 1, 'a': 1}", "{1: ['a', 'b']}"),),
        ),
        (
            "missing",
            "wanted, owned",
            "sorted ingredients that the pantry lacks.",
            "return sorted(set(wanted) - set(owned))",
            ("return sorted(set(owned) - set(wanted))", "return sorted(set(wanted) ^ set(owned))"),
            (("['x', 'b', 'a'], ['x', 'y']", "['a', 'b']"),),
        ),
    )
)
BY_KEY = {item.key: item for item in ITEMS}
BY_NAME = {item.name: item for item in ITEMS}
MODULES = tuple(dict.fromkeys(item.module for item in ITEMS))
