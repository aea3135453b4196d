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
  x'00000000000000000000000000000000b564de4435570023f790ef415f33ff68',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Support inlines: code spans. Describe it.","test_command":"pytest -q"}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m"},"limits":{},"rules":{"acceptance":{"proof":"check"}},"version":"0.3.0"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000bbaaf33175c2fe95999cde56b6b8e0d3',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Support inlines: code spans. Describe it.","test_command":"pytest -q"},"base":"1111111111111111111111111111111111111111","limits":{},"rules":{"acceptance":{"proof":"check"}}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  x'bbaaf33175c2fe95999cde56b6b8e0d3233817df87a82360e65c647a0d120b55',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'RequirementsRead',
  x'233817df87a82360e65c647a0d120b55073b06bf0cf60e2a6d070897fdbf9063',
  CAST('{"event":"RequirementsRead","requirements":[{"number":1,"text":"code spans","start":20,"end":30,"within":"Support inlines:"},{"number":2,"text":"Describe it.","kind":"document"}],"by":"model","background":["# Markdown"]}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'Estimated',
  x'073b06bf0cf60e2a6d070897fdbf90632bd5ac39d876f8b83575c5f72f9abad6',
  CAST('{"event":"Estimated","atomic":true,"steps":1,"reason":"one place","programs":["cmark"]}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 1, 1800000001.5, 'PersonSaid',
  x'00000000000000000000000000000000904e8517f0380b76c9fa89bad0cea504',
  CAST('{"event":"PersonSaid","text":"Tabs are errors.","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 5, 1800000001.75, 'MessageRead',
  x'2bd5ac39d876f8b83575c5f72f9abad6b51ceb2847eb092fb8fcc82098a5a98a',
  CAST('{"event":"MessageRead","said":6,"requirements":[{"number":3,"text":"Tabs are errors.","source":"anna, 14:02"}],"replaces":{"1":3},"owner":"inlines"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 6, 1800000002.0, 'MessageReceived',
  x'b51ceb2847eb092fb8fcc82098a5a98a5cb64dccb4401e61200c5ecb3f531cd9',
  CAST('{"event":"MessageReceived","said":6,"text":"Tabs are errors.","by":"anna","requirements":[{"number":3,"text":"Tabs are errors.","source":"anna, 14:02"}]}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 7, 1800000002.25, 'RequirementRestored',
  x'5cb64dccb4401e61200c5ecb3f531cd9685db7f28138cc6affac400913aeab7d',
  CAST('{"event":"RequirementRestored","number":1,"by":"anna","said":9}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 8, 1800000002.5, 'MergeStarted',
  x'685db7f28138cc6affac400913aeab7dc559c07379d592a1aa1c70850d18b762',
  CAST('{"event":"MergeStarted","child":"inlines"}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 9, 1800000002.75, 'Examined',
  x'c559c07379d592a1aa1c70850d18b762bf4fe69051faac1abee5a0d8dceedacf',
  CAST('{"event":"Examined","by":"examiner","probes":[{"name":"goal/probe-1/test-a","path":"test_probe_goal_1_test_a.py","text":"…","says":"It works.","quote":"code spans","requirements":[1],"case":"test-a"}],"kinds":{"2":"document"}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 10, 1800000003.0, 'ProbesFinished',
  x'bf4fe69051faac1abee5a0d8dceedacf6345292c79d63d6ba87a37185ebec8fb',
  CAST('{"event":"ProbesFinished","tree":"2222222222222222222222222222222222222222","results":[{"name":"goal/probe-1/test-a","outcome":"passed"}],"seconds":0.5,"before":[{"name":"goal/probe-1/test-a","outcome":"failed"}]}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 11, 1800000003.25, 'DifferenceSeen',
  x'6345292c79d63d6ba87a37185ebec8fb2c917a79b2018ffe4ac149378c0e46d1',
  CAST('{"event":"DifferenceSeen","tree":"2222222222222222222222222222222222222222","seen":{"check":true,"documents":true,"interface":true,"tests":["test_new"]},"seconds":0.2}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'goal', 12, 1800000003.5, 'EvidenceJudged',
  x'2c917a79b2018ffe4ac149378c0e46d1d0a61b05417528d5d4d284313ecd6089',
  CAST('{"event":"EvidenceJudged","shown":[{"number":1,"how":"probe","by":["goal/probe-1/test-a"]},{"number":2,"how":"document"}],"missing":[3]}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', '', 2, 1800000003.75, 'RunFinished',
  x'b564de4435570023f790ef415f33ff68ce873c6cdf4e326f2443462a4570dc0b',
  CAST('{"event":"RunFinished","end":"not_proven","summary":"nothing shows 3"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', '', 3, 1800000004.0, 'Accepted',
  x'ce873c6cdf4e326f2443462a4570dc0be0e83b071671a54584568f2443b55339',
  CAST('{"event":"Accepted","by":"anna","why":"good enough"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
