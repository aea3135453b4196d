-- A journal in format 1. Never changed once it is released: see test_golden.py.
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

INSERT INTO meta VALUES ('format', 1);

INSERT INTO events VALUES (1, 'amber-heron', '', 1, 1800000000.25, 'RunStarted',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"`argmax` returns the first of equal maxima.","test_command":"pytest -q","plan_first":true}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{"rounds":60},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}},"version":"0.1.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"`argmax` returns the first of equal maxima.","test_command":"pytest -q","plan_first":true},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'RequirementsRead',
  CAST('{"event":"RequirementsRead","requirements":[{"number":1,"text":"`argmax` returns the first of equal maxima.","end":43},{"number":2,"text":"It raises ValueError on an empty list.","step":"raise"}],"by":"model"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'PlanProposed',
  CAST('{"event":"PlanProposed","steps":[{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]}],"conventions":["errors are ValueError"]}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'Planned',
  CAST('{"event":"Planned","steps":[{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]}],"why":"the plan","conventions":["errors are ValueError"]}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ChildStarted',
  CAST('{"event":"ChildStarted","step":"pick","task":"pick","grant":{"rounds":18}}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'pick', 1, 1800000002.0, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]},"base":"1111111111111111111111111111111111111111","limits":{"rounds":18},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}},"inherited":{"above":["goal: argmax"],"requirements":[{"number":1,"text":"`argmax` returns the first of equal maxima.","end":43}],"conventions":["errors are ValueError"],"interfaces":["this step leaves for others: pick.py: argmax(items)"]}}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'pick', 2, 1800000002.25, 'StateChanged',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'pick', 3, 1800000002.5, 'Examined',
  CAST('{"event":"Examined","by":"examiner","probes":[{"name":"pick/probe-1","path":"tests/test_probe_pick_1.py","text":"def test_first():\n    from pick import argmax\n\n    assert argmax([2, 2]) == 0\n","says":"The first of two equal maxima wins.","quote":"the first of equal maxima","requirements":[1]}],"notes":["the docs are thin"],"left_out":["it is fast (nothing asks for it)"]}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'pick', 4, 1800000002.75, 'ProbesStarted',
  CAST('{"event":"ProbesStarted","tree":"2222222222222222222222222222222222222222","names":["pick/probe-1"]}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'pick', 5, 1800000003.0, 'ProbesFinished',
  CAST('{"event":"ProbesFinished","tree":"2222222222222222222222222222222222222222","results":[{"name":"pick/probe-1","outcome":"failed","output":"assert 1 == 0"}],"seconds":0.5}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'pick', 6, 1800000003.25, 'ProbeContested',
  CAST('{"event":"ProbeContested","probe":"pick/probe-1","reason":"the goal leaves it open"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'pick', 7, 1800000003.5, 'ProbeRuled',
  CAST('{"event":"ProbeRuled","probe":"pick/probe-1","ruling":{"demanded":true,"quote":"the first of equal maxima","reason":"it says so"}}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'pick', 8, 1800000003.75, 'StateChanged',
  CAST('{"event":"StateChanged","to":"blocked","why":"it stays so"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'goal', 7, 1800000004.0, 'ChildSettled',
  CAST('{"event":"ChildSettled","child":"pick","state":"completed","why":"done","tree":"2222222222222222222222222222222222222222","spend":{"rounds":3},"probes":[{"name":"pick/probe-1","path":"tests/test_probe_pick_1.py","text":"def test_first():\n    from pick import argmax\n\n    assert argmax([2, 2]) == 0\n","says":"The first of two equal maxima wins.","quote":"the first of equal maxima","requirements":[1]}]}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 8, 1800000004.25, 'ExaminationSkipped',
  CAST('{"event":"ExaminationSkipped","why":"the change is small (3 lines)"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
