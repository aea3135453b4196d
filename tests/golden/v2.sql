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
  x'00000000000000000000000000000000ebc29421c8cfe36dbd48d30d0f0c7003',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"Fix the ''off by one'' in naïve.py","criteria":["the last line is printed"],"test_command":"pytest -q","requires_testing":false}},"base":"1111111111111111111111111111111111111111","folder":"src","models":{"main":"openai:gpt-x"},"limits":{"rounds":12,"tokens":100000,"cost":1.5,"minutes":30.0},"rules":{"max_repairs":1,"max_faults":2,"max_transport_failures":3,"backoff_first":0.5,"backoff_longest":8.0,"model_timeout":30.0,"bash_timeout":10.0,"bash_longest":20.0,"check_timeout":40.0,"shown":1000,"kept":2000,"notes":4,"lease":5.0},"version":"0.2.0","format":2}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000060126c1fee549a30610ec4941722e6f',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"Fix the ''off by one'' in naïve.py","criteria":["the last line is printed"],"test_command":"pytest -q","requires_testing":false},"base":"1111111111111111111111111111111111111111","limits":{"rounds":12,"tokens":100000,"cost":1.5,"minutes":30.0},"rules":{"max_repairs":1,"max_faults":2,"max_transport_failures":3,"backoff_first":0.5,"backoff_longest":8.0,"model_timeout":30.0,"bash_timeout":10.0,"bash_longest":20.0,"check_timeout":40.0,"shown":1000,"kept":2000,"notes":4,"lease":5.0}}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  x'060126c1fee549a30610ec4941722e6facb62484f128370ddc0d10bc81a88a51',
  CAST('{"event":"StateChanged","to":"in_progress","why":"started"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'WorkspaceOpened',
  x'acb62484f128370ddc0d10bc81a88a51dc26de309715410b9ca618a02702c39a',
  CAST('{"event":"WorkspaceOpened","tree":"1111111111111111111111111111111111111111"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'AttemptStarted',
  x'dc26de309715410b9ca618a02702c39ae6061dea3fd23229e7a163f56e884e0a',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You are a builder.","brief":"Fix it.\n\n“Quietly”, please. 🌳"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'RoundStarted',
  x'e6061dea3fd23229e7a163f56e884e0abc3e0c7f47a83c3a67daa3c82f6209e9',
  CAST('{"event":"RoundStarted"}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'ModelFailed',
  x'bc3e0c7f47a83c3a67daa3c82f6209e986134c20627bee9f1254cd0df36ced0c',
  CAST('{"event":"ModelFailed","message":"503 from the server","wait":1.0,"seconds":0.25}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 7, 1800000002.0, 'ModelAnswered',
  x'86134c20627bee9f1254cd0df36ced0cd0b05ee2cb98fe8b4705553b50b25da0',
  CAST('{"event":"ModelAnswered","text":"I look at it.","calls":[{"id":"call_1","name":"bash","arguments":"{\"command\": \"ls\\t-l\"}","extra":"{\"sig\":\"x\"}"},{"id":"call_2","name":"read","arguments":"{oops"}],"stop":"calls","usage":{"input":900,"output":40,"cache_read":800,"cache_write":100},"cost":0.0125,"seconds":3.5,"model":"openai:gpt-x-2026","extra":"{\"reasoning\":\"signed\"}"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 8, 1800000002.25, 'ToolStarted',
  x'd0b05ee2cb98fe8b4705553b50b25da0ee1287ecd32da7c3c51c3d13ec736608',
  CAST('{"event":"ToolStarted","call":"call_1","writes":true}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 9, 1800000002.5, 'ToolFinished',
  x'ee1287ecd32da7c3c51c3d13ec7366085a241896b5d7034480415709e7170e4a',
  CAST('{"event":"ToolFinished","call":"call_1","ok":true,"output":"total 0\n\u001b[0m\u0000end","blob":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","tree":"2222222222222222222222222222222222222222","seconds":0.125,"interrupted":true}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 10, 1800000002.75, 'ToolFinished',
  x'5a241896b5d7034480415709e7170e4ae6fb4a1e561ff7918e3a9ad73fc392bb',
  CAST('{"event":"ToolFinished","call":"call_2","ok":false,"output":"The arguments are not JSON.","fault":true}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'goal', 11, 1800000003.0, 'NoteKept',
  x'e6fb4a1e561ff7918e3a9ad73fc392bb275dc6b9c288c3d5350ab70f7521f4b5',
  CAST('{"event":"NoteKept","kind":"dead_end","text":"Sorting first does not help."}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'goal', 12, 1800000003.25, 'MessageAdded',
  x'275dc6b9c288c3d5350ab70f7521f4b57c4228fe70972b81a86a4b85aa57a283',
  CAST('{"event":"MessageAdded","why":"last_round","text":"This is the last round."}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'goal', 13, 1800000003.5, 'RoundStarted',
  x'7c4228fe70972b81a86a4b85aa57a2835426226b1480de82e4e9aa6a974ae8c8',
  CAST('{"event":"RoundStarted","last":true}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'goal', 14, 1800000003.75, 'ModelAnswered',
  x'5426226b1480de82e4e9aa6a974ae8c840161d1b0a29f40ea1e83b1f9a659415',
  CAST('{"event":"ModelAnswered","text":"Done."}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'goal', 15, 1800000004.0, 'DoneClaimed',
  x'40161d1b0a29f40ea1e83b1f9a6594150188f559cfe46ac79258fdc35f1a13fa',
  CAST('{"event":"DoneClaimed","summary":"Fixed the loop''s end."}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'goal', 16, 1800000004.25, 'CheckStarted',
  x'0188f559cfe46ac79258fdc35f1a13fab847cc5595f8317577b237a784b9ec4b',
  CAST('{"event":"CheckStarted","command":"pytest -q"}' AS BLOB));
INSERT INTO events VALUES (18, 'amber-heron', 'goal', 17, 1800000004.5, 'CheckFinished',
  x'b847cc5595f8317577b237a784b9ec4bf7233cbb507f470b148fe918e12e0007',
  CAST('{"event":"CheckFinished","verdict":{"ruling":"failed","reason":"The check failed with exit status 1.","command":"pytest -q","exit_status":1,"seconds":2.5,"output":"1 failed\n","blob":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","tree":"3333333333333333333333333333333333333333"}}' AS BLOB));
INSERT INTO events VALUES (19, 'amber-heron', 'goal', 18, 1800000004.75, 'WorkspaceRestored',
  x'f7233cbb507f470b148fe918e12e00073efa471bcd8fe3a7513037aa56e28eb2',
  CAST('{"event":"WorkspaceRestored","tree":"2222222222222222222222222222222222222222","why":"a call was interrupted"}' AS BLOB));
INSERT INTO events VALUES (20, 'amber-heron', 'goal', 19, 1800000005.0, 'CheckpointMade',
  x'3efa471bcd8fe3a7513037aa56e28eb244930c352d971f171a122599cc28fc09',
  CAST('{"event":"CheckpointMade","commit":"cccccccccccccccccccccccccccccccccccccccc","tree":"3333333333333333333333333333333333333333","files":["naïve.py","docs/a b.md"]}' AS BLOB));
INSERT INTO events VALUES (21, 'amber-heron', 'goal', 20, 1800000005.25, 'TaskHalted',
  x'44930c352d971f171a122599cc28fc09b53ca98b6aad698e5f3f6da33b32fa61',
  CAST('{"event":"TaskHalted","reason":"budget","message":"12 rounds are spent."}' AS BLOB));
INSERT INTO events VALUES (22, 'amber-heron', 'goal', 21, 1800000005.5, 'TaskResumed',
  x'b53ca98b6aad698e5f3f6da33b32fa612d302ec83dc86c34343b95c01052050e',
  CAST('{"event":"TaskResumed","limits":{"rounds":20}}' AS BLOB));
INSERT INTO events VALUES (23, 'amber-heron', 'goal', 22, 1800000005.75, 'TaskRewound',
  x'2d302ec83dc86c34343b95c01052050ec23547c93f0313851589acede5d5dfc1',
  CAST('{"event":"TaskRewound","version":9,"tree":"2222222222222222222222222222222222222222"}' AS BLOB));
INSERT INTO events VALUES (24, 'amber-heron', '@control', 1, 1800000006.0, 'StopRequested',
  x'00000000000000000000000000000000201d543b6d41b8e369152d6479ec6174',
  CAST('{"event":"StopRequested"}' AS BLOB));
INSERT INTO events VALUES (25, 'amber-heron', '@control', 2, 1800000006.25, 'StopRequested',
  x'201d543b6d41b8e369152d6479ec61741d4c0f563b1816d3b988f73936258f01',
  CAST('{"event":"StopRequested","now":true}' AS BLOB));
INSERT INTO events VALUES (26, 'amber-heron', '', 2, 1800000006.5, 'RunHalted',
  x'ebc29421c8cfe36dbd48d30d0f0c70039a6688c0a2ed6d512da89c5e0acde378',
  CAST('{"event":"RunHalted","reason":"stopped","message":"Stopped by a person."}' AS BLOB));
INSERT INTO events VALUES (27, 'amber-heron', '', 3, 1800000006.75, 'RunResumed',
  x'9a6688c0a2ed6d512da89c5e0acde378624617f37390e4c262665bcd56ebbf64',
  CAST('{"event":"RunResumed","worker":"otter:4242:813723:9f3c1a2b-4026531836","limits":{},"models":{"main":"openai:gpt-x"}}' AS BLOB));
INSERT INTO events VALUES (28, 'amber-heron', '', 4, 1800000007.0, 'RunReopened',
  x'624617f37390e4c262665bcd56ebbf64c98d28bf890320d66332b8fcac874be2',
  CAST('{"event":"RunReopened","task":"goal","round":2}' AS BLOB));
INSERT INTO events VALUES (29, 'amber-heron', '', 5, 1800000007.25, 'RunFinished',
  x'c98d28bf890320d66332b8fcac874be2008e484c12aa497d37783e9cc8e55e9b',
  CAST('{"event":"RunFinished","end":"completed","summary":"The last line is printed again."}' AS BLOB));
INSERT INTO events VALUES (30, 'amber-heron', '', 6, 1800000007.5, 'Applied',
  x'008e484c12aa497d37783e9cc8e55e9b71151e58850358509177d7d7f55e3425',
  CAST('{"event":"Applied","tree":"3333333333333333333333333333333333333333","files":["naïve.py"]}' AS BLOB));
INSERT INTO events VALUES (31, 'amber-heron', 'line', 1, 1800000007.75, 'SignalRaised',
  x'0000000000000000000000000000000055830f728dec31ca2a7516509b0018b0',
  CAST('{"event":"SignalRaised","signal":{"pattern":"paging","confidence":0.7,"diagnosis":"reads on and on","recommended":"nudge","rounds":[3,4],"evidence":["read a.py"]}}' AS BLOB));
INSERT INTO events VALUES (32, 'amber-heron', 'buffer', 1, 1800000008.0, 'ChildSettled',
  x'0000000000000000000000000000000080be8e7cd70e39f18952eb800a7eec8b',
  CAST('{"event":"ChildSettled","child":"insert-line","state":"completed","why":"9 tests passed","tree":"4444444444444444444444444444444444444444","spend":{"rounds":5,"tokens_in":90}}' AS BLOB));
INSERT INTO events VALUES (33, 'amber-heron', 'buffer', 2, 1800000008.25, 'CheckFinished',
  x'80be8e7cd70e39f18952eb800a7eec8b6093d4781588b85e3f309705f270ff4c',
  CAST('{"event":"CheckFinished","verdict":{"ruling":"failed","reason":"a test fails that passed","command":"pytest -q","found":"the step''s test_command","how":"junit","passed":8,"failed":1,"cases":"5555555555555555555555555555555555555555555555555555555555555555","failures":[{"id":"tests/test_a.py::test_b","kind":"regression","text":"assert 1 == 2"}],"flaky":["tests/test_a.py::test_c"]}}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
