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
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Support inlines: code spans. Describe it.","test_command":"pytest -q"}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{},"rules":{"acceptance":{"proof":"check"}},"version":"0.3.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Support inlines: code spans. Describe it.","test_command":"pytest -q"},"base":"1111111111111111111111111111111111111111","limits":{},"rules":{"acceptance":{"proof":"check"}}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'RequirementsRead',
  CAST('{"event":"RequirementsRead","requirements":[{"number":1,"text":"code spans","start":20,"end":30,"within":"Support inlines:"},{"number":2,"text":"Describe it.","kind":"document"}],"by":"model","background":["# Markdown"]}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'Estimated',
  CAST('{"event":"Estimated","atomic":true,"steps":1,"reason":"one place","programs":["cmark"]}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 1, 1800000001.5, 'PersonSaid',
  CAST('{"event":"PersonSaid","text":"Tabs are errors.","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 5, 1800000001.75, 'MessageRead',
  CAST('{"event":"MessageRead","said":6,"requirements":[{"number":3,"text":"Tabs are errors.","source":"anna, 14:02"}],"replaces":{"1":3},"owner":"inlines"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 6, 1800000002.0, 'MessageReceived',
  CAST('{"event":"MessageReceived","said":6,"text":"Tabs are errors.","by":"anna","requirements":[{"number":3,"text":"Tabs are errors.","source":"anna, 14:02"}]}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 7, 1800000002.25, 'RequirementRestored',
  CAST('{"event":"RequirementRestored","number":1,"by":"anna","said":9}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 8, 1800000002.5, 'MergeStarted',
  CAST('{"event":"MergeStarted","child":"inlines"}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 9, 1800000002.75, 'Examined',
  CAST('{"event":"Examined","by":"examiner","probes":[{"name":"goal/probe-1/test-a","path":"test_probe_goal_1_test_a.py","text":"…","says":"It works.","quote":"code spans","requirements":[1],"case":"test-a"}],"kinds":{"2":"document"}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 10, 1800000003.0, 'ProbesFinished',
  CAST('{"event":"ProbesFinished","tree":"2222222222222222222222222222222222222222","results":[{"name":"goal/probe-1/test-a","outcome":"passed"}],"seconds":0.5,"before":[{"name":"goal/probe-1/test-a","outcome":"failed"}]}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 11, 1800000003.25, 'DifferenceSeen',
  CAST('{"event":"DifferenceSeen","tree":"2222222222222222222222222222222222222222","seen":{"check":true,"documents":true,"interface":true,"tests":["test_new"]},"seconds":0.2}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'goal', 12, 1800000003.5, 'EvidenceJudged',
  CAST('{"event":"EvidenceJudged","shown":[{"number":1,"how":"probe","by":["goal/probe-1/test-a"]},{"number":2,"how":"document"}],"missing":[3]}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', '', 2, 1800000003.75, 'RunFinished',
  CAST('{"event":"RunFinished","end":"not_proven","summary":"nothing shows 3"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', '', 3, 1800000004.0, 'Accepted',
  CAST('{"event":"Accepted","by":"anna","why":"good enough"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
