"""The network access of commands: none, unless the person opens it."""

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from bough.adapters.sandboxes.levels import SandboxLevel
from bough.adapters.sandboxes.limits import PROXY_PORT
from bough.core.errors import UsageError
from bough.trust.files import Place

REGISTRIES = """
    pypi.org files.pythonhosted.org registry.npmjs.org registry.yarnpkg.com static.crates.io index.crates.io crates.io
    proxy.golang.org sum.golang.org repo.maven.apache.org repo1.maven.org plugins.gradle.org rubygems.org
    index.rubygems.org repo.packagist.org api.nuget.org hex.pm repo.hex.pm
""".split()  # noqa: SIM905
"""The hosts from which package managers usually install."""
_OWN_REGISTRIES = """
    PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX UV_INDEX UV_EXTRA_INDEX_URL npm_config_registry
    NPM_CONFIG_REGISTRY GOPROXY
""".split()  # noqa: SIM905
"""Variables in which people name their own registries."""
_HOST = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?|\[[0-9a-f:]+\](:\d{1,5})?")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_LOOPBACK = ("0100007F", "00000000000000000000000001000000")
_MOST = 64
"""The most ports of the machine's localhost that commands can reach."""
HOW = "use off, loopback, registries, allow:HOST,… or on"


class Network(Struct, frozen=True):
    mode: Literal["off", "loopback", "allow", "on"] = "off"
    hosts: tuple[str, ...] = ()
    """The hosts that mode `allow` lets through: `example.org`, `*.example.org`, `example.org:8080`."""
    upstream: str = ""
    """The URL of the proxy that the person uses, if any."""

    @property
    def says(self) -> str:
        """Describe which network access commands have, for people and models."""
        if self.mode == "off":
            return "no network (only what a command itself serves on localhost)"
        if self.mode == "loopback":
            more = len(list_machine_ports()) - _MOST
            left = f" (its {_MOST} lowest ports; {more} more are not reached)" if more > 0 else ""
            return f"no network except the services on this machine's localhost{left}"
        if self.mode == "allow":
            known = ("the package registries",) if set(REGISTRIES) <= set(self.hosts) else ()
            hosts = (*known, *(host for host in self.hosts if not known or host not in REGISTRIES))
            return f"network: only {', '.join(hosts)}, through the proxy that HTTPS_PROXY names"
        return "network: open"

    def request(self) -> dict[str, Any]:
        """Return the network's part of a request to the spawner."""
        ports = list_machine_ports()[:_MOST] if self.mode == "loopback" else []
        return {"shared": self.mode == "on", "hosts": list(self.hosts), "ports": ports, "upstream": self.upstream}

    def env(self) -> dict[str, str]:
        """Return the environment variables by which commands find the relay's proxy."""
        if self.mode != "allow":
            return {}
        here = f"http://127.0.0.1:{PROXY_PORT}"
        names = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), here)
        local = "localhost,127.0.0.1,::1"
        return {**names, "NO_PROXY": local, "no_proxy": local, "NODE_USE_ENV_PROXY": "1"}


OFF = Network()


def describe_reach(level: SandboxLevel, network: Network) -> str:
    """Describe what commands can reach. Without a network namespace, "no network" means that they have no sockets."""
    alone = network.mode == "off" and level.name in ("landlock", "seatbelt")
    return "no network and no sockets" if alone else network.says


def describe_confinement(level: SandboxLevel, network: Network) -> str:
    """Describe the confinement of commands, for the banner of a run."""
    reach, gaps = describe_reach(level, network), f"commands can {'; '.join(level.gaps)}"
    if level.name == "namespaces":
        return f"commands see and change only their workspace; {reach}"
    if level.name == "none":
        return f"off: {gaps}"
    how = "sandbox-exec" if level.name == "seatbelt" else f"Landlock only ({level.why_not_more})"
    return f"{how}: commands write in their workspace only; {reach}; but {gaps}"


def parse_network(text: str, env: Mapping[str, str]) -> Network:
    """Parse the network setting as a person writes it. `registries` means the usual package registries and those that
    the environment names."""
    upstream = next((env[name] for name in _PROXIES if env.get(name, "").startswith("http")), "")
    if text in ("off", "loopback", "on"):
        return Network(text)  # type: ignore[arg-type]
    words = text.removeprefix("allow:").lower().split(",") if text.startswith("allow:") else [text]
    hosts: list[str] = []
    for word in (word.strip() for word in words):
        if word == "registries":
            hosts += [*REGISTRIES, *_list_own_registries(env)]
        elif text.startswith("allow:") and _HOST.fullmatch(word):
            hosts.append(word)
        else:
            raise UsageError(f"`{text}` is not a network setting: {HOW}.")
    return Network("allow", tuple(dict.fromkeys(hosts)), upstream)


def _list_own_registries(env: Mapping[str, str]) -> list[str]:
    found = []
    for name in _OWN_REGISTRIES:
        for url in re.split(r"[\s,|]+", env.get(name, "")):
            parts = urlsplit(url)
            if parts.hostname:
                usual = {"http": 80, "https": 443}.get(parts.scheme)
                found.append(parts.hostname if parts.port in (None, usual) else f"{parts.hostname}:{parts.port}")
    return found


def list_machine_ports() -> list[int]:
    """List the TCP ports on which a process of this machine listens on localhost, or on all addresses."""
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in Place("/proc/net", name).text(64 << 20).splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, port = local.partition(":")
            if state == "0A" and (set(address) <= {"0"} or address in _LOOPBACK):
                ports.add(int(port, 16))
    return sorted(ports - {PROXY_PORT})
