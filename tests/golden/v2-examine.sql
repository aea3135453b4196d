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
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'GoalProposed',
  x'078c907f7884b5722e7a0203307691f9652329275544ff62f819c38d33d5d982',
  CAST('{"event":"GoalProposed","title":"Old dates are parsed.","why":"They are not.","files":["dates.py"]}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '@control', 1, 1800000001.0, 'HookFailed',
  x'000000000000000000000000000000003b050c512e89dc47c0d7b77bf696b46f',
  CAST('{"event":"HookFailed","hook":"run_finished","why":"it ended with status 1"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 2, 1800000001.25, 'Rechecked',
  x'3b050c512e89dc47c0d7b77bf696b46f956901c8395fc173a976454fed077859',
  CAST('{"event":"Rechecked","onto":"main","commit":"3333333333333333333333333333333333333333","standing":"broken","culprit":"4444444444444444444444444444444444444444","why":"tests/test_a.py::test_b fails"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 3, 1800000001.5, 'NeedlessFound',
  x'956901c8395fc173a976454fed077859785f78c8e202ca605019a9e38ec6bb4d',
  CAST('{"event":"NeedlessFound","tree":"2222222222222222222222222222222222222222","needless":[{"path":"a.py","first":3,"last":4}],"undecided":[{"path":"b.py","why":"it is entangled"}],"needed":[{"path":"c.py","first":1,"last":1,"by":["goal/probe-1"]}],"tests":["goal/probe-1"],"checks":7,"limit":40}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
