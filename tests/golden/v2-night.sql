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
  x'000000000000000000000000000000008754aee165e706e062f1d1a90a48d6c4',
  CAST('{"event":"GoalsListed","entries":{"round":{"goal":"Round half up.","check":"pytest -q","needs":["parse"],"priority":2,"labels":["bug"],"cost":0.5},"parse":{"goal":"Parse."}},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'round', 1, 1800000000.5, 'GoalTaken',
  x'000000000000000000000000000000001376275adab708a923fe2c3aa00bc142',
  CAST('{"event":"GoalTaken","run":"jade-fox","base":"1111111111111111111111111111111111111111","cost":0.5,"before":{"rounds":2,"cost":0.1}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 2, 1800000000.75, 'RunRemoved',
  x'8754aee165e706e062f1d1a90a48d6c433e7d1463aabb985e931ddbf604c81af',
  CAST('{"event":"RunRemoved","run":"jade-fox","spend":{"rounds":3,"cost":0.2},"applied":true}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '@control', 3, 1800000001.0, 'NightEnded',
  x'33e7d1463aabb985e931ddbf604c81affafcadb7c251451f061fa830ee6c4356',
  CAST('{"event":"NightEnded","why":"everything is decided","spend":{"rounds":1,"cost":0.1}}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
