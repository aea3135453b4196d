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
  x'00000000000000000000000000000000edfd60e4a1d37c80c7b45dd6dbb8300c',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"`argmax` returns the first of equal maxima.","test_command":"pytest -q","plan_first":true}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{"rounds":60},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}},"version":"0.1.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'000000000000000000000000000000002800f83b6b56faf9c138f83edcd0c3d6',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"`argmax` returns the first of equal maxima.","test_command":"pytest -q","plan_first":true},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  x'2800f83b6b56faf9c138f83edcd0c3d6fec12d8d05cfb925d8879be4773c042f',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'RequirementsRead',
  x'fec12d8d05cfb925d8879be4773c042f88054159c842125105852bee38d54611',
  CAST('{"event":"RequirementsRead","requirements":[{"number":1,"text":"`argmax` returns the first of equal maxima.","end":43},{"number":2,"text":"It raises ValueError on an empty list.","step":"raise"}],"by":"model"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'PlanProposed',
  x'88054159c842125105852bee38d54611437abd48ae2c0720e27150b2188dcbd0',
  CAST('{"event":"PlanProposed","steps":[{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]}],"conventions":["errors are ValueError"]}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'Planned',
  x'437abd48ae2c0720e27150b2188dcbd0f5982cb7c96faac222b53dbeb886128d',
  CAST('{"event":"Planned","steps":[{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]}],"why":"the plan","conventions":["errors are ValueError"]}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ChildStarted',
  x'f5982cb7c96faac222b53dbeb886128d4a87d02690378c869b634c1c5e9339d9',
  CAST('{"event":"ChildStarted","step":"pick","task":"pick","grant":{"rounds":18}}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'pick', 1, 1800000002.0, 'TaskCreated',
  x'000000000000000000000000000000008f80c3df29acfa287d3b608a7c279288',
  CAST('{"event":"TaskCreated","step":{"name":"pick","instructions":"Write argmax.","covers":[1],"interfaces":["pick.py: argmax(items)"]},"base":"1111111111111111111111111111111111111111","limits":{"rounds":18},"rules":{"acceptance":{"examine":"always","share":0.2,"trivial":5}},"inherited":{"above":["goal: argmax"],"requirements":[{"number":1,"text":"`argmax` returns the first of equal maxima.","end":43}],"conventions":["errors are ValueError"],"interfaces":["this step leaves for others: pick.py: argmax(items)"]}}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'pick', 2, 1800000002.25, 'StateChanged',
  x'8f80c3df29acfa287d3b608a7c279288c59e194b2d0c2883451db3f44092853d',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'pick', 3, 1800000002.5, 'Examined',
  x'c59e194b2d0c2883451db3f44092853d5d236103ae02c77ea9a4970e8fd76462',
  CAST('{"event":"Examined","by":"examiner","probes":[{"name":"pick/probe-1","path":"tests/test_probe_pick_1.py","text":"def test_first():\n    from pick import argmax\n\n    assert argmax([2, 2]) == 0\n","says":"The first of two equal maxima wins.","quote":"the first of equal maxima","requirements":[1]}],"notes":["the docs are thin"],"left_out":["it is fast (nothing asks for it)"]}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'pick', 4, 1800000002.75, 'ProbesStarted',
  x'5d236103ae02c77ea9a4970e8fd764623a99948131b25980a8454ed02039d81f',
  CAST('{"event":"ProbesStarted","tree":"2222222222222222222222222222222222222222","names":["pick/probe-1"]}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'pick', 5, 1800000003.0, 'ProbesFinished',
  x'3a99948131b25980a8454ed02039d81fcd09a5ef00641e3040b300841de68557',
  CAST('{"event":"ProbesFinished","tree":"2222222222222222222222222222222222222222","results":[{"name":"pick/probe-1","outcome":"failed","output":"assert 1 == 0"}],"seconds":0.5}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'pick', 6, 1800000003.25, 'ProbeContested',
  x'cd09a5ef00641e3040b300841de685570b6fa2143a69a7d746c0f7ee7cd0159b',
  CAST('{"event":"ProbeContested","probe":"pick/probe-1","reason":"the goal leaves it open"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'pick', 7, 1800000003.5, 'ProbeRuled',
  x'0b6fa2143a69a7d746c0f7ee7cd0159b1f0b9307feb83f916f3e28c7a15f9d8f',
  CAST('{"event":"ProbeRuled","probe":"pick/probe-1","ruling":{"demanded":true,"quote":"the first of equal maxima","reason":"it says so"}}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'pick', 8, 1800000003.75, 'StateChanged',
  x'1f0b9307feb83f916f3e28c7a15f9d8f70c999bf906a1c196cfb09a73bafd761',
  CAST('{"event":"StateChanged","to":"blocked","why":"it stays so"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'goal', 7, 1800000004.0, 'ChildSettled',
  x'4a87d02690378c869b634c1c5e9339d98ebc5d8be45e2c34fd88fda6cd8834f7',
  CAST('{"event":"ChildSettled","child":"pick","state":"completed","why":"done","tree":"2222222222222222222222222222222222222222","spend":{"rounds":3},"probes":[{"name":"pick/probe-1","path":"tests/test_probe_pick_1.py","text":"def test_first():\n    from pick import argmax\n\n    assert argmax([2, 2]) == 0\n","says":"The first of two equal maxima wins.","quote":"the first of equal maxima","requirements":[1]}]}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 8, 1800000004.25, 'ExaminationSkipped',
  x'8ebc5d8be45e2c34fd88fda6cd8834f7e07a195182400a590c0a9e85bd795078',
  CAST('{"event":"ExaminationSkipped","why":"the change is small (3 lines)"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
