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
  x'000000000000000000000000000000001241e13df19858cf01fe2a6a86fec439',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Round half up.","test_command":"pytest -q"}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{"rounds":60},"rules":{"checks":{"allow_test_changes":["tests/test_old.py*"]}},"version":"0.1.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000856a7bb633deb01d5aa42cf77a2cea0e',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Round half up.","test_command":"pytest -q"},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{"checks":{"allow_test_changes":["tests/test_old.py*"]}},"inherited":{"allowed":[{"test":"test_r.py::test_half","change":"    assert half(2.5) == 3","by":"judge","why":"the request demands it: “half up”"}]}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  x'856a7bb633deb01d5aa42cf77a2cea0e1fdefb5feaeaca4e1478d37681b2bf65',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'AttemptStarted',
  x'1fdefb5feaeaca4e1478d37681b2bf650bc394a50f8e34bb3b4a540aa41ac6b1',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You are an agent.","brief":"Round half up."}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'Disputed',
  x'0bc394a50f8e34bb3b4a540aa41ac6b1008aa793bd7e2ae9b6fe82240d00a126',
  CAST('{"event":"Disputed","test":"test_r.py::test_half","evidence":"The request says half up."}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'DoneClaimed',
  x'008aa793bd7e2ae9b6fe82240d00a1266e2dc5bd88009e9e0ebc01b458b10aa1',
  CAST('{"event":"DoneClaimed","summary":"It rounds half up."}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'StateChanged',
  x'6e2dc5bd88009e9e0ebc01b458b10aa17e855d758e75dcee2d4a7d9511faba81',
  CAST('{"event":"StateChanged","to":"testing","why":"the agent says it is done"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 7, 1800000002.0, 'CheckStarted',
  x'7e855d758e75dcee2d4a7d9511faba81a41c5808a39c080f853e523e2c39381a',
  CAST('{"event":"CheckStarted","command":"pytest -q","found":"the step''s test_command"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 8, 1800000002.25, 'CheckFinished',
  x'a41c5808a39c080f853e523e2c39381a292dd4e12d0308b19ec0b70a5d2f0770',
  CAST('{"event":"CheckFinished","verdict":{"ruling":"needs_approval","reason":"the check passes, but with the original tests restored test_r.py::test_half does not: assert 3 == 2","command":"pytest -q","exit_status":0,"tree":"2222222222222222222222222222222222222222","how":"junit","passed":2,"changed":["test_r.py"],"disagreements":[{"test":"test_r.py::test_half","path":"test_r.py","was":"    assert half(2.5) == 2","now":"    assert half(2.5) == 3","said":"assert 3 == 2"},{"test":"test_new.py::test_gone","path":"test_new.py","said":"it does not run","asked":false,"own":true}],"advice":[{"path":"r.py","line":3,"what":"looks for a test run"}],"canary":"1 test fails with its expected values made wrong"}}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 9, 1800000002.5, 'ChangesRuled',
  x'292dd4e12d0308b19ec0b70a5d2f07709c550bb34c0448c7d02509e714c03c4e',
  CAST('{"event":"ChangesRuled","by":"judge","tree":"2222222222222222222222222222222222222222","allowed":[{"test":"test_r.py::test_half","change":"    assert half(2.5) == 3","by":"judge","why":"the request demands it: “half up”"}],"why":"“half up” demands it."}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 10, 1800000002.75, 'ChangesRuled',
  x'9c550bb34c0448c7d02509e714c03c4efbc6a17b8be4e020ba439c3636b2061a',
  CAST('{"event":"ChangesRuled","by":"person","tree":"2222222222222222222222222222222222222222","denied":["test_new.py::test_gone"],"why":"Keep it."}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 11, 1800000003.0, 'StateChanged',
  x'fbc6a17b8be4e020ba439c3636b2061a600bfa8051b25f9ce90d081a756d9d68',
  CAST('{"event":"StateChanged","to":"test_failed","why":"the check passes, but with the original tests restored test_r.py::test_half does not: assert 3 == 2"}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 12, 1800000003.25, 'FindingReturned',
  x'600bfa8051b25f9ce90d081a756d9d6864618c17381af73f7408a856fd11b66e',
  CAST('{"event":"FindingReturned","text":"The check passes, but the original tests disagree."}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'goal', 13, 1800000003.5, 'StateChanged',
  x'64618c17381af73f7408a856fd11b66e68cdf8d8cf6a7aa05dbf1e6b07081261',
  CAST('{"event":"StateChanged","to":"in_progress","why":"it goes back to the same agent"}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'goal', 14, 1800000003.75, 'TaskHalted',
  x'68cdf8d8cf6a7aa05dbf1e6b07081261b3d5ec472061777952de251c1abafae4',
  CAST('{"event":"TaskHalted","reason":"needs_approval","message":"nobody has allowed that"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', '', 2, 1800000004.0, 'RunHalted',
  x'1241e13df19858cf01fe2a6a86fec4396f1a85a696ce0f6552e59c0f16c376b1',
  CAST('{"event":"RunHalted","reason":"needs_approval","message":"nobody has allowed that"}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 15, 1800000004.25, 'ChangesRuled',
  x'b3d5ec472061777952de251c1abafae4444b0724e6161a3d077cef6157bb3df2',
  CAST('{"event":"ChangesRuled","by":"earlier","tree":"2222222222222222222222222222222222222222","verdict":{"ruling":"passed","reason":"the check passed (tests: 2 passed), and original tests were changed","exit_status":0}}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
