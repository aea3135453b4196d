"""The messages between bough and its spawner: all that bough itself loads of the spawner's code."""

from __future__ import annotations

GRACE = 0.5
"""Seconds between asking a command to end and ending it."""
PATIENCE = 5.0
"""Seconds to wait for killed processes to disappear: one may hang in the kernel for good."""
HIRE, QUIT = b"+", b"-"
"""bough's messages to the spawner; the first comes with a supervisor's control socket."""
END, END_NOW = b"t", b"k"
"""bough's messages to a supervisor while its command runs."""
SHARED = 2
"""Handles by which a command joins the users and the network of a workspace's services."""
PROXY_PORT = 3128
"""The port of the relay's proxy, in a network without other servers."""
