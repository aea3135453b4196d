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
  x'0000000000000000000000000000000070b59ec1b1dd097e6117686613249472',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Put the work together."}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{},"rules":{},"version":"0.3.0","listed":"backlog/round"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'round', 1, 1800000000.5, 'GoalListed',
  x'000000000000000000000000000000007d5671194ba9684fe79bf25942633d2d',
  CAST('{"event":"GoalListed","entry":{"goal":"Round half up.","check":"pytest -q","needs":["parse"],"priority":2,"labels":["bug"],"cost":0.5},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 1, 1800000000.75, 'GoalEdited',
  x'000000000000000000000000000000003f89d8b278dbed2569ec9abdb95acb97',
  CAST('{"event":"GoalEdited","item":"round","entry":{"goal":"Round half to even."},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '@control', 2, 1800000001.0, 'GoalMoved',
  x'3f89d8b278dbed2569ec9abdb95acb97ffbbbe6e62d9c28b9409180026a0c344',
  CAST('{"event":"GoalMoved","item":"round","before":"parse","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 3, 1800000001.25, 'GoalDropped',
  x'ffbbbe6e62d9c28b9409180026a0c3440f203d6b6888850aa8097941f2bd6f2a',
  CAST('{"event":"GoalDropped","item":"parse","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 4, 1800000001.5, 'NightStarted',
  x'0f203d6b6888850aa8097941f2bd6f2a10cfd018416330890166691a59fbabcf',
  CAST('{"event":"NightStarted","base":"1111111111111111111111111111111111111111","commit":"2222222222222222222222222222222222222222","cost":3.0,"together":"night","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'round', 2, 1800000001.75, 'GoalTaken',
  x'7d5671194ba9684fe79bf25942633d2dcbcbe2909dd27c3e7a9fe3c81ede4377',
  CAST('{"event":"GoalTaken","run":"jade-fox","base":"1111111111111111111111111111111111111111","cost":0.5,"commit":"2222222222222222222222222222222222222222","worker":"otter"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'round', 3, 1800000002.0, 'GoalSettled',
  x'cbcbe2909dd27c3e7a9fe3c81ede4377d0471d3513b404a993bfd1cd2767e483',
  CAST('{"event":"GoalSettled","report":{"status":"completed","spend":{"rounds":3,"cost":0.2},"branch":"bough/round","files":["a.py"],"added":3,"removed":1,"conflicts":{"parse":["a.py"]}}}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', '@control', 5, 1800000002.25, 'NightJoining',
  x'10cfd018416330890166691a59fbabcfb8c2b914e2c44145f6fe8cfe81bd2b35',
  CAST('{"event":"NightJoining","run":"opal-wren"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 1, 1800000002.5, 'WorkTaken',
  x'00000000000000000000000000000000fba28512559e37dc7e2d12baf281c0e5',
  CAST('{"event":"WorkTaken","run":"jade-fox","base":"1111111111111111111111111111111111111111","tree":"3333333333333333333333333333333333333333","summary":"rounded","verdict":{"ruling":"passed","reason":"The check passed."}}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', '@control', 6, 1800000002.75, 'NightJoined',
  x'b8c2b914e2c44145f6fe8cfe81bd2b355077a48c1f67c2ee1d56b591886e4ca9',
  CAST('{"event":"NightJoined","branch":"night","commit":"4444444444444444444444444444444444444444","landed":["round"],"left_out":{"parse":"it changes a.py as round does"}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', '@control', 7, 1800000003.0, 'LessonKept',
  x'5077a48c1f67c2ee1d56b591886e4ca9acd58e266ef95ee556a67e42a2a73a32',
  CAST('{"event":"LessonKept","lesson":{"kind":"dead_end","test":"tests/test_a.py::test_b","files":["a.py"],"run":"amber-heron","hypothesis":"locale"}}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', '@control', 8, 1800000003.25, 'LessonRetired',
  x'acd58e266ef95ee556a67e42a2a73a32fdbcac1808548973d7e2708fb5cae57d',
  CAST('{"event":"LessonRetired","number":1,"why":"the test passes now","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', '@control', 9, 1800000003.5, 'NightEnded',
  x'fdbcac1808548973d7e2708fb5cae57daf697d0d92e164d159c9ef912e69dd17',
  CAST('{"event":"NightEnded","why":"everything is decided"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
