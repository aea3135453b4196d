"""What commands reach over the network is what the person opened."""

import asyncio
import http.server
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.sandboxes.relay import is_allowed
from bough.adapters.sandboxes.supervisors import probe
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.core.errors import UsageError
from tests.adapters.test_sandbox import shell

namespaces = pytest.mark.skipif(bool(probe()), reason=f"no namespaces here: {probe()}")


@pytest.fixture
def server() -> Iterator[int]:
    """A service on this machine."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"reached")

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving.server_port
        serving.shutdown()


def fetch(tmp_path: Path, network: Network, url: str, mode: str = "namespaces") -> str:
    sandbox = make_sandbox(mode, make_env(os.environ), network=network)  # type: ignore[arg-type]
    return shell(sandbox, make_plain_folder(tmp_path), f"curl -sS -m 10 {url} 2>&1").output.decode()


@namespaces
def test_nothing_by_default(tmp_path: Path, server: int) -> None:
    assert "reached" not in fetch(tmp_path, Network(), f"http://127.0.0.1:{server}/")


@namespaces
def test_an_allowed_host_through_the_proxy(tmp_path: Path, server: int) -> None:
    network = parse_network(f"allow:localhost:{server}", {})
    url = f"http://localhost:{server}/"
    assert "reached" not in fetch(tmp_path, network, f"--noproxy '*' {url}")
    (tmp_path / "b").mkdir()
    assert fetch(tmp_path / "b", network, f"--noproxy '' {url}") == "reached"


@namespaces
def test_another_host_or_port_is_refused_and_says_so(tmp_path: Path, server: int) -> None:
    network = parse_network("allow:example.org", {})
    said = fetch(tmp_path, network, f"--noproxy '' http://localhost:{server}/")
    assert "does not reach localhost" in said and "example.org" in said


@namespaces
def test_the_services_of_this_machine(tmp_path: Path, server: int) -> None:
    assert fetch(tmp_path, Network("loopback"), f"http://127.0.0.1:{server}/") == "reached"


@namespaces
def test_all_of_it(tmp_path: Path, server: int) -> None:
    assert fetch(tmp_path, Network("on"), f"http://127.0.0.1:{server}/") == "reached"


def test_landlock_alone_gives_all_or_nothing(tmp_path: Path, server: int) -> None:
    assert "reached" not in fetch(tmp_path, Network(), f"http://127.0.0.1:{server}/", "landlock")
    (tmp_path / "b").mkdir()
    assert fetch(tmp_path / "b", Network("on"), f"http://127.0.0.1:{server}/", "landlock") == "reached"
    with pytest.raises(UsageError, match=r"not available here.*use --network off or on"):
        make_sandbox("landlock", {}, network=Network("loopback"))


def test_as_a_person_writes_it() -> None:
    assert parse_network("off", {}).mode == "off"
    assert parse_network("allow:a.org,*.b.org,c.org:8080", {}).hosts == ("a.org", "*.b.org", "c.org:8080")
    preset = parse_network("registries", {"PIP_INDEX_URL": "https://mirror.corp:8443/simple"})
    assert {"pypi.org", "registry.npmjs.org", "mirror.corp:8443"} <= set(preset.hosts)
    assert parse_network("allow:a.org", {"HTTPS_PROXY": "http://proxy:8080"}).upstream == "http://proxy:8080"
    for wrong in ("", "open", "allow:", "allow:a b", "allow:a/b"):
        with pytest.raises(UsageError, match="is not a network setting"):
            parse_network(wrong, {})


def test_which_hosts_fit() -> None:
    assert is_allowed("a.org", 443, ["a.org"]) and is_allowed("a.org", 80, ["a.org"])
    assert not is_allowed("a.org", 22, ["a.org"]) and not is_allowed("b.a.org", 443, ["a.org"])
    assert is_allowed("b.a.org", 443, ["*.a.org"]) and not is_allowed("a.org", 443, ["*.a.org"])
    assert not is_allowed("evil-a.org", 443, ["*.a.org", "a.org"])
    assert is_allowed("a.org", 8080, ["a.org:8080"]) and not is_allowed("a.org", 443, ["a.org:8080"])


@namespaces
def test_a_service_is_reached_by_its_workspace_alone_and_ends_with_it(tmp_path: Path) -> None:
    sandbox = make_sandbox("namespaces", make_env(os.environ))
    (tmp_path / "other").mkdir()
    checkout, other = make_plain_folder(tmp_path), make_plain_folder(tmp_path / "other")
    serve, get = ["python3", "-m", "http.server", "8123"], ["curl", "-sS", "-o", "/dev/null", "--retry-connrefused"]
    (checkout.root / "here").touch()

    async def use() -> None:
        service = await sandbox.serve(serve, workspace=checkout, limit=10_000, env={})
        reach = [*get, "--retry", "30", "--retry-delay", "1", "http://127.0.0.1:8123/here"]
        assert (await sandbox.run(reach, workspace=checkout, timeout=60, limit=10_000)).exit_status == 0
        once = [*get, "http://127.0.0.1:8123/here"]
        assert (await sandbox.run(once, workspace=other, timeout=60, limit=10_000)).exit_status != 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", 8123)).close()
        service.cancel()
        await asyncio.gather(service, return_exceptions=True)
        assert (await sandbox.run(once, workspace=checkout, timeout=60, limit=10_000)).exit_status != 0

    asyncio.run(use())
