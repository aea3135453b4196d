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
  x'000000000000000000000000000000004fd5a0d09dfa10cf26ec80996017f981',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it."}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"fast":"a:m","main":"a:m","strong":"a:m","main+1":"b:n"},"limits":{},"rules":{},"version":"0.4.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000a259e6c1c96c77eb81da2d9a345631c0',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it."},"base":"1111111111111111111111111111111111111111","limits":{},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'AttemptStarted',
  x'a259e6c1c96c77eb81da2d9a345631c019437dfe58438b4a29a88bea56ec1cb1',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You are an engineer.","brief":"Fix it."}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'RoundStarted',
  x'19437dfe58438b4a29a88bea56ec1cb15c4a1a9632aa8f12fc18368d91caedc8',
  CAST('{"event":"RoundStarted"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'ModelFailed',
  x'5c4a1a9632aa8f12fc18368d91caedc8c7f0c266ca0467b07783122960305194',
  CAST('{"event":"ModelFailed","message":"the quota is exhausted","wait":0.0,"seconds":0.5}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'ModelSwitched',
  x'c7f0c266ca0467b07783122960305194f42d4ed7b6bc03c3e11136b22ee55363',
  CAST('{"event":"ModelSwitched","tier":"main","to":"main+1","model":"b:n","why":"the quota is exhausted","window":8192,"may_change":true,"restarts":true,"until":1800000000.0}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ModelSwitched',
  x'f42d4ed7b6bc03c3e11136b22ee55363ba5b0b6cbb75bb88de8c875c2db1ea0a',
  CAST('{"event":"ModelSwitched","tier":"main","to":"main","model":"a:m","why":"the next task begins with the first model"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
