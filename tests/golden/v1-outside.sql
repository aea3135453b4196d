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
  x'00000000000000000000000000000000091cae2602587874374a6b9fda691061',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix it.","agent":"claude"}},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","folder":"","models":{"main":"agent:claude","fast":"agent:claude","strong":"agent:claude"},"limits":{},"rules":{},"version":"0.2.0","agents":{"main":"claude","strong":"codex"},"agent_env":["ANTHROPIC_API_KEY"],"agent_network":"loopback"}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000b09746006b316d06287b857c6cf9e613',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix it.","agent":"claude"},"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","limits":{},"rules":{}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'AttemptStarted',
  x'b09746006b316d06287b857c6cf9e61330df7c937d7dace2a2326668ca9caa70',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You work alone.","brief":"Fix it.","protocol":"agent","agent":"claude"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'ToolServersListed',
  x'30df7c937d7dace2a2326668ca9caa70693cc1baf8be29ea067abdaf427f3271',
  CAST('{"event":"ToolServersListed","tools":{"time":["time__get_current_time"]},"failed":{"broken":"It ended with exit status 1."}}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'RoundStarted',
  x'693cc1baf8be29ea067abdaf427f32718f8e083340ab41d270fb19da0c49308f',
  CAST('{"event":"RoundStarted"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'ModelAnswered',
  x'8f8e083340ab41d270fb19da0c49308feb5935dab10a7667ba2a9303f117ab75',
  CAST('{"event":"ModelAnswered","text":"Looking.","calls":[{"id":"010001000","name":"read","arguments":"{\"path\": \"a.py\"}"}],"stop":"calls","usage":{"input":1000,"estimated":true},"model":"agent:claude"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ToolStarted',
  x'eb5935dab10a7667ba2a9303f117ab757c14cb2bb4d2e872e12819a1eb42fec8',
  CAST('{"event":"ToolStarted","call":"010001000","writes":false}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 7, 1800000002.0, 'ToolFinished',
  x'7c14cb2bb4d2e872e12819a1eb42fec884371f3d22e0d8465fb0627d4c9adc0a',
  CAST('{"event":"ToolFinished","call":"010001000","ok":true,"output":"x = 1"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', '', 2, 1800000002.25, 'RunResumed',
  x'091cae2602587874374a6b9fda691061beb8925ca40d4f1dba8c5df6942a0d7e',
  CAST('{"event":"RunResumed","worker":"w1","limits":{},"models":{"main":"agent:claude"},"agents":{"main":"gemini"},"agent_env":["GEMINI_API_KEY"],"agent_network":"on"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
