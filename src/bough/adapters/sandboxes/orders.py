"""What bough and its spawner say to each other: all that bough itself loads of what runs in there."""

from __future__ import annotations

GRACE = 0.5
"""Seconds between asking a command to end and ending it."""
PATIENCE = 5.0
"""Seconds to wait for killed processes to be gone: one may hang in the kernel for good."""
HIRE, QUIT = b"+", b"-"
"""What bough may send to the spawner; the first with a supervisor's control socket."""
END, END_NOW = b"t", b"k"
"""What bough may send to a supervisor while its command runs."""
SHARED = 2
"""Handles by which a command joins the users and the network of a workspace's services."""
PROXY_PORT = 3128
"""Where the relay's proxy listens, in a network where nobody else does."""
