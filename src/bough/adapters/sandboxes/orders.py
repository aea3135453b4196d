"""Constants that bough and its spawner process share: messages, times and numbers."""

from __future__ import annotations

GRACE = 0.5
"""Seconds between asking a command to end (SIGTERM) and killing it (SIGKILL)."""
PATIENCE = 5.0
"""Seconds to wait for killed processes to disappear, because one may hang in the kernel for good."""
HIRE, QUIT = b"+", b"-"
"""bough's messages to the spawner: start a supervisor, whose control socket comes along; end."""
END, END_NOW = b"t", b"k"
"""bough's messages to a supervisor while its command runs: end it after a grace period; kill it at once."""
SHARED = 2
"""How many handles a command needs to join the user and network namespaces of a workspace's services."""
PROXY_PORT = 3128
"""The port of the relay's proxy inside the commands' network namespace."""
