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
  x'0000000000000000000000000000000004be9430eb71a264164a548b08342377',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it."}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"openai:some-model"},"limits":{"tokens":6000000},"rules":{},"version":"0.2.0","continues":"sand-hare","origin":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","inherited":{"above":["a follow-up"],"results":["sand-hare: done"]},"ask_later":true}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'0000000000000000000000000000000096e0dff64d52b465a6db17b9ce7c1fbf',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it."},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{},"rules":{},"heard":1}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', '@control', 1, 1800000000.75, 'PersonSaid',
  x'0000000000000000000000000000000058fe76efa185620bd2db8d02d11dae73',
  CAST('{"event":"PersonSaid","text":"Keep the old flag working too.","by":"anna","task":"goal"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 2, 1800000001.0, 'MessageReceived',
  x'96e0dff64d52b465a6db17b9ce7c1fbf763869d2510124f1e8b6630d24d70f45',
  CAST('{"event":"MessageReceived","said":3,"text":"Keep the old flag working too.","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', '@control', 2, 1800000001.25, 'StopRequested',
  x'58fe76efa185620bd2db8d02d11dae732d915317bf62dea7832e6a70650b68e7',
  CAST('{"event":"StopRequested","now":true,"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', '@control', 3, 1800000001.5, 'PauseRequested',
  x'2d915317bf62dea7832e6a70650b68e79df23eafb768759f0dcd44c372b04453',
  CAST('{"event":"PauseRequested","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 3, 1800000001.75, 'TaskHalted',
  x'763869d2510124f1e8b6630d24d70f455075bc838830b0e05909d6b01c3b1a19',
  CAST('{"event":"TaskHalted","reason":"paused","message":"paused by anna"}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', '', 2, 1800000002.0, 'RunHalted',
  x'04be9430eb71a264164a548b083423774c7f2a46a234fa570b05573ecba431e0',
  CAST('{"event":"RunHalted","reason":"paused","message":"paused by anna"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 4, 1800000002.25, 'HelperFailed',
  x'5075bc838830b0e05909d6b01c3b1a1902771af5c7c75f5f765376b57e3c42fc',
  CAST('{"event":"HelperFailed","helper":"gate","message":"The server is away.","seconds":0.5,"wait":2.0}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 5, 1800000002.5, 'TaskHalted',
  x'02771af5c7c75f5f765376b57e3c42fc98a192e55f3864d3979511aa5e64668c',
  CAST('{"event":"TaskHalted","reason":"quota","message":"The quota is used up until 14:30","until":1800000000.0}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', '', 3, 1800000002.75, 'RunHalted',
  x'4c7f2a46a234fa570b05573ecba431e0e556872352ee50430cee0fcabdcbfd2b',
  CAST('{"event":"RunHalted","reason":"quota","message":"The quota is used up until 14:30","until":1800000000.0}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 6, 1800000003.0, 'QuestionAsked',
  x'98a192e55f3864d3979511aa5e64668cf2999030c818e83efaf867d9c374fa2b',
  CAST('{"event":"QuestionAsked","question":"What would you do?"}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 7, 1800000003.25, 'TaskHalted',
  x'f2999030c818e83efaf867d9c374fa2bf13e36e62379ed900813ca2fbaf0bc22',
  CAST('{"event":"TaskHalted","reason":"waiting","message":"the check still fails after 3 repairs"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', '', 4, 1800000003.5, 'RunHalted',
  x'e556872352ee50430cee0fcabdcbfd2b857a2094598f2f4f85c8cca62f62d55b',
  CAST('{"event":"RunHalted","reason":"waiting","message":"the check still fails after 3 repairs"}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', '@control', 4, 1800000003.75, 'PlanRuled',
  x'9df23eafb768759f0dcd44c372b0445365c6396754a0656b8aba7c91e646e050',
  CAST('{"event":"PlanRuled","task":"goal","says":"own","steps":[{"name":"a","instructions":"Do a."}],"requirements":["It works."],"by":"anna"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'goal', 8, 1800000004.0, 'PlanAnswered',
  x'f13e36e62379ed900813ca2fbaf0bc22604ff75253ac6f201aea8de8ab081e61',
  CAST('{"event":"PlanAnswered","says":"own","by":"anna"}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 9, 1800000004.25, 'PersonAnswered',
  x'604ff75253ac6f201aea8de8ab081e61d1bb1ed5d269447e5c6dd9a7e0fa7e93',
  CAST('{"event":"PersonAnswered","question":"What would you do?","text":"Leave Windows out of it.","by":"anna","said":12}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
