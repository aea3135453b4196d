"""Whoever waits for news of a journal misses nothing that was written since it last read."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bough.adapters.stores.news import News


@pytest.mark.anyio
async def test_what_was_written_between_reading_and_waiting_is_news(tmp_path: Path) -> None:
    store: Any = SimpleNamespace(path=tmp_path / "journal.db")
    news = News(store)
    try:
        news.clear()
        (tmp_path / "journal.db-wal").write_bytes(b"written after it was read")
        await asyncio.wait_for(news.wait(), 30)
        news.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(news.wait(), 0.2)
    finally:
        news.close()
