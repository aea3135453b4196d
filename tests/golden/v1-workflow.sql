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
  x'00000000000000000000000000000000ca13b253089b312332cfed3f4d15fb1c',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"A loop.","steps":[{"name":"loop","instructions":"Until nothing is left.","steps":[{"name":"make","run":"make all","on_error":"retry","retry":{"wait":5.0,"growth":2.0}},{"name":"critic","instructions":"Look.","role":"critic"}],"repeat":4,"until":{"outcome":"empty","step":"critic"},"context":"shared","summarize":true}],"machine":{"start":"loop","states":[{"name":"loop","transitions":[{"to":"end","on":{"outcome":"contains","text":"ok","negated":true}}]}],"limit":9}}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"openai:some-model"},"limits":{"rounds":200},"rules":{},"version":"0.2.0","jobs":4,"fresh":true}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'000000000000000000000000000000008631d56a6965f93c430964cdf36ad69a',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"A loop.","steps":[{"name":"loop","instructions":"Until nothing is left.","steps":[{"name":"make","run":"make all","on_error":"retry","retry":{"wait":5.0,"growth":2.0}},{"name":"critic","instructions":"Look.","role":"critic"}],"repeat":4,"until":{"outcome":"empty","step":"critic"},"context":"shared","summarize":true}],"machine":{"start":"loop","states":[{"name":"loop","transitions":[{"to":"end","on":{"outcome":"contains","text":"ok","negated":true}}]}],"limit":9}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{"rounds":200},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'ChildStarted',
  x'8631d56a6965f93c430964cdf36ad69a24b2f80be4d27bb9cd8e64f1248f3302',
  CAST('{"event":"ChildStarted","step":"loop","task":"loop","grant":{"rounds":60}}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'TransitionTaken',
  x'24b2f80be4d27bb9cd8e64f1248f3302122995d6367b54a06d6af690fd8486ba',
  CAST('{"event":"TransitionTaken","state":"loop","to":"loop","why":"loop → loop, on failure"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'loop/make', 1, 1800000001.25, 'CommandStarted',
  x'00000000000000000000000000000000c03360a0f3c83d84f22816a5c416a13e',
  CAST('{"event":"CommandStarted","command":"make all"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'loop/make', 2, 1800000001.5, 'CommandFinished',
  x'c03360a0f3c83d84f22816a5c416a13ec72e4b047a7afaf4e6cf17d93138fed6',
  CAST('{"event":"CommandFinished","ok":false,"output":"","interrupted":true}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'loop/make@2', 1, 1800000001.75, 'CommandFinished',
  x'00000000000000000000000000000000f0f87f460b8af484ef6273e2a0d86402',
  CAST('{"event":"CommandFinished","ok":true,"output":"built","exit_status":0,"blob":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","tree":"cccccccccccccccccccccccccccccccccccccccc","seconds":1.5}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'loop/make@3', 1, 1800000002.0, 'CommandFinished',
  x'000000000000000000000000000000001a8e851b33d193935acec079e0148668',
  CAST('{"event":"CommandFinished","ok":false,"output":"…","tree":"cccccccccccccccccccccccccccccccccccccccc","seconds":300.0,"killed":"after 300 s"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'loop/critic', 1, 1800000002.25, 'TaskCreated',
  x'00000000000000000000000000000000fa246d72731995aa829c82fc61de55d3',
  CAST('{"event":"TaskCreated","step":{"name":"critic","instructions":"Look.","role":"critic"},"base":"cccccccccccccccccccccccccccccccccccccccc","limits":{"rounds":9},"rules":{},"inherited":{"above":["goal: A loop."],"decisions":["quietly"],"loop":true},"key":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","subject":{"since":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","verdicts":["make: the check passed"],"earlier":"1. `a.py` (low): odd"}}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'loop/critic', 2, 1800000002.5, 'Reviewed',
  x'fa246d72731995aa829c82fc61de55d3c4c4f25dcb46f4bc28c2a72e986322b2',
  CAST('{"event":"Reviewed","findings":[{"file":"a.py","line":3,"severity":"high","what":"It is lost.","why":"A full disk."}]}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'loop/critic@2', 1, 1800000002.75, 'Reviewed',
  x'000000000000000000000000000000005261b72a1b2319d11cf7f659bcf7926f',
  CAST('{"event":"Reviewed","problems":["The answer was empty."]}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'loop', 1, 1800000003.0, 'PassEnded',
  x'00000000000000000000000000000000180de128805582e67cd066bc3db498da',
  CAST('{"event":"PassEnded","number":1,"why":"critic.empty does not hold yet (1 of 4)"}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'loop', 2, 1800000003.25, 'Summarized',
  x'180de128805582e67cd066bc3db498dab77ef14ca3cc1dcd77b65fbd45c1e256',
  CAST('{"event":"Summarized","text":"It is built.","by":"rule"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'loop', 3, 1800000003.5, 'ChildSettled',
  x'b77ef14ca3cc1dcd77b65fbd45c1e2562d3791de6bb78a039f508132caeade3d',
  CAST('{"event":"ChildSettled","child":"critic","state":"completed","why":"no check was required","tree":"cccccccccccccccccccccccccccccccccccccccc","spend":{"rounds":1},"result":"1. …","errors":true,"verdict":"the check passed","decisions":["quietly"],"shared":true,"do":"break","task":"critic@2","key":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'loop', 4, 1800000003.75, 'ChildSettled',
  x'2d3791de6bb78a039f508132caeade3dbd3d48500d23f978b1ec84cbb397f89b',
  CAST('{"event":"ChildSettled","child":"make","state":"completed","why":"nothing has changed","tree":"cccccccccccccccccccccccccccccccccccccccc","spend":{},"source":"rust-wren/loop/make"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
