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
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it."}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"openai:some-model"},"limits":{"tokens":6000000},"rules":{},"version":"0.2.0","continues":"sand-hare","origin":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","inherited":{"above":["a follow-up"],"results":["sand-hare: done"]},"ask_later":true}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it."},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{},"rules":{},"heard":1}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 1, 1800000000.75, 'PersonSaid',
  CAST('{"event":"PersonSaid","text":"Keep the old flag working too.","by":"anna","task":"goal"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 2, 1800000001.0, 'MessageReceived',
  CAST('{"event":"MessageReceived","said":3,"text":"Keep the old flag working too.","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 2, 1800000001.25, 'StopRequested',
  CAST('{"event":"StopRequested","now":true,"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 3, 1800000001.5, 'PauseRequested',
  CAST('{"event":"PauseRequested","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 3, 1800000001.75, 'TaskHalted',
  CAST('{"event":"TaskHalted","reason":"paused","message":"paused by anna"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', '', 2, 1800000002.0, 'RunHalted',
  CAST('{"event":"RunHalted","reason":"paused","message":"paused by anna"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 4, 1800000002.25, 'HelperFailed',
  CAST('{"event":"HelperFailed","helper":"gate","message":"The server is away.","seconds":0.5,"wait":2.0}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 5, 1800000002.5, 'TaskHalted',
  CAST('{"event":"TaskHalted","reason":"quota","message":"The quota is used up until 14:30","until":1800000000.0}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', '', 3, 1800000002.75, 'RunHalted',
  CAST('{"event":"RunHalted","reason":"quota","message":"The quota is used up until 14:30","until":1800000000.0}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 6, 1800000003.0, 'QuestionAsked',
  CAST('{"event":"QuestionAsked","question":"What would you do?"}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 7, 1800000003.25, 'TaskHalted',
  CAST('{"event":"TaskHalted","reason":"waiting","message":"the check still fails after 3 repairs"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', '', 4, 1800000003.5, 'RunHalted',
  CAST('{"event":"RunHalted","reason":"waiting","message":"the check still fails after 3 repairs"}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', '@control', 4, 1800000003.75, 'PlanRuled',
  CAST('{"event":"PlanRuled","task":"goal","says":"own","steps":[{"name":"a","instructions":"Do a."}],"requirements":["It works."],"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'goal', 8, 1800000004.0, 'PlanAnswered',
  CAST('{"event":"PlanAnswered","says":"own","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 9, 1800000004.25, 'PersonAnswered',
  CAST('{"event":"PersonAnswered","question":"What would you do?","text":"Leave Windows out of it.","by":"anna","said":12}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
