"""A very small editor, as 29 steps write it: for each step of the plan, the files that it makes."""


def _test(name: str, body: str) -> str:
    return f"def test_{name}():\n    {body}\n\n\n"


def _tests(**bodies: str) -> str:
    return "".join(_test(name, body) for name, body in bodies.items())


BUFFER = """\
class Buffer:
    def __init__(self, text=""):
        self.lines = text.split("\\n")

    def insert(self, row, column, text):
        line = self.lines[row]
        self.lines[row : row + 1] = (line[:column] + text + line[column:]).split("\\n")

    def text(self):
        return "\\n".join(self.lines)
"""
EDITOR = """\
from vi.buffer import Buffer


class Editor:
    def __init__(self, text=""):
        self.buffer = Buffer(text)
        self.row = self.column = 0
"""
UNDO = """\
class History:
    def __init__(self, now):
        self.past, self.now, self.ahead = [], now, []

    def do(self, new):
        self.past.append(self.now)
        self.now, self.ahead = new, []

    def undo(self):
        self.ahead.append(self.now)
        self.now = self.past.pop()
        return self.now

    def redo(self):
        self.past.append(self.now)
        self.now = self.ahead.pop()
        return self.now
"""
STEPS: dict[str, dict[str, str]] = {
    "foundation/design-architecture": {"docs/architecture.md": "# Architecture\n\nA buffer, a cursor, modes.\n"},
    "foundation/create-test-framework": {
        "tests/test_smoke.py": _tests(smoke="import vi\n    assert vi.__doc__"),
        "conftest.py": "",
    },
    "foundation/setup-project-structure": {
        "vi/__init__.py": '"""A small vi."""\n',
        "pyproject.toml": '[project]\nname = "vi"\nversion = "1"\n',
    },
    "buffer/buffer-tests": {
        "tests/test_buffer.py": _tests(
            insert='from vi.buffer import Buffer\n    b = Buffer("ac")\n    b.insert(0, 1, "b")\n'
            '    assert b.text() == "abc"'
        )
    },
    "buffer/buffer-impl": {"vi/buffer.py": BUFFER},
    "buffer/buffer-integration": {
        "vi/editor.py": EDITOR,
        "tests/test_buffer_with_editor.py": _tests(
            holds='from vi.editor import Editor\n    assert Editor("x").buffer.text() == "x"'
        ),
    },
    "navigation/navigation-tests": {
        "tests/test_navigation.py": _tests(right='from vi.motions import right\n    assert right("abc", 2) == 2')
    },
    "navigation/navigation-impl": {
        "vi/motions.py": "def right(line, column):\n    return min(column + 1, max(len(line) - 1, 0))\n"
    },
    "navigation/navigation-integration": {"vi/normal.py": 'from vi import motions\n\nKEYS = {"l": motions.right}\n'},
    "editing/editing-tests": {
        "tests/test_editing.py": _tests(
            insert_mode='from vi.insert import insert\n    assert insert("ac", 1, "b") == "abc"',
            delete_x='from vi.delete import x\n    assert x("abc", 1) == "ac"',
            paste_p='from vi.paste import p\n    assert p("ac", 0, "b") == "abc"',
            visual_d='from vi.visual import d\n    assert d("abcd", 1, 2) == "ad"',
        )
    },
    "editing/insert-mode": {"vi/insert.py": "def insert(line, at, text):\n    return line[:at] + text + line[at:]\n"},
    "editing/delete": {"vi/delete.py": "def x(line, at):\n    return line[:at] + line[at + 1 :]\n"},
    "editing/yank-paste": {
        "vi/paste.py": "def p(line, at, text):\n    return line[: at + 1] + text + line[at + 1 :]\n"
    },
    "editing/visual": {"vi/visual.py": "def d(line, first, last):\n    return line[:first] + line[last + 1 :]\n"},
    "advanced/undo-tests": {
        "tests/test_undo.py": _tests(
            undo="from vi.undo import History\n    h = History(1)\n    h.do(2)\n"
            "    assert (h.undo(), h.redo()) == (1, 2)"
        )
    },
    "advanced/undo-redo": {"vi/undo.py": UNDO},
    "advanced/search-tests": {
        "tests/test_search.py": _tests(
            search='from vi.search import find\n    assert find("abcabc", "c", 3) == 5',
            replace_all='from vi.replace import replace\n    assert replace("aa", "a", "b", True) == "bb"',
        )
    },
    "advanced/search": {"vi/search.py": "def find(text, what, start):\n    return text.find(what, start)\n"},
    "advanced/replace": {
        "vi/replace.py": "def replace(line, old, new, all_of_them):\n"
        "    return line.replace(old, new) if all_of_them else line.replace(old, new, 1)\n"
    },
    "file-io/file-io-tests": {
        "tests/test_files.py": "from vi.files import read, write\n\n\ndef test_round_trip(tmp_path):\n"
        '    write(tmp_path / "f", "x")\n    assert read(tmp_path / "f") == "x"\n'
    },
    "file-io/file-io-impl": {
        "vi/files.py": "def read(path):\n    return path.read_text()\n\n\ndef write(path, text):\n"
        '    beside = path.with_name(path.name + "~")\n    beside.write_text(text)\n    beside.replace(path)\n'
    },
    "file-io/file-io-integration": {
        "vi/document.py": "class Document:\n    def __init__(self, text):\n        self.saved = self.text = text\n\n"
        "    @property\n    def changed(self):\n        return self.text != self.saved\n"
    },
    "display-cli/display-tests": {
        "tests/test_display.py": _tests(
            window='from vi.screen import draw\n    assert draw(["ab", "cd", "ef"], 1, 2) == ["cd", "ef"]'
        )
    },
    "display-cli/display-impl": {
        "vi/screen.py": "def draw(lines, top, height):\n    return lines[top : top + height]\n"
    },
    "display-cli/command-mode": {
        "vi/commands.py": 'def run(line):\n    return {"q": "quit", "w": "write"}.get(line, "what?")\n',
        "tests/test_commands.py": _tests(quit='from vi.commands import run\n    assert run("q") == "quit"'),
    },
    "display-cli/start": {"vi/__main__.py": "import sys\n\nprint(sys.argv[1:])\n"},
    "integration/end-to-end-tests": {
        "tests/test_sessions.py": _tests(
            session='from vi.session import play\n    assert play("ac", "lib") == "abc"',
        )
    },
    "integration/put-together": {
        "vi/session.py": "from vi.insert import insert\nfrom vi.motions import right\n\n\ndef play(text, keys):\n"
        "    column = 0\n    while keys:\n        key, keys = keys[0], keys[1:]\n        if key == 'l':\n"
        "            column = right(text, column)\n        elif key == 'i':\n"
        "            return insert(text, column, keys)\n    return text\n"
    },
    "integration/documentation": {"README.md": "# vi\n\n`python -m vi FILE`\n"},
}
