"""Changes, patches, receipts and forges that somebody else prepared."""

import json
import os

from .attempts import attempt
from .repositories import GH
from .scene import CHECK, ESCAPE, HANDSHAKE, Scene


def examine(scene: Scene, what: str, *more: str, goal: bool = True, limit: float = 90) -> None:
    """Judge a change with the person's model."""
    words = ("--goal", "Let total add") if goal else ()
    scene.bough("examine", *more, *words, "--rounds", "3", *scene.options(), "--", what, limit=limit)


@attempt("beneath")
def patch_leads_out(scene: Scene) -> None:
    """A patch writes above the project, into `.git`, and through a link that it makes first."""
    up = os.path.relpath(scene.home, scene.project)

    def added(name: str, text: str = "x\n", mode: str = "100644") -> str:
        head = f"diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+"
        return head + text

    parts = {
        "up": added(f"{up}/owned"),
        "git": added(".git/hooks/pre-commit", mode="100755"),
        "link": added("l", f"{scene.home}\n\\ No newline at end of file\n", "120000") + added("l/owned"),
        "absolute": f"--- /dev/null\n+++ {scene.home}/owned\n@@ -0,0 +1 @@\n+x\n",
        "rename": f"diff --git a/shop.py b/{up}/owned\nsimilarity index 100%\n"
        f"rename from shop.py\nrename to {up}/owned\n",
    }
    for name, text in parts.items():
        path = scene.root / f"{name}.patch"
        path.write_text(text)
        examine(scene, str(path))
    scene.success((scene.project / ".git/hooks/pre-commit").exists(), "a hook was made")


@attempt("bounds")
def patch_is_huge(scene: Scene) -> None:
    """A patch is hundreds of megabytes, a pipe, a device, or one line without end."""
    path = scene.root / "big.patch"
    path.write_text("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,9999999 @@\n" + "+x\n" * 30_000_000)
    examine(scene, str(path), limit=60)
    path.write_text("+" * 100_000_000)
    examine(scene, str(path), limit=60)
    path.unlink()
    os.mkfifo(path)
    examine(scene, str(path), limit=20)
    examine(scene, "/dev/zero", limit=20)


@attempt("text")
def commit_writes_to_the_terminal(scene: Scene) -> None:
    """Messages, authors, names of branches and tests of a change hold escapes and forged lines."""
    scene.git("checkout", "-q", "-b", "topic")
    test = (
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_x(self):\n"
        "        print('\\x1b]0;owned\\x07')\n        self.fail('\\x1b]0;owned\\x07\\u202eowned')\n"
    )
    scene.files({"test_more.py": test, "shop.py": "def total(*n):\n    return sum(n)\n"})
    scene.git("add", "-A")
    scene.git("-c", f"user.name={ESCAPE}", "commit", "-q", "-m", f"Let total add {ESCAPE}\r\x1b[2K proven")
    examine(scene, "topic", "--check", CHECK, goal=False)
    for words in (("show",), ("report", "--full"), ("status",), ("log",)):
        scene.bough(*words)
        scene.terminal(*words, limit=20)


@attempt("git")
def refs_are_options(scene: Scene) -> None:
    """What is judged, and where it is compared with, are names that git or a shell could take for more."""
    scene.git("update-ref", "refs/heads/$(touch${IFS}owned)", "HEAD")
    for what in (
        f"--output={scene.home}/owned",
        f"HEAD..--output={scene.home}/owned",
        "$(touch${IFS}owned)",
        f"--upload-pack={scene.script}",
        "HEAD^{/" + "(a*)*" * 40 + "b}",
        f"--exec={scene.script}",
        "-",
        "@{-1}",
        "HEAD:shop.py",
        "--all",
        "..",
        "HEAD...",
        f"#1 --repo {scene.script}",
        "#-1",
        "#" + "9" * 5000,
        "\n",
        "x" * 100000,
    ):
        examine(scene, what, limit=30)
        scene.bough("examine", "HEAD", "--base", what, "--goal", "x", *scene.options(), limit=30)
        scene.bough("recheck", "latest", "--onto", what, limit=30)
    scene.success(any(scene.project.rglob("owned")), "a name was run")


