"""The services besides driving one run: the night, workers, delivery, messages, hooks, receipts.

Each file is one service. It is given a journal or a session that `bough.app` has put together.
"""
