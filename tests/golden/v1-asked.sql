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
  x'00000000000000000000000000000000cca3c651dac5e710bb82c9fa79cf509e',
  CAST('{"event":"CommandHeld","id":"a1b2c3d4","line":"git push origin main","task":"goal","until":1800000060.0}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 2, 1800000000.75, 'CommandRuled',
  x'cca3c651dac5e710bb82c9fa79cf509e049eb376655ca2f6682e53a38296331d',
  CAST('{"event":"CommandRuled","id":"a1b2c3d4","allow":false}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 1, 1800000001.0, 'TaskCreated',
  x'000000000000000000000000000000008c8edbfb82cac44ce27b0d7ac7266014',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Publish it."},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 2, 1800000001.25, 'ChangesAsked',
  x'8c8edbfb82cac44ce27b0d7ac726601458714d4a71d80c7ddb0a4d707f5a7ff3',
  CAST('{"event":"ChangesAsked","tests":["test_half.py::test_half"]}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 3, 1800000001.5, 'ChangesAnswered',
  x'049eb376655ca2f6682e53a38296331d02e5b4c18f358719899f65cd09acdd0f',
  CAST('{"event":"ChangesAnswered","task":"goal","allow":false,"say":"Keep it.","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 3, 1800000001.75, 'ChangesRuled',
  x'58714d4a71d80c7ddb0a4d707f5a7ff363b04f1afe6cb888277fa6f35ca5ba27',
  CAST('{"event":"ChangesRuled","by":"person","tree":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","denied":["test_half.py::test_half"],"why":"Keep it.","person":"anna"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