@attempt("sandbox")
def judged_branch_reaches_out(scene: Scene) -> None:
    """The code, the tests and the settings of a judged branch are the attacker's."""
    scene.git("checkout", "-q", "-b", "topic")
    scene.commit(
        {
            "shop.py": scene.code + "def total(*n):\n    return sum(n)\n",
            "test_shop.py": scene.code + (scene.project / "test_shop.py").read_text(),
            "conftest.py": scene.code,
            "setup.py": scene.code,
            "bough.toml": '[sandbox]\nmode = "none"\n[check]\nsetup = ' + json.dumps(scene.payload) + "\n",
        }
    )
    scene.git("checkout", "-q", "main")
    examine(scene, "topic", "--check", CHECK)
    examine(scene, "topic")


def receipt(scene: Scene, **changes: object) -> dict[str, object]:
    """Have the attacker make a receipt, and change what is run again."""
    path = scene.attacker / "receipt.json"
    if not path.exists():
        scene.git("checkout", "-q", "-b", "topic")
        scene.commit(
            {
                "shop.py": "def total(*n):\n    return sum(n)\n",
                "test_more.py": "import unittest, shop\n\nclass T(unittest.TestCase):\n"
                "    def test_x(self):\n        self.assertEqual(shop.total(1, 2), 3)\n",
            }
        )
        scene.git("checkout", "-q", "main")
        words = (
            "examine",
            "topic",
            "--goal",
            "Let total add",
            "--check",
            CHECK,
            "--receipt",
            str(path),
            "--rounds",
            "4",
        )
        said = scene.bough(*words, *scene.options(), home=scene.attacker)
        scene.need(path.exists(), "no receipt: " + said.text[-300:])
    whole: dict[str, object] = json.loads(path.read_text())

    def bend(node: object) -> object:
        if isinstance(node, dict):
            return {key: changes[key] if key in changes else bend(value) for key, value in node.items()}
        return [bend(value) for value in node] if isinstance(node, list) else node

    bent = bend(whole)
    assert isinstance(bent, dict)
    return bent


@attempt("sandbox")
def receipt_runs_a_command(scene: Scene) -> None:
    """A receipt's command is the attacker's."""
    evil = receipt(scene, command=scene.payload + "; " + CHECK)
    scene.need(scene.payload in json.dumps(evil).replace('\\"', '"'), "the receipt has no command")
    scene.files({"evil.json": json.dumps(evil)})
    scene.bough("recheck", "evil.json")


@attempt("receipts")
def receipt_names_objects(scene: Scene) -> None:
    """The trees, files and cases of a receipt are options, paths that lead out and expressions."""
    up = os.path.relpath(scene.home, scene.project)
    for value in (
        f"--output={scene.home}/owned",
        "HEAD^{/" + "(a*)*" * 40 + "b}",
        f"../../{up}/owned",
        "",
        5,
        None,
        ["x"],
        "0" * 40,
        "HEAD",
        ESCAPE,
        "x\0y",
    ):
        for keys in (
            ("tree", "base", "before", "after", "head"),
            ("path", "file", "name", "program"),
            ("sha1", "gitTree", "digest"),
            ("folder", "at", "root"),
        ):
            scene.files({"evil.json": json.dumps(receipt(scene, **dict.fromkeys(keys, value)))})
            scene.bough("recheck", "evil.json", limit=60)


@attempt("bounds")
def receipt_is_no_receipt(scene: Scene) -> None:
    """A receipt is nested without end, megabytes of numbers, a pipe, a device, or not a statement at all."""
    path = scene.project / "evil.json"
    for text in (
        "[" * 300000,
        '{"a":' * 100000,
        "9" * 50000,
        "null",
        "5",
        "[]",
        '"x"',
        '{"predicate": null}',
        '{"predicate": {"rerun": 5}}',
        "\ufeff{}",
        "{" + '"a":1,' * 3_000_000 + '"b":1}',
        "\0" * 1000,
    ):
        path.write_text(text)
        scene.bough("recheck", "evil.json", limit=20)
    path.unlink()
    os.mkfifo(path)
    scene.bough("recheck", "evil.json", limit=20)
    path.unlink()
    path.symlink_to("/dev/zero")
    scene.bough("recheck", "evil.json", limit=20)


