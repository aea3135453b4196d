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

INSERT INTO events VALUES (1, 'amber-heron', '', 1, 1800000000.25, 'RunStarted',
  x'00000000000000000000000000000000ea309ae8deb2f914409845cd51de3ed1',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it.","given":"2222222222222222222222222222222222222222"}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"a:m"},"limits":{},"rules":{},"version":"0.5.0","examines":"topic"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000078c907f7884b5722e7a0203307691f9',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it.","given":"2222222222222222222222222222222222222222"},"base":"1111111111111111111111111111111111111111","limits":{},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 1, 1800000000.75, 'PartTried',
  x'000000000000000000000000000000007e50112dc31fdf100091f90a1a4cb4fa',
  CAST('{"event":"PartTried","tree":"3333333333333333333333333333333333333333","asked":["goal/probe-1"],"others":["tests/test_a.py::test_b"]}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
