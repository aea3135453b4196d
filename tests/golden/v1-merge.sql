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

INSERT INTO events VALUES (1, 'amber-heron', '@run', 1, 1800000000.25, 'RunStarted',
  x'0000000000000000000000000000000059dbd82ddd7e79f8fd990b190449806e',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"All of it.","steps":[{"name":"a","instructions":"Make a.","test_command":"pytest -q","files":["list.txt+","core.py"]},{"name":"b","instructions":"Make b.","test_command":"pytest -q","files":["list.txt+","core.py"]},{"name":"c","instructions":"Make c.","test_command":"pytest -q","files":["list.txt+","core.py"]}],"parallel":true}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"scripted"},"limits":{"rounds":60},"rules":{},"version":"0.1.0","jobs":2}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000cd45404b6ef6495122163d70216e40f3',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"All of it.","steps":[{"name":"a","instructions":"Make a.","test_command":"pytest -q","files":["list.txt+","core.py"]},{"name":"b","instructions":"Make b.","test_command":"pytest -q","files":["list.txt+","core.py"]},{"name":"c","instructions":"Make c.","test_command":"pytest -q","files":["list.txt+","core.py"]}],"parallel":true},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'ChildStarted',
  x'cd45404b6ef6495122163d70216e40f3bc0036b2cedb948efa9ea75dd690b23e',
  CAST('{"event":"ChildStarted","step":"a","task":"a","grant":{"rounds":16}}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'ChildHeld',
  x'bc0036b2cedb948efa9ea75dd690b23eb7e2d847037318d3f1acceb29c663b62',
  CAST('{"event":"ChildHeld","step":"b","other":"a","files":["core.py"]}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'ChildSettled',
  x'b7e2d847037318d3f1acceb29c663b62ab51cbb4e8f6f2bb864a68ad3eba4987',
  CAST('{"event":"ChildSettled","child":"a","state":"completed","why":"3 tests passed","tree":"2222222222222222222222222222222222222222","spend":{"rounds":2},"cases":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'ChildStarted',
  x'ab51cbb4e8f6f2bb864a68ad3eba4987dab17d4f7571dcfd0d86e758fe793f73',
  CAST('{"event":"ChildStarted","step":"b","task":"b","grant":{"rounds":16}}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ChildMerged',
  x'dab17d4f7571dcfd0d86e758fe793f735f22393863033ea1be92b692f8030012',
  CAST('{"event":"ChildMerged","child":"b","tree":"4444444444444444444444444444444444444444","conflicts":["core.py"],"both":["list.txt"]}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'b/merge', 1, 1800000002.0, 'TaskCreated',
  x'0000000000000000000000000000000037ff0ca65fd35ab76ecdafda5f1900ae',
  CAST('{"event":"TaskCreated","step":{"name":"merge","instructions":"Both."},"base":"2222222222222222222222222222222222222222","limits":{"rounds":60},"rules":{},"merge":{"base":"1111111111111111111111111111111111111111","ours":"2222222222222222222222222222222222222222","theirs":"3333333333333333333333333333333333333333","tree":"4444444444444444444444444444444444444444","needed":[{"step":{"name":"b","test_command":"pytest -q"},"task":"b","cases":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"},{"step":{"name":"a","test_file":"test_a.py"},"task":"a"}]}}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 7, 1800000002.25, 'ChildMerged',
  x'5f22393863033ea1be92b692f8030012e394aaec3d16b5e4b12a0defd2b78326',
  CAST('{"event":"ChildMerged","child":"c","tree":"4444444444444444444444444444444444444444","verdict":{"ruling":"passed","reason":"3 tests passed","command":"pytest -q","exit_status":0,"tree":"4444444444444444444444444444444444444444","how":"junit","passed":3},"both":["list.txt"],"remade":["uv.lock"],"ahead":true}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
