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
  x'0000000000000000000000000000000000c48551bcc21f5345504f16bf130bcf',
  CAST('{"event":"RunStarted","plan":{"goal":{"name":"goal","instructions":"A calculator.","test_command":"pytest -q","plan_first":true}},"base":"1111111111111111111111111111111111111111","folder":"","models":{"main":"m","strong":"s"},"limits":{"rounds":60},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"version":"0.1.0","jobs":3,"grows":true}' AS BLOB));
INSERT INTO events VALUES (2, 'amber-heron', 'goal', 1, 1800000000.5, 'TaskCreated',
  x'00000000000000000000000000000000bf33275bff15c1c0b108741e7fac2183',
  CAST('{"event":"TaskCreated","step":{"name":"goal","instructions":"A calculator.","test_command":"pytest -q","plan_first":true},"base":"1111111111111111111111111111111111111111","limits":{"rounds":60},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"means":{"stronger":true,"person":true},"grows":true}' AS BLOB));
INSERT INTO events VALUES (3, 'amber-heron', 'goal', 2, 1800000000.75, 'StateChanged',
  x'bf33275bff15c1c0b108741e7fac218301749a6dac288ba6c8bbc1ed736ff8d5',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (4, 'amber-heron', 'goal', 3, 1800000001.0, 'HelperAnswered',
  x'01749a6dac288ba6c8bbc1ed736ff8d594980ca772ea484449599f11ffbb7669',
  CAST('{"event":"HelperAnswered","helper":"gate","text":"{\"atomic\": false}","usage":{"input":400,"output":60,"cache_read":300},"cost":0.002,"seconds":1.5,"model":"m-2026"}' AS BLOB));
INSERT INTO events VALUES (5, 'amber-heron', 'goal', 4, 1800000001.25, 'Estimated',
  x'94980ca772ea484449599f11ffbb766969a04ffd86dd99cf08d6211bc8cd98ac',
  CAST('{"event":"Estimated","atomic":false,"steps":12,"phases":["front","back"],"domains":["parsing"],"reason":"It is large.","proposal":"hierarchy"}' AS BLOB));
INSERT INTO events VALUES (6, 'amber-heron', 'goal', 5, 1800000001.5, 'PlanRefused',
  x'69a04ffd86dd99cf08d6211bc8cd98ac6bbaa5137a6d7c132dce8bc0cd800a15',
  CAST('{"event":"PlanRefused","helper":"planner","problems":["Two steps are called `lex`: give each a name of its own."]}' AS BLOB));
INSERT INTO events VALUES (7, 'amber-heron', 'goal', 6, 1800000001.75, 'PlanProposed',
  x'6bbaa5137a6d7c132dce8bc0cd800a15fc19e11e5b06c0da65f1dff601b01590',
  CAST('{"event":"PlanProposed","steps":[{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}]}' AS BLOB));
INSERT INTO events VALUES (8, 'amber-heron', 'goal', 7, 1800000002.0, 'PlanAnswered',
  x'fc19e11e5b06c0da65f1dff601b01590cb26386fd3279f1c38fc950548ee9d3b',
  CAST('{"event":"PlanAnswered","says":"change","wish":"fewer steps"}' AS BLOB));
INSERT INTO events VALUES (9, 'amber-heron', 'goal', 8, 1800000002.25, 'Planned',
  x'cb26386fd3279f1c38fc950548ee9d3bc16775e64ed6f224defa531801eca671',
  CAST('{"event":"Planned","steps":[{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"why":"the plan"}' AS BLOB));
INSERT INTO events VALUES (10, 'amber-heron', 'goal', 9, 1800000002.5, 'Granted',
  x'c16775e64ed6f224defa531801eca67130fce550dcefa7826b29f47755009cbe',
  CAST('{"event":"Granted","limits":{"rounds":72}}' AS BLOB));
INSERT INTO events VALUES (11, 'amber-heron', 'goal', 10, 1800000002.75, 'ChildStarted',
  x'30fce550dcefa7826b29f47755009cbe22e099739db3d11d7d6dcaae05d54808',
  CAST('{"event":"ChildStarted","step":"lex","task":"lex","grant":{"rounds":18}}' AS BLOB));
INSERT INTO events VALUES (12, 'amber-heron', 'lex', 1, 1800000003.0, 'TaskCreated',
  x'00000000000000000000000000000000df07684de912f9779511ed20281e36ba',
  CAST('{"event":"TaskCreated","step":{"name":"lex","instructions":"Write the lexer.","test_command":"pytest tests/test_lex.py","plan_first":true,"on_error":"escalate"},"base":"1111111111111111111111111111111111111111","limits":{"rounds":18},"rules":{"stuck":{"patterns":["paging","monologue"],"looks":9},"ladder":{"rungs":["nudge","prune","give_up"],"task_rounds":12,"asks":2},"planning":{"max_depth":2,"min_split":6}},"inherited":{"above":["goal: A calculator."],"dead_ends":["no regex"]}}' AS BLOB));
INSERT INTO events VALUES (13, 'amber-heron', 'lex', 2, 1800000003.25, 'StateChanged',
  x'df07684de912f9779511ed20281e36ba90763d19b00b56fa7407647ba38ac616',
  CAST('{"event":"StateChanged","to":"in_progress","why":"work begins"}' AS BLOB));
INSERT INTO events VALUES (14, 'amber-heron', 'lex', 3, 1800000003.5, 'AttemptStarted',
  x'90763d19b00b56fa7407647ba38ac616e81172b8bb21bd584d4219b01769891e',
  CAST('{"event":"AttemptStarted","role":"builder","tier":"main","system":"You are an engineer.","brief":"Write the lexer."}' AS BLOB));
INSERT INTO events VALUES (15, 'amber-heron', 'lex', 4, 1800000003.75, 'RoundStarted',
  x'e81172b8bb21bd584d4219b01769891e63ae616302ca29f6a29550a3fda827d9',
  CAST('{"event":"RoundStarted"}' AS BLOB));
INSERT INTO events VALUES (16, 'amber-heron', 'lex', 5, 1800000004.0, 'ModelAnswered',
  x'63ae616302ca29f6a29550a3fda827d912a15fa41bea2a5d72e9bad7f362e559',
  CAST('{"event":"ModelAnswered","text":"I look.","usage":{"input":400,"output":60,"cache_read":300},"window":32000}' AS BLOB));
INSERT INTO events VALUES (17, 'amber-heron', 'lex', 6, 1800000004.25, 'CompactionStarted',
  x'12a15fa41bea2a5d72e9bad7f362e559fbfce68c4a83c3a9396cd2ec2c6f9e48',
  CAST('{"event":"CompactionStarted","used":25000,"window":32000}' AS BLOB));
INSERT INTO events VALUES (18, 'amber-heron', 'lex', 7, 1800000004.5, 'Compacted',
  x'fbfce68c4a83c3a9396cd2ec2c6f9e48c3cc8224e210f864332ec6694a990be8',
  CAST('{"event":"Compacted","summary":"## Key decisions\n(nothing)","at":9,"before":25000,"after":5000,"by":"model"}' AS BLOB));
INSERT INTO events VALUES (19, 'amber-heron', 'lex', 8, 1800000004.75, 'SignalRaised',
  x'c3cc8224e210f864332ec6694a990be8764a801e15a9d005494707e8de1a5a63',
  CAST('{"event":"SignalRaised","signal":{"pattern":"circular_tools","confidence":0.85,"diagnosis":"`read` is called again and again.","recommended":"prune","rounds":[3,4,5],"evidence":["read {\"path\": \"a.py\"} → x = 1"]}}' AS BLOB));
INSERT INTO events VALUES (20, 'amber-heron', 'lex', 9, 1800000005.0, 'Escalated',
  x'764a801e15a9d005494707e8de1a5a636c54f154d0454b8af5592014fffe94b9',
  CAST('{"event":"Escalated","decision":{"rung":"prune","level":"task","reason":"It goes in circles (a fresh look)"},"trouble":{"cause":"signal","says":"`read` is called again and again.","pattern":"circular_tools","recommended":"prune","evidence":["read {\"path\": \"a.py\"} → x = 1"]}}' AS BLOB));
INSERT INTO events VALUES (21, 'amber-heron', 'lex', 10, 1800000005.25, 'HelperFailed',
  x'6c54f154d0454b8af5592014fffe94b9e4f6f17887e0ec1159d40f8ffb36d15a',
  CAST('{"event":"HelperFailed","helper":"pruner","message":"503 from the server","seconds":0.5}' AS BLOB));
INSERT INTO events VALUES (22, 'amber-heron', 'lex', 11, 1800000005.5, 'ContextPruned',
  x'e4f6f17887e0ec1159d40f8ffb36d15ac2997a1c4c9a3847df05a9cda8d77a98',
  CAST('{"event":"ContextPruned","before":9000,"after":1200,"by":"rule"}' AS BLOB));
INSERT INTO events VALUES (23, 'amber-heron', 'lex', 12, 1800000005.75, 'SplitProposed',
  x'c2997a1c4c9a3847df05a9cda8d77a9860783f2e4daa007cc95d886e1a726a78',
  CAST('{"event":"SplitProposed","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}]}' AS BLOB));
INSERT INTO events VALUES (24, 'amber-heron', 'lex', 13, 1800000006.0, 'PlanRefused',
  x'60783f2e4daa007cc95d886e1a726a7854d59c7803ffb0dfb2bd9ee94935512a',
  CAST('{"event":"PlanRefused","helper":"decomposer","problems":["There are 1 steps: give 2 to 4."],"final":true}' AS BLOB));
INSERT INTO events VALUES (25, 'amber-heron', 'lex', 14, 1800000006.25, 'CheckpointMade',
  x'54d59c7803ffb0dfb2bd9ee94935512a3940918e45f250a16072d5e887fabe09',
  CAST('{"event":"CheckpointMade","commit":"cccccccccccccccccccccccccccccccccccccccc","tree":"2222222222222222222222222222222222222222","files":["lex.py"]}' AS BLOB));
INSERT INTO events VALUES (26, 'amber-heron', 'lex', 15, 1800000006.5, 'StateChanged',
  x'3940918e45f250a16072d5e887fabe0942c27be76f089cb3b4f157430670dfb0',
  CAST('{"event":"StateChanged","to":"blocked","why":"`read` is called again and again."}' AS BLOB));
INSERT INTO events VALUES (27, 'amber-heron', 'goal', 11, 1800000006.75, 'ChildSettled',
  x'22e099739db3d11d7d6dcaae05d5480815ec7d3b93cf4dd6313b8247de1ec7df',
  CAST('{"event":"ChildSettled","child":"lex","state":"blocked","why":"`read` is called again and again.","tree":"1111111111111111111111111111111111111111","spend":{"rounds":9,"tokens_in":900,"cost":0.5,"seconds":2.5},"result":"half of it","files":["lex.py"],"dead_ends":["a regular expression cannot do it"],"errors":true}' AS BLOB));
INSERT INTO events VALUES (28, 'amber-heron', 'goal', 12, 1800000007.0, 'Escalated',
  x'15ec7d3b93cf4dd6313b8247de1ec7df81d6f0679f49622c1cabc62b65c4f56a',
  CAST('{"event":"Escalated","decision":{"rung":"stronger_model","level":"goal","reason":"r"},"trouble":{"cause":"children","says":"its steps cannot go on"}}' AS BLOB));
INSERT INTO events VALUES (29, 'amber-heron', 'goal', 13, 1800000007.25, 'ChildrenReopened',
  x'81d6f0679f49622c1cabc62b65c4f56a9f78e520df8bdc22501266ab6b65aad9',
  CAST('{"event":"ChildrenReopened","children":["lex"],"why":"a stronger model is configured"}' AS BLOB));
INSERT INTO events VALUES (30, 'amber-heron', 'goal', 14, 1800000007.5, 'ChildStarted',
  x'9f78e520df8bdc22501266ab6b65aad9832a079e499d8a2678017194ab07b420',
  CAST('{"event":"ChildStarted","step":"lex","task":"lex","grant":{"rounds":20}}' AS BLOB));
INSERT INTO events VALUES (31, 'amber-heron', 'lex', 16, 1800000007.75, 'TaskResumed',
  x'42c27be76f089cb3b4f157430670dfb05af7fafe222015c0b1a4d8e66e8c97d4',
  CAST('{"event":"TaskResumed","limits":{"rounds":20},"means":{"stronger":true},"grows":true}' AS BLOB));
INSERT INTO events VALUES (32, 'amber-heron', 'lex', 17, 1800000008.0, 'TakenUp',
  x'5af7fafe222015c0b1a4d8e66e8c97d4ce51615d67407781993b0d89c832e8e0',
  CAST('{"event":"TakenUp","tier":"strong","why":"a stronger model takes it up again"}' AS BLOB));
INSERT INTO events VALUES (33, 'amber-heron', 'goal', 15, 1800000008.25, 'ChildMerged',
  x'832a079e499d8a2678017194ab07b420a0c15be9b18e283ce09889741997c770',
  CAST('{"event":"ChildMerged","child":"lex","tree":"3333333333333333333333333333333333333333","conflicts":["lex.py"],"verdict":{"ruling":"failed","reason":"1 test failed"}}' AS BLOB));
INSERT INTO events VALUES (34, 'amber-heron', 'goal', 16, 1800000008.5, 'PlanChanged',
  x'a0c15be9b18e283ce09889741997c770b9d74ef97b7227be7b1bd16c940a8ef0',
  CAST('{"event":"PlanChanged","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"said":["parse now reads tokens"]}' AS BLOB));
INSERT INTO events VALUES (35, 'amber-heron', 'goal', 17, 1800000008.75, 'PassEnded',
  x'b9d74ef97b7227be7b1bd16c940a8ef0d5e0ef8b7f17f06ecc7a4b54a61f03c9',
  CAST('{"event":"PassEnded","number":1,"why":"not yet"}' AS BLOB));
INSERT INTO events VALUES (36, 'amber-heron', 'goal', 18, 1800000009.0, 'TransitionTaken',
  x'd5e0ef8b7f17f06ecc7a4b54a61f03c9414375247f2ba338e5336e92d7821e86',
  CAST('{"event":"TransitionTaken","state":"write","to":"review","why":"write → review, on success"}' AS BLOB));
INSERT INTO events VALUES (37, 'amber-heron', 'build', 1, 1800000009.25, 'CommandStarted',
  x'00000000000000000000000000000000986cc9a46f20862addc22d719736070c',
  CAST('{"event":"CommandStarted","command":"make build"}' AS BLOB));
INSERT INTO events VALUES (38, 'amber-heron', 'build', 2, 1800000009.5, 'CommandFinished',
  x'986cc9a46f20862addc22d719736070cb151d1d375f334590958de700f466aab',
  CAST('{"event":"CommandFinished","ok":false,"output":"killed","blob":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","tree":"3333333333333333333333333333333333333333","seconds":2.5,"killed":"after 120 s"}' AS BLOB));
INSERT INTO events VALUES (39, 'amber-heron', 'build', 3, 1800000009.75, 'CommandFinished',
  x'b151d1d375f334590958de700f466aabcd4bc72727ebc1890d054742481c83a4',
  CAST('{"event":"CommandFinished","ok":false,"output":"interrupted","interrupted":true}' AS BLOB));
INSERT INTO events VALUES (40, 'amber-heron', 'review', 1, 1800000010.0, 'Reviewed',
  x'0000000000000000000000000000000043dc6eb76c540eed69c6a5e57b6c0612',
  CAST('{"event":"Reviewed","findings":[{"file":"lex.py","line":3,"severity":"high","what":"an empty text is not read","why":"it raises"}],"problems":["one unclear"]}' AS BLOB));
INSERT INTO events VALUES (41, 'amber-heron', 'goal', 19, 1800000010.25, 'Summarized',
  x'414375247f2ba338e5336e92d7821e861009675afe03b7753f57202f059fda4e',
  CAST('{"event":"Summarized","text":"two modules and a command","by":"model"}' AS BLOB));
INSERT INTO events VALUES (42, 'amber-heron', 'goal', 20, 1800000010.5, 'Planned',
  x'1009675afe03b7753f57202f059fda4e5308533b1eec025070b811456069dbd7',
  CAST('{"event":"Planned","steps":[{"name":"parse","instructions":"Write the parser.","title":"parser","criteria":["`parse(''a'') == [''a'']`"],"test_file":"tests/test_parse.py","needs":["lex"],"files":["parse.py"],"complexity":3,"on_error":"escalate","context":"inherited"}],"why":"another approach","dropped":["lex"]}' AS BLOB));
INSERT INTO events VALUES (43, 'amber-heron', 'goal', 21, 1800000010.75, 'PersonAnswered',
  x'5308533b1eec025070b811456069dbd73b7f7aa722d8869a45f70026867c13a2',
  CAST('{"event":"PersonAnswered","question":"What would you do?","text":"leave the lexer out"}' AS BLOB));
INSERT INTO events VALUES (44, 'amber-heron', 'goal', 22, 1800000011.0, 'Reported',
  x'3b7f7aa722d8869a45f70026867c13a266e49ca6822a950b03b0dcb0b550bd3f',
  CAST('{"event":"Reported","text":"Given up: its steps cannot go on.\n\n## What was tried\n- its context was pruned"}' AS BLOB));
INSERT INTO events VALUES (45, 'amber-heron', 'goal', 23, 1800000011.25, 'StateChanged',
  x'66e49ca6822a950b03b0dcb0b550bd3f858f1c20b6a671221f4ed2cebd3324c1',
  CAST('{"event":"StateChanged","to":"failed","why":"its steps cannot go on"}' AS BLOB));
INSERT INTO events VALUES (46, 'amber-heron', '', 2, 1800000011.5, 'RunReopened',
  x'00c48551bcc21f5345504f16bf130bcf2cc594cda6b3ce328e2cc202da9eaba8',
  CAST('{"event":"RunReopened","task":"goal","round":3,"moment":17}' AS BLOB));
INSERT INTO events VALUES (47, 'amber-heron', 'goal', 24, 1800000011.75, 'TaskRewound',
  x'858f1c20b6a671221f4ed2cebd3324c17d81a6811e084b73cda6bd2e49e9afef',
  CAST('{"event":"TaskRewound","version":4,"tree":"1111111111111111111111111111111111111111","children":{"lex":{"rounds":2}}}' AS BLOB));
INSERT INTO events VALUES (48, 'amber-heron', '', 3, 1800000012.0, 'RunFinished',
  x'2cc594cda6b3ce328e2cc202da9eaba8539524197fe52d6c5b330788066653df',
  CAST('{"event":"RunFinished","end":"failed","summary":"its steps cannot go on"}' AS BLOB));

INSERT INTO claims VALUES (7, 'amber-heron', 'goal', 'otter:4242:813723:9f3c1a2b-4026531836', 1800000015.0);
INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', CAST('hello' AS BLOB));
