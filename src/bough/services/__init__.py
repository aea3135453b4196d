"""The services around runs: working through a backlog (a night), workers, delivery, messages, hooks, receipts.

Each file is one service, which works on a journal or a session that `bough.app` has opened."""
