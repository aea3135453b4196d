-- A journal in format 1. Never changed once it is released: see test_golden.py.
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

INSERT INTO meta VALUES ('format', 1);

INSERT INTO events VALUES (1, 'amber-heron', '', 1, 1800000000.25, 'RunStarted',
  x'00000000000000000000000000000000b02a864eda5b977e9da6d56e5c8259e9',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Publish it."}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"openai:some-model"},"limits":{},"rules":{},"version":"0.2.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', '@control', 1, 1800000000.5, 'CommandHeld',
  x'00000000000000000000000000000000431b127fd9746ffc20f9800da0af7622',
  CAST('{"event":"CommandHeld","id":"a1b2c3d4","line":"git push origin main"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 2, 1800000000.75, 'CommandRuled',
  x'431b127fd9746ffc20f9800da0af76227b8e930bb2d6a92842bed2cf6bef8ffb',
  CAST('{"event":"CommandRuled","id":"a1b2c3d4","allow":true,"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '@control', 3, 1800000001.0, 'CommandHeld',
  x'7b8e930bb2d6a92842bed2cf6bef8ffbfbc386a5ed8bb5c50570f6f62e406d22',
  CAST('{"event":"CommandHeld","id":"e5f6a7b8","line":"npm publish"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 4, 1800000001.25, 'CommandRuled',
  x'fbc386a5ed8bb5c50570f6f62e406d22cfc5012ba29eafb569b4f86e546ee56e',
  CAST('{"event":"CommandRuled","id":"e5f6a7b8","allow":false,"say":"Not before Monday.","by":"anna"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
