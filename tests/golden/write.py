"""Write a golden journal from its list of events. One that is there is never changed.

python -m tests.golden.write v1-tree
"""

import sys

from bough.adapters.stores.sql import SIZE, START, forge_link
from bough.core.events import FORMAT, encode
from tests.golden.test_golden import BLOB, GOLDEN, HERE, HOLDER, TABLES, records


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def journal(name: str) -> str:
    lines = [f"-- A journal in format {FORMAT}. Never changed once it is released: see test_golden.py.", TABLES]
    lines.append(f"INSERT INTO meta VALUES ('format', {FORMAT});\n")
    links: dict[str, bytes] = {}
    for record in records(GOLDEN[name]):
        kind, body = type(record.event).__name__, encode(record.event).decode()
        row = (record.seq, record.task, record.version, record.at, kind, body.encode())
        chain = forge_link(links.get(record.task, START), record.run, row)
        links[record.task] = chain[SIZE:]
        where = f"{record.seq}, {quoted(record.run)}, {quoted(record.task)}, {record.version}, {record.at}"
        lines.append(f"INSERT INTO events VALUES ({where}, {quoted(kind)},\n  x'{chain.hex()}',")
        lines.append(f"  CAST({quoted(body)} AS BLOB));")
    lines.append(f"\nINSERT INTO claims VALUES (7, 'amber-heron', 'goal', {quoted(HOLDER)}, 1800000015.0);")
    lines.append(f"INSERT INTO blobs VALUES ('{BLOB}', CAST('hello' AS BLOB));\n")
    return "\n".join(lines)


if __name__ == "__main__":
    path = HERE / f"{sys.argv[1]}.sql"
    if path.exists():
        raise SystemExit(f"{path.name} is there already: new kinds of event go into a new file.")
    path.write_text(journal(sys.argv[1]), "utf-8")
