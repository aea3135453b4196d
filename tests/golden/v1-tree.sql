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
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"A calculator.","test_command":"pytest -q","plan_first":true}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m","strong":"s"},"limits":{"rounds":60},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"version":"0.1.0","jobs":3,"grows":true}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"A calculator.","test_command":"pytest -q","plan_first":true},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"means":{"stronger":true,"person":true},"grows":true}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'HelperAnswered',
  CAST('{"event":"HelperAnswered","helper":"gate","text":"{\"atomic\": false}","usage":{"input":400,"output":60,"cache_read":300},"cost":0.002,"seconds":1.5,"model":"m-2026"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'Estimated',
  CAST('{"event":"Estimated","atomic":false,"steps":12,"phases":["front","back"],"domains":["parsing"],"reason":"It is large.","proposal":"hierarchy"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'PlanRefused',
  CAST('{"event":"PlanRefused","helper":"planner","problems":["Two steps are called `lex`: give each a name of its own."]}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'PlanProposed',
  CAST('{"event":"PlanProposed","steps":[{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}]}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 7, 1800000002.0, 'PlanAnswered',
  CAST('{"event":"PlanAnswered","says":"change","wish":"fewer steps"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 8, 1800000002.25, 'Planned',
  CAST('{"event":"Planned","steps":[{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"why":"the plan"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 9, 1800000002.5, 'Granted',
  CAST('{"event":"Granted","limits":{"rounds":72}}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 10, 1800000002.75, 'ChildStarted',
  CAST('{"event":"ChildStarted","step":"lex","task":"lex","grant":{"rounds":18}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'lex', 1, 1800000003.0, 'TaskCreated',
  CAST('{"event":"TaskCreated","step":{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},"base":"1111111111111111111111111111111111111111","limits":{"rounds":18},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"inherited":{"above":["goal: A calculator."],"dead_ends":["no regex"]}}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'lex', 2, 1800000003.25, 'StateChanged',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'lex', 3, 1800000003.5, 'AttemptStarted',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You are an engineer.","brief":"Write the lexer."}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'lex', 4, 1800000003.75, 'RoundStarted',
  CAST('{"event":"RoundStarted"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'lex', 5, 1800000004.0, 'ModelAnswered',
  CAST('{"event":"ModelAnswered","text":"I look.","usage":{"input":400,"output":60,"cache_read":300},"window":32000}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'lex', 6, 1800000004.25, 'CompactionStarted',
  CAST('{"event":"CompactionStarted","used":25000,"window":32000}' AS BLOB));
INSERT INTO events VALUES (18, 'amber-heron', 'lex', 7, 1800000004.5, 'Compacted',
  CAST('{"event":"Compacted","summary":"## Key decisions\n(nothing)","at":9,"before":25000,"after":5000,"by":"model"}' AS BLOB));
INSERT INTO events VALUES (19, 'amber-heron', 'lex', 8, 1800000004.75, 'SignalRaised',
  CAST('{"event":"SignalRaised","signal":{"pattern":"circular_tools","confidence":0.85,"diagnosis":"`read` is called again and again.","recommended":"prune","rounds":[3,4,5],"evidence":["read {\"path\": \"a.py\"} → x = 1"]}}' AS BLOB));
INSERT INTO events VALUES (20, 'amber-heron', 'lex', 9, 1800000005.0, 'Escalated',
  CAST('{"event":"Escalated","decision":{"rung":"prune","level":"task","reason":"It goes in circles (a fresh look)"},"trouble":{"cause":"signal","says":"`read` is called again and again.","pattern":"circular_tools","recommended":"prune","evidence":["read {\"path\": \"a.py\"} → x = 1"]}}' AS BLOB));
INSERT INTO events VALUES (21, 'amber-heron', 'lex', 10, 1800000005.25, 'HelperFailed',
  CAST('{"event":"HelperFailed","helper":"pruner","message":"503 from the server","seconds":0.5}' AS BLOB));
INSERT INTO events VALUES (22, 'amber-heron', 'lex', 11, 1800000005.5, 'ContextPruned',
  CAST('{"event":"ContextPruned","before":9000,"after":1200,"by":"rule"}' AS BLOB));
INSERT INTO events VALUES (23, 'amber-heron', 'lex', 12, 1800000005.75, 'SplitProposed',
  CAST('{"event":"SplitProposed","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}]}' AS BLOB));
INSERT INTO events VALUES (24, 'amber-heron', 'lex', 13, 1800000006.0, 'PlanRefused',
  CAST('{"event":"PlanRefused","helper":"decomposer","problems":["There are 1 steps: give 2 to 4."],"final":true}' AS BLOB));
INSERT INTO events VALUES (25, 'amber-heron', 'lex', 14, 1800000006.25, 'CheckpointMade',
  CAST('{"event":"CheckpointMade","commit":"cccccccccccccccccccccccccccccccccccccccc","tree":"2222222222222222222222222222222222222222","files":["lex.py"]}' AS BLOB));
INSERT INTO events VALUES (26, 'amber-heron', 'lex', 15, 1800000006.5, 'StateChanged',
  CAST('{"event":"StateChanged","to":"blocked","why":"`read` is called again and again."}' AS BLOB));
INSERT INTO events VALUES (27, 'amber-heron', 'goal', 11, 1800000006.75, 'ChildSettled',
  CAST('{"event":"ChildSettled","child":"lex","state":"blocked","why":"`read` is called again and again.","tree":"1111111111111111111111111111111111111111","spend":{"rounds":9,"tokens_in":900,"cost":0.5,"seconds":2.5},"result":"half of it","files":["lex.py"],"dead_ends":["a regular expression cannot do it"],"errors":true}' AS BLOB));
INSERT INTO events VALUES (28, 'amber-heron', 'goal', 12, 1800000007.0, 'Escalated',
  CAST('{"event":"Escalated","decision":{"rung":"stronger_model","level":"goal","reason":"r"},"trouble":{"cause":"children","says":"its steps cannot go on"}}' AS BLOB));
INSERT INTO events VALUES (29, 'amber-heron', 'goal', 13, 1800000007.25, 'ChildrenReopened',
  CAST('{"event":"ChildrenReopened","children":["lex"],"why":"a stronger model is configured"}' AS BLOB));
INSERT INTO events VALUES (30, 'amber-heron', 'goal', 14, 1800000007.5, 'ChildStarted',
  CAST('{"event":"ChildStarted","step":"lex","task":"lex","grant":{"rounds":20}}' AS BLOB));
INSERT INTO events VALUES (31, 'amber-heron', 'lex', 16, 1800000007.75, 'TaskResumed',
  CAST('{"event":"TaskResumed","limits":{"rounds":20},"means":{"stronger":true},"grows":true}' AS BLOB));
INSERT INTO events VALUES (32, 'amber-heron', 'lex', 17, 1800000008.0, 'TakenUp',
  CAST('{"event":"TakenUp","tier":"strong","why":"a stronger model takes it up again"}' AS BLOB));
INSERT INTO events VALUES (33, 'amber-heron', 'goal', 15, 1800000008.25, 'ChildMerged',
  CAST('{"event":"ChildMerged","child":"lex","tree":"3333333333333333333333333333333333333333","conflicts":["lex.py"],"verdict":{"ruling":"failed","reason":"1 test failed"}}' AS BLOB));
INSERT INTO events VALUES (34, 'amber-heron', 'goal', 16, 1800000008.5, 'PlanChanged',
  CAST('{"event":"PlanChanged","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"said":["parse now reads tokens"]}' AS BLOB));
INSERT INTO events VALUES (35, 'amber-heron', 'goal', 17, 1800000008.75, 'PassEnded',
  CAST('{"event":"PassEnded","number":1,"why":"not yet"}' AS BLOB));
INSERT INTO events VALUES (36, 'amber-heron', 'goal', 18, 1800000009.0, 'TransitionTaken',
  CAST('{"event":"TransitionTaken","state":"write","to":"review","why":"write → review, on success"}' AS BLOB));
INSERT INTO events VALUES (37, 'amber-heron', 'build', 1, 1800000009.25, 'CommandStarted',
  CAST('{"event":"CommandStarted","command":"make build"}' AS BLOB));
INSERT INTO events VALUES (38, 'amber-heron', 'build', 2, 1800000009.5, 'CommandFinished',
  CAST('{"event":"CommandFinished","ok":false,"output":"killed","blob":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","tree":"3333333333333333333333333333333333333333","seconds":2.5,"killed":"after 120 s"}' AS BLOB));
INSERT INTO events VALUES (39, 'amber-heron', 'build', 3, 1800000009.75, 'CommandFinished',
  CAST('{"event":"CommandFinished","ok":false,"output":"interrupted","interrupted":true}' AS BLOB));
INSERT INTO events VALUES (40, 'amber-heron', 'review', 1, 1800000010.0, 'Reviewed',
  CAST('{"event":"Reviewed","findings":[{"file":"lex.py","line":3,"severity":"high","what":"an empty text is not read","why":"it raises"}],"problems":["one unclear"]}' AS BLOB));
INSERT INTO events VALUES (41, 'amber-heron', 'goal', 19, 1800000010.25, 'Summarized',
  CAST('{"event":"Summarized","text":"two modules and a command","by":"model"}' AS BLOB));
INSERT INTO events VALUES (42, 'amber-heron', 'goal', 20, 1800000010.5, 'Planned',
  CAST('{"event":"Planned","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"why":"another approach","dropped":["lex"]}' AS BLOB));
INSERT INTO events VALUES (43, 'amber-heron', 'goal', 21, 1800000010.75, 'PersonAnswered',
  CAST('{"event":"PersonAnswered","question":"What would you do?","text":"leave the lexer out"}' AS BLOB));
INSERT INTO events VALUES (44, 'amber-heron', 'goal', 22, 1800000011.0, 'Reported',
  CAST('{"event":"Reported","text":"Given up: its steps cannot go on.\n\n## What was tried\n- its context was pruned"}' AS BLOB));
INSERT INTO events VALUES (45, 'amber-heron', 'goal', 23, 1800000011.25, 'StateChanged',
  CAST('{"event":"StateChanged","to":"failed","why":"its steps cannot go on"}' AS BLOB));
INSERT INTO events VALUES (46, 'amber-heron', '', 2, 1800000011.5, 'RunReopened',
  CAST('{"event":"RunReopened","task":"goal","round":3,"moment":17}' AS BLOB));
INSERT INTO events VALUES (47, 'amber-heron', 'goal', 24, 1800000011.75, 'TaskRewound',
  CAST('{"event":"TaskRewound","version":4,"tree":"1111111111111111111111111111111111111111","children":{"lex":{"rounds":2}}}' AS BLOB));
INSERT INTO events VALUES (48, 'amber-heron', '', 3, 1800000012.0, 'RunFinished',
  CAST('{"event":"RunFinished","end":"failed","summary":"its steps cannot go on"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
