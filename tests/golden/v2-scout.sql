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
  x'00000000000000000000000000000000220514d543b1eeb9cefb91e2e0999db1',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it."}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{},"rules":{},"version":"0.3.0","setup":"npm ci"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', '', 2, 1800000000.5, 'CheckScouted',
  x'220514d543b1eeb9cefb91e2e0999db15a19fda56804872a71dab57c989525b8',
  CAST('{"event":"CheckScouted","commands":["true","busted"],"refused":{"true":"no test was seen in its output"},"usage":{"input":10,"output":2},"cost":0.1,"model":"m"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '', 3, 1800000000.75, 'BaseStarted',
  x'5a19fda56804872a71dab57c989525b81fd066e9539ab08e87d11badf5dbccda',
  CAST('{"event":"BaseStarted","command":"busted","why":"a model proposed it"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '', 4, 1800000001.0, 'BaseChecked',
  x'1fd066e9539ab08e87d11badf5dbccdae1b8cc796537e62ff17e3d238676fda0',
  CAST('{"event":"BaseChecked","command":"busted","why":"a model proposed it","exit_status":1,"passed":3,"failed":1,"scouted":true,"aside":{"spec/a_spec.lua::far":"it needs network access (example.org), which commands do not have"}}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
