-- A journal in format 2. Never changed once it is released: see test_golden.py.
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    version INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
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
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Put the work together."}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{},"rules":{},"version":"0.3.0","listed":"backlog/round"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'round', 1, 1800000000.5, 'GoalListed',
  CAST('{"event":"GoalListed","entry":{"goal":"Round half up.","check":"pytest -q","needs":["parse"],"priority":2,"labels":["bug"],"cost":0.5},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 1, 1800000000.75, 'GoalEdited',
  CAST('{"event":"GoalEdited","item":"round","entry":{"goal":"Round half to even."},"by":"ada"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '@control', 2, 1800000001.0, 'GoalMoved',
  CAST('{"event":"GoalMoved","item":"round","before":"parse","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 3, 1800000001.25, 'GoalDropped',
  CAST('{"event":"GoalDropped","item":"parse","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 4, 1800000001.5, 'NightStarted',
  CAST('{"event":"NightStarted","base":"1111111111111111111111111111111111111111","commit":"2222222222222222222222222222222222222222","cost":3.0,"together":"night","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'round', 2, 1800000001.75, 'GoalTaken',
  CAST('{"event":"GoalTaken","run":"jade-fox","base":"1111111111111111111111111111111111111111","cost":0.5,"commit":"2222222222222222222222222222222222222222","worker":"otter"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'round', 3, 1800000002.0, 'GoalSettled',
  CAST('{"event":"GoalSettled","report":{"status":"completed","spend":{"rounds":3,"cost":0.2},"branch":"bough/round","files":["a.py"],"added":3,"removed":1,"conflicts":{"parse":["a.py"]}}}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', '@control', 5, 1800000002.25, 'NightJoining',
  CAST('{"event":"NightJoining","run":"opal-wren"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 1, 1800000002.5, 'WorkTaken',
  CAST('{"event":"WorkTaken","run":"jade-fox","base":"1111111111111111111111111111111111111111","tree":"3333333333333333333333333333333333333333","summary":"rounded","verdict":{"ruling":"passed","reason":"The check passed."}}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', '@control', 6, 1800000002.75, 'NightJoined',
  CAST('{"event":"NightJoined","branch":"night","commit":"4444444444444444444444444444444444444444","landed":["round"],"left_out":{"parse":"it changes a.py as round does"}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', '@control', 7, 1800000003.0, 'LessonKept',
  CAST('{"event":"LessonKept","lesson":{"kind":"dead_end","test":"tests/test_a.py::test_b","files":["a.py"],"run":"amber-heron","hypothesis":"locale"}}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', '@control', 8, 1800000003.25, 'LessonRetired',
  CAST('{"event":"LessonRetired","number":1,"why":"the test passes now","by":"ada"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', '@control', 9, 1800000003.5, 'NightEnded',
  CAST('{"event":"NightEnded","why":"everything is decided"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
