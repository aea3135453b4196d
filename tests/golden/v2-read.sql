-- A journal in format 2. Never changed once it is released: see test_golden.py.
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    version INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    chain BLOB,
    body BLOB NOT NULL,
    UNIQUE (run, task, version)
);
CREATE INDEX events_of_run ON events (run, seq, kind);
CREATE TABLE claims (
    epoch INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    worker TEXT NOT NULL,
    expires REAL NOT NULL,
    UNIQUE (run, task)
);
CREATE TABLE blobs (name TEXT PRIMARY KEY, body BLOB NOT NULL);

INSERT INTO meta VALUES ('format', 2);

INSERT INTO events VALUES (1, 'amber-heron', '@control', 1, 1800000000.25, 'GoalsListed',
  x'0000000000000000000000000000000016db3e7206b323caba1df8b6c59d047b',
  CAST('{"event":"GoalsListed","entries":{"round":{"goal":"Round half up.","check":"pytest -q","needs":["parse"],"priority":2,"labels":["bug"],"cost":0.5}},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', '@control', 2, 1800000000.5, 'GoalsReviewed',
  x'16db3e7206b323caba1df8b6c59d047b17f7acb9296c07a0b703678812ad5b99',
  CAST('{"event":"GoalsReviewed","findings":{"round":[{"kind":"vague","says":"which way?","question":"Up or down?"}]},"spend":{"rounds":1},"by":"ada"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
