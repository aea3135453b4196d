"""Ordinary work inside the namespaces: what people build and test must not notice them."""

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.sandboxes.supervisors import probe
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.ports import CommandResult
from tests.adapters.test_sandbox import shell
from tests.sampling import in_turn

pytestmark = pytest.mark.skipif(bool(probe()), reason=f"no namespaces here: {probe()}")


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def reachable(host: str) -> bool:
    try:
        socket.create_connection((host, 443), 3).close()
    except OSError:
        return False
    return True


def work(tmp_path: Path, files: dict[str, str], line: str, network: str = "off") -> CommandResult:
    checkout: PlainFolder = make_plain_folder(tmp_path)
    for name, text in files.items():
        (checkout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout.root / name).write_text(text)
    reach: Network = parse_network(network, os.environ)
    sandbox = make_sandbox("namespaces", make_env(os.environ), network=reach)
    finished = shell(sandbox, checkout, f"set -e; {line}", timeout=120)
    assert finished.exit_status == 0, finished.output.decode()
    return finished


@in_turn
def test_pytest_with_xdist(tmp_path: Path) -> None:
    files = {"test_a.py": "def test_a(tmp_path): (tmp_path / 'x').write_text('')\ndef test_b(): pass\n"}
    said = work(tmp_path, files, f"{sys.executable} -m pytest -q -n 2 -p no:cacheprovider")
    assert b"2 passed" in said.output


@in_turn
def test_a_test_that_opens_a_loopback_server(tmp_path: Path) -> None:
    code = """
import http.server, threading, urllib.request
def test_it():
    server = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f"http://localhost:{server.server_port}/").status == 200
"""
    said = work(tmp_path, {"test_server.py": code}, f"{sys.executable} -m pytest -q -p no:cacheprovider")
    assert b"1 passed" in said.output


def test_processes_semaphores_and_terminals(tmp_path: Path) -> None:
    code = """
import multiprocessing, os, pty, tempfile, asyncio
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    with multiprocessing.Manager() as manager:
        manager.dict()["a"] = 1
    ours, theirs = pty.openpty()
    os.write(theirs, b"x")
    assert os.read(ours, 1) == b"x"
    tempfile.mkdtemp(); os.makedirs(os.path.expanduser("~/.cache/tool"))
    async def child():
        process = await asyncio.create_subprocess_exec("true")
        assert await process.wait() == 0
    asyncio.run(child())
    print("fine", os.cpu_count())
"""
    assert b"fine" in work(tmp_path, {"all.py": code}, f"{sys.executable} all.py").output


@in_turn
@needs("node")
def test_node(tmp_path: Path) -> None:
    code = """
const test = require("node:test"), http = require("http"), { Worker } = require("worker_threads");
test("server", (t, done) => {
  const server = http.createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", () =>
    http.get({ port: server.address().port, host: "127.0.0.1" }, (r) => { server.close(); r.resume(); done(); }));
});
test("worker", (t, done) => { new Worker("1", { eval: true }).on("exit", () => done()); });
"""
    assert b"# pass 2" in work(tmp_path, {"a.test.js": code}, "node --test --test-reporter=tap").output


@needs("make", "gcc")
def test_make_and_c(tmp_path: Path) -> None:
    files = {
        "main.c": '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n',
        "Makefile": "all: main\n\t./main\nmain: main.c\n\tgcc -O1 -o main main.c\n",
    }
    assert b"built" in work(tmp_path, files, "make -j2").output


@needs("git")
def test_git_and_archives(tmp_path: Path) -> None:
    line = (
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline; "
        "tar cf a.tar file.txt && mkdir out && tar xf a.tar -C out && gzip -k file.txt"
    )
    work(tmp_path, {"file.txt": "x"}, line)


@in_turn
@pytest.mark.skipif(not reachable("pypi.org"), reason="no network here")
def test_pip_installs_from_the_registries(tmp_path: Path) -> None:
    make = f"{sys.executable} -m venv --without-pip v; {sys.executable} -m pip --python v/bin/python install -q "
    if shutil.which("uv"):
        make = "uv venv -q v; uv pip install -q -p v/bin/python "
    line = f"{make} six==1.17.0; v/bin/python -c 'import six; print(six.__version__)'"
    assert b"1.17.0" in work(tmp_path, {}, line, "registries").output


@in_turn
@needs("npm")
@pytest.mark.skipif(not reachable("registry.npmjs.org"), reason="no network here")
def test_npm_installs_from_the_registries(tmp_path: Path) -> None:
    files = {"package.json": '{"name": "x", "version": "1.0.0", "dependencies": {"is-number": "7.0.0"}}'}
    line = "npm install --no-audit --no-fund 2>&1; node -e 'console.log(require(\"is-number\")(5))'"
    assert b"true" in work(tmp_path, files, line, "registries").output
