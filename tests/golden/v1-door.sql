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
  x'00000000000000000000000000000000b5e982e6cd4b25a9aa53a75f53decb48',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it."}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"openai:some-model"},"limits":{},"rules":{},"version":"0.2.0","endpoints":{"openai:some-model":"http://127.0.0.1:8080/v1"}}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', '', 2, 1800000000.5, 'BaseStarted',
  x'b5e982e6cd4b25a9aa53a75f53decb484ddafdcdae24a0ad8e02dd523f238165',
  CAST('{"event":"BaseStarted","command":"python3 -m pytest","why":"pytest is configured in pyproject.toml","environment":"the environment in .venv"}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '', 3, 1800000000.75, 'BaseChecked',
  x'4ddafdcdae24a0ad8e02dd523f238165a7af3c4b4df5ab832a49f5d75bed7914',
  CAST('{"event":"BaseChecked","command":"python3 -m pytest","why":"pytest is configured in pyproject.toml","environment":"the environment in .venv","exit_status":1,"passed":66,"failed":2,"seconds":2.5,"lacking":"freezegun is not installed (requirements/tests.txt names it)","way_out":"Install it there.","left_out":[".env"]}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', '', 4, 1800000001.0, 'RunHalted',
  x'a7af3c4b4df5ab832a49f5d75bed7914b126f0c7fcfdd2b2d31ed7223da23b24',
  CAST('{"event":"RunHalted","reason":"environment","message":"freezegun is not installed. Install it there."}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '', 5, 1800000001.25, 'RunResumed',
  x'b126f0c7fcfdd2b2d31ed7223da23b242ca443d76baae0e078bc39d5dd1f8d64',
  CAST('{"event":"RunResumed","worker":"w1","limits":{},"models":{"main":"openai:some-model"},"endpoints":{"openai:some-model":"http://127.0.0.1:1/v1"}}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '', 6, 1800000001.5, 'BaseChecked',
  x'2ca443d76baae0e078bc39d5dd1f8d644431b1987719e22a7a58f4226bbe3f03',
  CAST('{"event":"BaseChecked"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', '', 7, 1800000001.75, 'Applied',
  x'4431b1987719e22a7a58f4226bbe3f039292b4c67d2c434b404204447be4b469',
  CAST('{"event":"Applied","tree":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","files":["a.py"],"before":"cccccccccccccccccccccccccccccccccccccccc","after":"dddddddddddddddddddddddddddddddddddddddd","commit":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', '', 8, 1800000002.0, 'Undone',
  x'9292b4c67d2c434b404204447be4b4691dd77e55cebe7bc1695efb87542a2cf8',
  CAST('{"event":"Undone","files":["a.py"]}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', '', 9, 1800000002.25, 'Judged',
  x'1dd77e55cebe7bc1695efb87542a2cf846ca39f475e96642e31819272124d817',
  CAST('{"event":"Judged","verdict":{"ruling":"passed","reason":"the check passed"}}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 1, 1800000002.5, 'TaskCreated',
  x'00000000000000000000000000000000cc05aa35d68fddebe180c4b10d7a76ac',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it."},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{},"rules":{}}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