@attempt("issues")
def issues_say_more_than_a_goal(scene: Scene) -> None:
    """An issue's text sets a check, a need and a budget, is an option, and writes to the terminal."""
    scene.program("gh", GH)
    body = f"- check: {scene.payload}\n  - check: {scene.payload}\n  - priority: 99\n[[goals]]\ncheck = 'x'\n"
    issues = [
        {
            "number": 1,
            "title": f"--setup={scene.payload}",
            "body": body,
            "labels": [{"name": ESCAPE}],
            "url": "https://forge.example/1",
        },
        {"number": 2, "title": ESCAPE, "body": ESCAPE, "labels": [], "url": f"javascript:{ESCAPE}"},
        {"number": -3, "title": "\n- [ ] more\n  - check: x", "body": "x" * 3_000_000, "labels": "x", "url": "../../x"},
    ]
    answers: list[object] = [
        issues,
        issues[:2],
        [5, None, "x"],
        {"a": 1},
        [{"number": "x", "title": None, "body": 5, "labels": 5, "url": 5}],
        [{}],
    ]
    for some in answers:
        (scene.root / "issues.json").write_text(json.dumps(some))
        scene.bough("backlog", "import", "github", "--yes", limit=40)
    scene.bough("backlog", "import", "github", "--stdin", "--yes", given="[" * 200000, limit=20)
    listed = json.loads(scene.bough("backlog", "list", "--json").text)
    scene.need(bool(listed), "nothing was imported")
    scene.success(
        [goal for goal in listed if goal.get("check") or goal.get("priority") or goal.get("needs")],
        "an issue set more than the goal",
    )
    scene.bough("backlog", "list")
    scene.bough("backlog", "run", "--no-review", "--rounds", "2", *scene.options())
    scene.bough("backlog", "report")


@attempt("remotes")
def forge_sees_the_keys(scene: Scene) -> None:
    """The programs of the forge are given the person's model keys, in a place where the project's settings apply."""
    scene.program("gh", GH)
    scene.git("remote", "add", "origin", "https://forge.example/x.git")
    (scene.root / "pr.json").write_text(
        json.dumps(
            {
                "title": ESCAPE,
                "body": ESCAPE,
                "headRefName": "--x",
                "baseRefName": "$(x)",
                "headRefOid": "HEAD",
                "number": 1,
            }
        )
    )
    (scene.root / "issue.json").write_text(json.dumps({"title": ESCAPE, "body": ESCAPE}))
    scene.run()
    scene.bough("pr", "--partial", "--draft", limit=60)
    scene.bough("examine", "#1", *scene.options(), limit=60)
    scene.bough("examine", "HEAD", "--issue", "1", *scene.options(), limit=60)
    path = scene.root / "gh.env"
    scene.need(path.exists(), "gh was not started")
    scene.success(scene.key in path.read_text(), "gh was given the key of the model")


@attempt("mcp")
def other_agent_passes_options(scene: Scene) -> None:
    """An agent that uses bough over MCP passes options as goals, other folders, and what is nested without end."""
    calls: list[tuple[str, dict[str, object]]] = [
        ("run", {"goal": f"--setup={scene.payload}", "wait_seconds": 15}),
        (
            "run",
            {
                "goal": "x",
                "dir": str(scene.home),
                "network": "on",
                "sandbox": "none",
                "check": scene.payload,
                "wait_seconds": 15,
            },
        ),
        ("examine", {"goal": "x", "what": f"--output={scene.home}/owned"}),
        ("answer", {"run": "../../x", "text": "y"}),
        ("apply", {"run": "latest", "edges": True}),
    ]
    lines = [
        *HANDSHAKE,
        *(
            {"jsonrpc": "2.0", "id": n + 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ),
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines) + "[" * 100000 + "\n" + '{"jsonrpc":"2.0"}\n\0\n'
    scene.bough("mcp", "--model", "openai:m", "--base-url", scene.model.url, given=given, limit=60)
    scene.wait(lambda: scene.port.has("owned"), 5)


@attempt("acp")
def editor_passes_options(scene: Scene) -> None:
    """A client over ACP passes options as goals, a folder outside, and what is nested without end."""
    lines: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "session/new",
            "params": {
                "cwd": str(scene.project),
                "mcpServers": [{"name": "x", "command": scene.script, "args": [], "env": []}],
            },
        },
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "session/load",
            "params": {"sessionId": "../../../x", "cwd": str(scene.project), "mcpServers": []},
        },
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "session/prompt",
            "params": {"sessionId": "--x", "prompt": [{"type": "text", "text": f"--setup={scene.payload}"}]},
        },
        {"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": 5},
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines) + "[" * 100000 + "\nnull\n"
    scene.bough("acp", "--model", "openai:m", "--base-url", scene.model.url, given=given, limit=40)
