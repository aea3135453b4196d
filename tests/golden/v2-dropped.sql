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

INSERT INTO events VALUES (1, 'amber-heron', 'goal', 1, 1800000000.25, 'RequirementsRead',
  x'00000000000000000000000000000000c5b0bfe49df3bb983882954ae6025639',
  CAST('{"event":"RequirementsRead","requirements":[{"number":1,"text":"Add."},{"number":2,"text":"Raise.","dropped":"anna"}],"by":"model"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', '@control', 1, 1800000000.5, 'RequirementsDropped',
  x'00000000000000000000000000000000dd8448c819cd3762698c75a51f5bdb2b',
  CAST('{"event":"RequirementsDropped","numbers":[2],"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'RequirementsDropped',
  x'c5b0bfe49df3bb983882954ae6025639342dc12c023b10e0259a9f5c87c90af6',
  CAST('{"event":"RequirementsDropped","numbers":[2],"by":"anna","said":2}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
