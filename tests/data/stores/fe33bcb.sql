PRAGMA application_id = 1886156141;
PRAGMA user_version = 25;
BEGIN TRANSACTION;
CREATE TABLE build_codes (
    build_key  INTEGER NOT NULL REFERENCES builds,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    code_key   INTEGER NOT NULL REFERENCES codes,
    PRIMARY KEY (build_key, kernel_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "build_codes" VALUES(1,1,1);
INSERT INTO "build_codes" VALUES(2,1,1);
INSERT INTO "build_codes" VALUES(3,1,2);
CREATE TABLE builds (
    build_key INTEGER PRIMARY KEY,
    content   TEXT NOT NULL UNIQUE,
    recipe    TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('ok', 'unbuildable')),
    detail    TEXT NOT NULL
) STRICT;
INSERT INTO "builds" VALUES(1,'5ed0a201c32e85b641efa21a44ac3d93e70edf69','policy: host','ok','');
INSERT INTO "builds" VALUES(2,'2310f553a58f22a07bdc415f9d82e0e011d8f248','policy: host','ok','');
INSERT INTO "builds" VALUES(3,'44912c1d40a394732397d8816e55a45d393e04a2','policy: host','ok','');
CREATE TABLE chart_points (
    series_key   INTEGER NOT NULL REFERENCES judgements,
    position     INTEGER NOT NULL CHECK (position >= 0), -- index of the point
    commit_key   INTEGER NOT NULL REFERENCES commits,
    time_s       INTEGER NOT NULL,
    time_ns      REAL NOT NULL CHECK (time_ns > 0),
    predicted_ns REAL,
    half_ns      REAL, -- half width of the time's interval
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE codes (
    code_key   INTEGER PRIMARY KEY,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    code_id    TEXT NOT NULL CHECK (length(code_id) BETWEEN 1 AND 64),
    traits     TEXT NOT NULL, -- {"in":"bf16","tile_m":128,...}
    UNIQUE (kernel_key, code_id)
) STRICT;
INSERT INTO "codes" VALUES(1,1,'3d5e203c359281dd411522ae9b65baebb25790d4','{"in":"fp32","out":"fp32","acc":"fp32"}');
INSERT INTO "codes" VALUES(2,1,'fbea601857daf92899a159c4c194488ccdfde017','{"in":"fp32","out":"fp32","acc":"fp32"}');
CREATE TABLE commit_builds (
    commit_key INTEGER NOT NULL REFERENCES commits,
    build_key  INTEGER NOT NULL REFERENCES builds,
    PRIMARY KEY (commit_key, build_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "commit_builds" VALUES(1,1);
INSERT INTO "commit_builds" VALUES(2,2);
INSERT INTO "commit_builds" VALUES(3,3);
INSERT INTO "commit_builds" VALUES(4,3);
CREATE TABLE commits (
    commit_key INTEGER PRIMARY KEY,
    commit_id  TEXT NOT NULL UNIQUE CHECK (length(commit_id) BETWEEN 1 AND 64),
    tree_id    TEXT NOT NULL, -- survives rewritten history, the commit's id does not
    parent_id  TEXT NOT NULL, -- first parent, '' for a root
    summary    TEXT NOT NULL,
    author     TEXT NOT NULL,
    time_s     INTEGER NOT NULL
, order_s INTEGER) STRICT;
INSERT INTO "commits" VALUES(1,'a53f97e927445f04b4f7abc44ffee48f681342c8','0aa90609617fa7ecce14021e224750b1e4ef9d45','6eed9dbedc2614b16dc15659d901dc990986fba2','ci: plumb','You',1795736611,1795736612);
INSERT INTO "commits" VALUES(2,'72d4f9bd8b51b236d97b96b8ddb97e880689e81b','a65fdb0ccc32bcdb2ba893dd89881b7ab194bd06','a53f97e927445f04b4f7abc44ffee48f681342c8','gemm: say what is what','You',1795736621,1795736621);
INSERT INTO "commits" VALUES(3,'ee9d61ea3cb9fa2c0cb55e1fd4d4ad7d69733958','d305e4f6b50a34962f8cfdeb9acee27788706878','4e0e09c2e568603dc68b1023398a0867bc03f9d6','A page','You',1795736623,1795736624);
INSERT INTO "commits" VALUES(4,'4e0e09c2e568603dc68b1023398a0867bc03f9d6','8d74545dd2435e93af4d0dba79d60d474ed10fd4','72d4f9bd8b51b236d97b96b8ddb97e880689e81b','gemm: one sum at a time','You',1795736623,1795736623);
CREATE TABLE device_entries (
    entry_key  INTEGER PRIMARY KEY,
    device_key INTEGER NOT NULL REFERENCES devices,
    state      TEXT NOT NULL CHECK (state IN ('out', 'in')),
    when_s     INTEGER NOT NULL,
    who        TEXT NOT NULL CHECK (who <> ''),
    why        TEXT NOT NULL,
    UNIQUE (device_key, state, when_s, why)
) STRICT;
CREATE TABLE devices (
    device_key INTEGER PRIMARY KEY,
    uuid       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL
) STRICT;
INSERT INTO "devices" VALUES(1,'HOST-431ea8097e9fdc83','host','Intel(R) Xeon(R) Processor');
CREATE TABLE epochs (
    epoch_key INTEGER PRIMARY KEY,
    series    TEXT NOT NULL, -- a pattern
    commit_id TEXT NOT NULL,
    level     REAL NOT NULL,
    reason    TEXT NOT NULL,
    who       TEXT NOT NULL,
    when_s    INTEGER NOT NULL, removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
    UNIQUE (series, commit_id, level, reason, who, when_s)
) STRICT;
CREATE TABLE event_changes (
    event_key    INTEGER NOT NULL REFERENCES events,
    series_key   INTEGER NOT NULL REFERENCES series,
    first_id     TEXT NOT NULL, -- commits: it began with one of these
    last_id      TEXT NOT NULL,
    log_ratio    REAL NOT NULL CHECK (log_ratio BETWEEN -50 AND 50),
    log_evidence REAL NOT NULL,
    PRIMARY KEY (event_key, series_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE event_entries (
    entry_key INTEGER PRIMARY KEY,
    event_key INTEGER NOT NULL REFERENCES events,
    state     TEXT NOT NULL CHECK (state IN ('new', 'confirmed', 'fixed', 'withdrawn')),
    when_s    INTEGER NOT NULL,
    who       TEXT NOT NULL CHECK (who <> ''),
    why       TEXT NOT NULL,
    UNIQUE (event_key, state, when_s, why)
) STRICT;
CREATE TABLE events (
    event_key INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 47),
    cause     TEXT NOT NULL CHECK (cause IN ('kernel', 'memory', 'power', 'environment', 'model',
                                             'break')),
    what      TEXT NOT NULL, -- of a break; '' if none
    culprit   TEXT NOT NULL  -- commit id that a search ended with; '' if none
) STRICT;
CREATE TABLE figures (
    profile_key INTEGER NOT NULL REFERENCES profiles,
    name        TEXT NOT NULL,
    value       REAL NOT NULL CHECK (value > 0),
    source      TEXT NOT NULL,
    PRIMARY KEY (profile_key, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "figures" VALUES(1,'clock_hz',3.9761431411530814171e+09,'measured here, 5 repeats, cv 3.37 %');
INSERT INTO "figures" VALUES(1,'flops_clk_fp32',6.08414549460022442434e+01,'measured here, 5 repeats, cv 1.28 %');
INSERT INTO "figures" VALUES(1,'l2_latency_clk',1.65986539768864730607e+02,'measured here, 5 repeats, cv 2.39 %');
CREATE TABLE judgement_breaks (
    series_key INTEGER NOT NULL REFERENCES judgements,
    position   INTEGER NOT NULL,
    at         INTEGER NOT NULL CHECK (at > 0), -- index of the first point after it
    commit_id  TEXT NOT NULL,                   -- that point's commit, and its time
    time_s     INTEGER NOT NULL,
    what       TEXT NOT NULL,
    model      INTEGER NOT NULL CHECK (model IN (0, 1)),
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE judgement_changes (
    series_key    INTEGER NOT NULL REFERENCES judgements,
    position      INTEGER NOT NULL,
    at            INTEGER NOT NULL, -- indices of points
    earliest      INTEGER NOT NULL CHECK (earliest BETWEEN 0 AND at),
    latest        INTEGER NOT NULL CHECK (latest >= at),
    before        REAL NOT NULL,
    after         REAL NOT NULL,
    size          REAL NOT NULL,
    lower         REAL,
    upper         REAL,
    evidence      REAL NOT NULL,
    at_id         TEXT NOT NULL, -- commits, and their times
    at_s          INTEGER NOT NULL,
    earliest_id   TEXT NOT NULL,
    earliest_s    INTEGER NOT NULL,
    latest_id     TEXT NOT NULL,
    latest_s      INTEGER NOT NULL,
    commits       INTEGER NOT NULL CHECK (commits > 0),
    code_changed  INTEGER NOT NULL CHECK (code_changed IN (0, 1)),
    model_changed INTEGER NOT NULL CHECK (model_changed IN (0, 1)),
    attribution   INTEGER NOT NULL CHECK (attribution BETWEEN 0 AND 15),
    what          TEXT, newest INTEGER NOT NULL DEFAULT 0
    CHECK (newest IN (0, 1)), held TEXT NOT NULL DEFAULT '', -- name of a break
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE judgements (
    series_key    INTEGER PRIMARY KEY REFERENCES series,
    maker         TEXT NOT NULL,    -- '' while there is none yet
    marks         INTEGER NOT NULL, -- how often something came or was renewed
    changed_s     INTEGER,          -- earliest commit time of what came since; NULL: nothing
    newest_key    INTEGER NOT NULL, -- no measurement beyond this was looked at
    points        INTEGER NOT NULL CHECK (points >= settled),
    settled       INTEGER NOT NULL CHECK (settled >= 0),
    settled_s     INTEGER NOT NULL, -- commit time of the last settled point, and its measurement
    settled_key   INTEGER NOT NULL,
    context_s     INTEGER NOT NULL, -- commit time from which on points are read again
    against_model INTEGER NOT NULL CHECK (against_model IN (0, 1)),
    common_mode   INTEGER NOT NULL CHECK (common_mode IN (0, 1)),
    drift         INTEGER NOT NULL CHECK (drift IN (0, 1)),
    sigma         REAL,
    correlation   REAL,
    since         INTEGER,          -- index of the accepted state's first point; NULL: not measured yet
    level         REAL,             -- of the accepted state, and its standard error
    level_se      REAL,
    moved         INTEGER NOT NULL CHECK (moved IN (0, 1)),
    size          REAL,             -- of the newest points against it, with its interval
    lower         REAL,
    upper         REAL
, settled_marks INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "judgements" VALUES(1,'10.6/63b436a557b06237',0,NULL,4,0,0,0,0,0,0,0,0,0.0,0.0,NULL,0.0,0.0,0,0.0,0.0,0.0,0);
CREATE TABLE kept_links (
    series_key  INTEGER PRIMARY KEY REFERENCES series,
    maker       TEXT NOT NULL,
    newest_link INTEGER NOT NULL, -- the largest key of a link that was looked at
    found       BLOB NOT NULL     -- ci/history/links_kept.c says what stands there
, levels BLOB NOT NULL DEFAULT x'') STRICT;
INSERT INTO "kept_links" VALUES(1,'13/e604823a249029bf',2,X'00000200000201020000004905F2C0C760503F0000000000000000000000000000000000000000000000002861353366393765393237343435663034623466376162633434666665653438663638313334326338A388A3D806000000000000F87F000000000000F87F000000000000F87F00',X'00A5C688A1C89CA7F9CB0102000001000000000000000000000000000000000000000000000000000101034BDD0DE4BED6FB3FAFEE104E6043FB3FE7CB0A7A1D6AFC3F0001');
CREATE TABLE kernels (
    kernel_key INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200)
) STRICT;
INSERT INTO "kernels" VALUES(1,'gemm');
CREATE TABLE link_tests (
    link_key     INTEGER PRIMARY KEY REFERENCES links,
    log_evidence REAL NOT NULL, -- with that of earlier links of the same two codes
    discovered   INTEGER NOT NULL CHECK (discovered IN (0, 1))
) STRICT;
CREATE TABLE "links" (
    link_key        INTEGER PRIMARY KEY,
    uid             TEXT NOT NULL CHECK (length(uid) = 32), -- of the run
    series_key      INTEGER NOT NULL REFERENCES series,
    base_code_key   INTEGER NOT NULL REFERENCES codes,
    head_code_key   INTEGER NOT NULL REFERENCES codes,
    base_commit_key INTEGER NOT NULL REFERENCES commits, -- a commit with the base's code
    head_commit_key INTEGER NOT NULL REFERENCES commits,
    tool_key        INTEGER NOT NULL REFERENCES texts,
    made_s          INTEGER NOT NULL,
    back            INTEGER NOT NULL CHECK (back BETWEEN 0 AND 1000000), -- codes; 1: the one before
    kind            TEXT NOT NULL CHECK (kind IN ('same', 'slower', 'faster', 'undecided')),
    log_ratio       REAL NOT NULL CHECK (log_ratio BETWEEN -50 AND 50), -- log(head / base)
    error           REAL NOT NULL CHECK (error BETWEEN 1e-6 AND 50),    -- standard, by its pairs
    log_evidence    REAL NOT NULL CHECK (log_evidence BETWEEN -1e9 AND 1e9),
    pairs           INTEGER NOT NULL CHECK (pairs BETWEEN 1 AND 4294967295),
    processes       INTEGER NOT NULL CHECK (processes BETWEEN 1 AND 65535),
    CHECK (base_code_key <> head_code_key AND base_commit_key <> head_commit_key),
    UNIQUE (uid, series_key)
) STRICT;
INSERT INTO "links" VALUES(1,'f34f0a09d2b9ece64fa891a6a84b0f39',1,1,2,1,3,1,1795736628,0,'undecided',1.73915238617761480632e+00,1.01996865473629131498e-02,2.06798632631344077022e+01,32,2);
INSERT INTO "links" VALUES(2,'4928ef069b8c93cd441a2af532700865',1,1,2,1,3,1,1795736633,0,'undecided',1.74093906091668948477e+00,1.39148445171241186973e-02,1.51900999140957644324e+01,24,2);
CREATE TABLE measurements (
    measurement_key INTEGER PRIMARY KEY,
    run_key         INTEGER NOT NULL REFERENCES runs,
    series_key      INTEGER NOT NULL REFERENCES series,
    role            INTEGER NOT NULL CHECK (role IN (0, 1)), -- 0 base, 1 head
    plain           INTEGER NOT NULL CHECK (plain IN (0, 1)), -- 1: by a plain run or an import
    commit_key      INTEGER NOT NULL REFERENCES commits,
    commit_s        INTEGER NOT NULL, -- the commit's time, so that histories are in order
    code_key        INTEGER REFERENCES codes, -- NULL: there is no code
    state           TEXT NOT NULL CHECK (state IN ('ok', 'wrong', 'crashed', 'timeout',
                                                   'unbuildable', 'unsupported', 'missing')),
    time_ns         REAL CHECK (time_ns > 0), -- NULL unless ok
    clock_hz        REAL,
    samples         INTEGER NOT NULL CHECK (samples >= 0),
    max_error       REAL,
    tolerance       REAL,
    seed            INTEGER NOT NULL, -- 64 bits
    regime_key      INTEGER NOT NULL REFERENCES texts,
    detail_key      INTEGER NOT NULL REFERENCES texts,
    CHECK (time_ns IS NULL OR state = 'ok')
) STRICT;
INSERT INTO "measurements" VALUES(1,3,1,0,0,1,1795736612,1,'ok',2.59290315384615398935e+06,4.06004244512291812907e+09,32,2.83237149734105742027e-06,1.0040686894803810083e-05,5268006377775218571,7,8);
INSERT INTO "measurements" VALUES(2,3,1,1,0,3,1795736624,2,'ok',1.4746391230769230053e+07,4.05754735465754652005e+09,32,2.83237149734105742027e-06,1.0040686894803810083e-05,5268006377775218571,7,8);
INSERT INTO "measurements" VALUES(3,4,1,0,0,1,1795736612,1,'ok',2600516.3,3.97438658885000514996e+09,24,2.70149062631119818433e-06,1.0040686894803810083e-05,3595753800917218262,7,8);
INSERT INTO "measurements" VALUES(4,4,1,1,0,3,1795736624,2,'ok',14893282.6,3.97690091834117364884e+09,24,2.70149062631119818433e-06,1.0040686894803810083e-05,3595753800917218262,7,8);
CREATE TABLE models (
    model_key INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;
INSERT INTO "models" VALUES(1,'sol','1');
INSERT INTO "models" VALUES(2,'plumb','0.1.0');
INSERT INTO "models" VALUES(3,'gate','5');
CREATE TABLE predictions (
    series_key     INTEGER NOT NULL REFERENCES series,
    run_key        INTEGER NOT NULL REFERENCES runs,
    model_key      INTEGER NOT NULL REFERENCES models,
    made_s         INTEGER NOT NULL, -- the newest counts
    why            TEXT, -- why there is no time; NULL when feasible
    time_ns        REAL,
    clock_hz       REAL,
    clock_exponent REAL,
    band           REAL,
    bound          TEXT NOT NULL,
    parts          TEXT NOT NULL, -- [["launch", ns], ...]
    PRIMARY KEY (series_key, run_key, model_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "predictions" VALUES(1,1,1,1795736621,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,3.9761431411530814171e+09,0.0,0.0,'unknown','[]');
INSERT INTO "predictions" VALUES(1,2,1,1795736623,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,3.9761431411530814171e+09,0.0,0.0,'unknown','[]');
INSERT INTO "predictions" VALUES(1,3,1,1795736628,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,4.05754735465754652005e+09,0.0,0.0,'unknown','[]');
INSERT INTO "predictions" VALUES(1,4,1,1795736633,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,3.97690091834117364884e+09,0.0,0.0,'unknown','[]');
CREATE TABLE problems (
    problem_key INTEGER PRIMARY KEY,
    problem     TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "problems" VALUES(1,'256x256x256:fp32-fp32:nn');
CREATE TABLE profiles (
    profile_key INTEGER PRIMARY KEY,
    device_key  INTEGER NOT NULL REFERENCES devices,
    name        TEXT NOT NULL,
    measured_s  INTEGER NOT NULL,
    UNIQUE (device_key, measured_s, name)
) STRICT;
INSERT INTO "profiles" VALUES(1,1,'host',1795736620);
CREATE TABLE results (
    run_key       INTEGER NOT NULL REFERENCES runs,
    series_key    INTEGER NOT NULL REFERENCES series,
    base_code_key INTEGER REFERENCES codes,
    head_code_key INTEGER REFERENCES codes,
    control       INTEGER NOT NULL CHECK (control IN (0, 1)),
    reused        INTEGER NOT NULL CHECK (reused IN (0, 1)),
    base_key      INTEGER REFERENCES measurements,
    head_key      INTEGER REFERENCES measurements,
    pairs         INTEGER NOT NULL,
    pair_sd       REAL,
    pair_sd_mad   REAL,
    PRIMARY KEY (run_key, series_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "results" VALUES(1,1,1,1,0,1,NULL,NULL,0,NULL,NULL);
INSERT INTO "results" VALUES(2,1,1,1,0,1,NULL,NULL,0,NULL,NULL);
INSERT INTO "results" VALUES(3,1,1,2,0,0,1,2,32,2.58369235316432931115e-02,2.01248112999318044813e-02);
INSERT INTO "results" VALUES(4,1,1,2,0,0,3,4,24,3.14821298336534563522e-02,3.36890963367134296801e-02);
CREATE TABLE "run_accuracy" (
    run_key    INTEGER NOT NULL REFERENCES runs,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    dtype      TEXT NOT NULL,
    device_key INTEGER NOT NULL REFERENCES devices,
    model      TEXT NOT NULL, -- name and version
    count      INTEGER NOT NULL CHECK (count > 0),
    mape       REAL NOT NULL,
    bias       REAL NOT NULL,
    tau        REAL,
    within     REAL NOT NULL,
    PRIMARY KEY (run_key, kernel_key, dtype, device_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE "run_accuracy_known" (
    run_key INTEGER PRIMARY KEY REFERENCES runs
) STRICT;
CREATE TABLE run_devices (
    run_key     INTEGER NOT NULL REFERENCES runs,
    position    INTEGER NOT NULL,
    device_key  INTEGER NOT NULL REFERENCES devices,
    driver_key  INTEGER NOT NULL REFERENCES texts,
    runtime_key INTEGER NOT NULL REFERENCES texts,
    profile_key INTEGER NOT NULL REFERENCES texts, -- its name
    PRIMARY KEY (run_key, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "run_devices" VALUES(1,0,1,4,5,6);
INSERT INTO "run_devices" VALUES(2,0,1,4,5,6);
INSERT INTO "run_devices" VALUES(3,0,1,4,5,6);
INSERT INTO "run_devices" VALUES(4,0,1,4,5,6);
CREATE TABLE runs (
    run_key         INTEGER PRIMARY KEY,
    uid             TEXT NOT NULL UNIQUE CHECK (length(uid) = 32),
    kind            TEXT NOT NULL
                    CHECK (kind IN ('measure', 'gate', 'study', 'bisect', 'import')),
    started_s       INTEGER NOT NULL,
    finished_s      INTEGER NOT NULL,
    tool_key        INTEGER NOT NULL REFERENCES texts, -- the tool's version
    repository_key  INTEGER NOT NULL REFERENCES texts,
    policy_key      INTEGER NOT NULL REFERENCES texts,
    base_commit_key INTEGER REFERENCES commits,
    head_commit_key INTEGER REFERENCES commits,
    conclusion      INTEGER NOT NULL CHECK (conclusion BETWEEN 0 AND 4),
    headline        TEXT NOT NULL
, base_toolchain_key INTEGER REFERENCES texts, head_toolchain_key INTEGER REFERENCES texts) STRICT;
INSERT INTO "runs" VALUES(1,'351c753f26354e59617c06c84c90a618','gate',1795736621,1795736621,1,2,3,1,1,0,'OK: 1 same',NULL,NULL);
INSERT INTO "runs" VALUES(2,'8580341e387957cf140cef877358f3c8','gate',1795736622,1795736623,1,2,3,1,2,0,'OK: 1 same',NULL,NULL);
INSERT INTO "runs" VALUES(3,'f34f0a09d2b9ece64fa891a6a84b0f39','gate',1795736624,1795736628,1,2,3,1,3,2,'UNDECIDED: 1 undecided: gemm 256x256x256:fp32-fp32:nn +469.25 %',NULL,NULL);
INSERT INTO "runs" VALUES(4,'4928ef069b8c93cd441a2af532700865','bisect',1795736630,1795736633,1,2,3,1,3,2,'UNDECIDED: 1 undecided: gemm 256x256x256:fp32-fp32:nn +470.27 %',NULL,NULL);
CREATE TABLE samples (
    measurement_key INTEGER PRIMARY KEY REFERENCES measurements,
    packed          BLOB NOT NULL
) STRICT;
INSERT INTO "samples" VALUES(1,X'0120010096E4BD028ABA059DAA07F82CF09C03CFF71184DA12EAE102ABE006DDAC05FCA909C4F50AE9800FDBD40CC4FE1591F701D9D102C1D308C3A402A89C04E29701CBE004F6A20186B1028E66A8F7019FDA0586FD0281AF08D68609FA9D09D2BE0E0200F8FC4E072A61EE415A502CED325DEE41420CBE62B9F3ED41EC09F9D7CD63EE41F8CE68B0E45BEE41BC7FCD447366EE410E1BE112CE63EE416C291B98EBA4ED4188D20748229CED4174E2DD884C04EE41F680B64D345DEE416EFAE9FEE49FED410E1BE112CE63EE410106A37CA056EE41F680B64D345DEE416FBD95A25B7EEC41323B1F544159EE41510BD6097366EE41B6DE73B93F59EE41F0987336EC57EE4101F873C39A56EE41DC505215E35BEE41E5BB0DED935AEE4102DEC4562961EE4102DEC4562961EE419E8AE7702065EE4102B3FD494C55EE4198A2A459D85FEE414A830A6312FBED4174E2DD884C04EE415473A0AFDDF8ED411A26B065FA02EE41000201000202020202020202020202020202021D02020202020202020202020202020201000000000000000002000000000000000200000000000000020000000000000001000000000000000000000000000000000200000000000000000000000000000000000102000000010002000100020000010000020102010200010002010201020102010000000000FFFF030001');
INSERT INTO "samples" VALUES(2,X'01200100EEF7F60DF82AFE9F1587A819DCC41BFBE702E6B813F88F13B1B122E1B628BBDB02EA8D13DE8209B7DB1980CC0180E813BABF02F9A91486F1148C4CF0EF0597940AF9FA0AB0D329B7C31D98AE67D9DC4CD7C105A29A1FE0CE0EE9DF09E2DF1A0200E621B6C0855EEE4117B290D5845EEE41B690C72DC3FDED41E5BB0DED935AEE41464E7A17925AEE418ED140AE355DEE415C9AF2797B62EE41616BC7B7A800EE4126ADDA4FE09AED41A901A5E6865EEE41F680B64D345DEE41B690C72DC3FDED41BA84D661C801EE419E8AE7702065EE419E8AE7702065EE411659D447FE79EC41F680B64D345DEE41A2CB18F6EE57EE41F680B64D345DEE419FC0E1AD9B56EE41A092FB565651EE41A901A5E6865EEE41E621B6C0855EEE412C53DC3CF953EE415C9AF2797B62EE4102DEC4562961EE41E5BB0DED935AEE4198A2A459D85FEE41220778A757F2ED41A82DA899A29EED41EE8E7FCB8CD2EC413E2DE6E0A39EED41000201000202020202020202020202020202021D02020202020202020202020202020201000000000000000002000000000000000200000000000000020000000000000001000000000000000000000000000000000200000000000000000000000000000000020100000000020001000200010000020000010201020100020001020102010201020000000000FFFF030001');
INSERT INTO "samples" VALUES(3,X'01180100D093DD02D1FB26EF9201D8BC02903D97C50AD49A15F5DD11B2DB078F9C0BC8D00ECDE60FAEE308818607C89F15E0E11ED3F02CF0DE05DBA504E69B15A7CD0CD4F9109A9B10DFE70802005F7C0FE0252BEC41569D9ECE1D97ED41B8E41E841222EC41F729365BE49FED41A901A5E6865EEE4160C8A83E7600EE415DC44B7DA801EE418ED140AE355DEE41AEEAD81E56FFED415E9AF850AF05EE41F383D3B25BF7ED41B50C5A10855EEE41E6F6EEB3A852EE41EC09F9D7CD63EE413A9F09229EE2EC41F39F7828032AEC41510BD6097366EE41AD9B8A2C70A7ED4105D4645BB2A8ED41623CC8CEEBA4ED41FC82B98DE79FED414B765D342EA6ED41286C22637925EC4142AB6BB6F020EC41000201000202020202020202020202020202021D0202020202020201000000000000000002000000000000000200000000000000010000000000000000000000000000000002000000000000000000010201000200010002010000020000000102000100020100000000000000FFFF030001');
INSERT INTO "samples" VALUES(4,X'01180100A686A30FD7CA8101F6B908BF91158E9F01A377BAFB0EA5F934AD03D5EB089AD229EAA319DBE03FF5D1089CC722CEAC78AF9C78D58B17EAFF33E4DA1097D027D6D538EEF94FA7A54502002A5852101322EC41C632C42D27A1ED417C474D6BDFE1EC413E2DE6E0A39EED4174E2DD884C04EE41657399C06D41ED411C9ACFF56FA7ED418ED140AE355DEE413E941D578F5AEE415C9AF2797B62EE4102DEC4562961EE410C5582CC8F5AEE41F8CE68B0E45BEE41CC2AEC1B2961EE412AC7D46EAABEED41184FA2505824EC41AC190AB85C04EE41220778A757F2ED412C532E9CDE9AED415EF733B7E39AED41343A441D80E0EC4114403A0DAAA3ED418E88551E7A25EC4189D8D845BE27EC41000201000202020202020202020202020202021D0202020202020201000000000000000002000000000000000200000000000000010000000000000000000000000000000002000000000000000002010002000100020001020000010000000201000200010200000000000000FFFF030001');
CREATE TABLE self_tests (
    run_key            INTEGER PRIMARY KEY REFERENCES runs,
    series             INTEGER NOT NULL,
    alarms             INTEGER NOT NULL,
    worst_log_evidence REAL,
    void_run           INTEGER NOT NULL CHECK (void_run IN (0, 1))
) STRICT;
INSERT INTO "self_tests" VALUES(3,1,0,0.0,0);
CREATE TABLE series (
    series_key  INTEGER PRIMARY KEY,
    kernel_key  INTEGER NOT NULL REFERENCES kernels,
    problem_key INTEGER NOT NULL REFERENCES problems,
    device_key  INTEGER NOT NULL REFERENCES devices,
    UNIQUE (kernel_key, problem_key, device_key)
) STRICT;
INSERT INTO "series" VALUES(1,1,1,1);
CREATE TABLE settled_links (
    series_key INTEGER PRIMARY KEY REFERENCES series,
    maker      TEXT NOT NULL,
    settled    BLOB NOT NULL -- ci/history/settled_pack.c says what stands there
) STRICT;
CREATE TABLE settled_stretches (
    series_key INTEGER NOT NULL REFERENCES series,
    stretch    INTEGER NOT NULL CHECK (stretch >= 0),
    levels     BLOB NOT NULL,
    PRIMARY KEY (series_key, stretch)
) STRICT;
CREATE TABLE studies (
    run_key      INTEGER NOT NULL REFERENCES runs,
    series_key   INTEGER NOT NULL REFERENCES series,
    kind         TEXT NOT NULL CHECK (kind IN ('aa', 'slower', 'faster')),
    gates        INTEGER NOT NULL CHECK (gates >= 0),
    first_alarms INTEGER NOT NULL, -- in the first process, confirmed or not
    slower       INTEGER NOT NULL,
    faster       INTEGER NOT NULL,
    same         INTEGER NOT NULL,
    undecided    INTEGER NOT NULL,
    broken       INTEGER NOT NULL,
    pairs        REAL,
    time_ns      REAL,
    log_ratio    REAL,
    pair_sd      REAL,
    detectable   REAL, -- smallest log ratio found with 90 % power at this spread
    gpu_s        REAL,
    wall_s       REAL,
    PRIMARY KEY (run_key, series_key, kind),
    CHECK (slower + faster + same + undecided + broken = gates AND first_alarms <= gates)
) STRICT, WITHOUT ROWID;
CREATE TABLE test_stream (
    only_one    INTEGER PRIMARY KEY CHECK (only_one = 1),
    maker       TEXT NOT NULL,
    newest_link INTEGER NOT NULL, -- no link beyond it was looked at
    newest_code INTEGER NOT NULL, -- nor a code
    made_s      INTEGER NOT NULL, -- of the last test: the stream is in order of these three
    uid         TEXT NOT NULL,
    series_key  INTEGER NOT NULL,
    tests       INTEGER NOT NULL CHECK (tests >= 0),
    found       INTEGER NOT NULL CHECK (found BETWEEN 0 AND tests)
) STRICT;
CREATE TABLE texts (
    text_key INTEGER PRIMARY KEY,
    text     TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "texts" VALUES(1,'0.1.0');
INSERT INTO "texts" VALUES(2,'gemm');
INSERT INTO "texts" VALUES(3,'# plumbline''s policy: what is measured, how, and what counts as a regression. git-config syntax.
# The gate reads this file from the BASE commit: a change cannot loosen its own gate.
# Every key is listed; the commented ones show their defaults.

[build]
	# What a build depends on (files or folders; repeat). Only these are exported, and their
	# content is the build cache''s key. Without any: the whole tree.
	input = "gemm.c"
	input = ci/shims
	input = ci/plumb_kernel.h
	# Submodules among them are exported too, at the commits that are pinned. One that no build needs,
	# and that is not in your clone (repeat):
	# without = third_party/googletest
	# Runs as `sh -c` in $PLUMB_SOURCE (your inputs, read-only); scratch is $PLUMB_BUILD; leave one
	# shared library per kernel in $PLUMB_OUT. Build one kernel per library: unused code beside a
	# kernel moves its time. $PLUMB_DEVICES says which kinds of devices are measured ("host", "cuda"
	# or both). For CUDA add -Xfatbin -compress=false, so that the machine code can be compared.
	# What a commit does not touch need not be compiled again: state what NAME.so was made from in
	# $PLUMB_OUT/NAME.so.inputs (a path, or a pattern like kernels/*.cuh, on each line); a later
	# build finds NAME.so and that file in $PLUMB_HAVE if all of it is the same, and may copy both.
	command = "PATH=$PATH:/usr/local/cuda/bin; printf ''%s\\n'' ci/shims/*.c | xargs -d ''\\n'' -P $PLUMB_JOBS -n 1 sh -c ''${CC:-cc} -O3 -shared -fPIC -fvisibility=hidden -ffunction-sections -Wl,--gc-sections $CFLAGS -I. -Ici -o \"$PLUMB_OUT/$(basename \"$1\" .c).so\" \"$1\"'' -"
	# What of $PLUMB_OUT holds kernels: libraries, and plans beside cubins (kernels/PLANS.md of
	# plumb), patterns with blanks between: output = *.so *.plan
	# output = *.so
	# timeout = 600
	# Of all processes of a build together; without: three quarters of the machine''s.
	# memory = 8g
	# Of what a build may write to disk.
	# disk = 16g
	# require: refuse to go on without bubblewrap; auto: go on, and say so in each report; off. Without this key a gate of a
	# commit that your remote''s main branch does not have requires it, all else is auto.
	# sandbox = require
	# Environment variables passed to the build (repeat).
	# pass = CUDA_HOME
	# Only in a policy given by --policy: a folder of shims and scripts outside of every commit, seen
	# by builds as $PLUMB_OVERLAY. A relative path begins at the policy''s folder. `--overlay` does too.
	# overlay = shims

# The same source by other compilers, or by other flags of them: `plumb gate --head-toolchain NAME`
# compares, `plumb run --toolchain NAME` measures, `plumb bisect --toolchain NAME` searches a list.
# What the variables do is your build''s and your compilers'' business: nvcc reads NVCC_APPEND_FLAGS,
# CMake reads CC, CXX, CUDACXX, CFLAGS and CUDAFLAGS. The name is in $PLUMB_TOOLCHAIN.
# [toolchain "cuda-12.8"]
	# Its bin comes first in PATH.
	# prefix = /usr/local/cuda-12.8
	# Builds see the files of this image in place of the machine''s; podman, docker, nerdctl or buildah has
	# it already. Its libraries run outside of it: link what they need statically.
	# container = docker.io/nvidia/cuda:12.8.1-devel-ubuntu24.04
	# What builds see in their environment (repeat).
	# set = NVCC_APPEND_FLAGS=-maxrregcount=128

[device "cpu"]
	# host or cuda
	kind = host
	# index = 0
	# Equal GPUs from index on that a gate or a study shares, as many of them as are here.
	# units = 1
	# required = false: say that it is not here and go on without (static, where there is nvcc)
	# required = true
	# Figures a static gate uses: `plumb list gpus`.
	# profile = h200-sxm

[problems "main"]
	# MxNxK:IN[-OUT][:OPTION]..., e.g. 4096x7168x512:bf16, 64x64x64:fp8-bf16:tn:b8. Options: layouts
	# (tn, nn, nt, tt), a batch (b8), lda=80, alpha=0.5, beta=1, dual-silu, bias-gelu (relu, silu), block
	# scales (e4m3/16, fp32/1x128/128x128/columns), groups (contiguous8/30, masked32/192). A kernel that is
	# no GEMM has named integers: S=4096,H=128:bf16
	problem = 256x256x256:fp32:nn

# The first section whose pattern (as in file names: * ? [..]) matches a kernel''s name rules.
[kernel "*"]
	problems = main
	# Only on these devices (repeat); without: on every device of the library''s kind.
	# device = gpu
	# margin = 0.5%
	# max-pairs = 256
	# skip = true: listed, but not measured (needs no problems)
	# trust = device-code: CUDA kernels are timed from a record of their launches, so that no host
	# code of a commit runs beside the stopwatch. What cannot be recorded is not measured then
	# (cuBLASLt, kernels that count their calls). Default: library.
	# control = true: a kernel that must not change, e.g. cuBLASLt; it shows the environment

# Libraries whose file name matches are neither loaded nor listed, e.g. those that only a sweep
# uses; their kernels are not known, and may have the names of others.
# [library "lib*_sweep.so"]
	# skip = true

# A serving mix: how much the weighted time of its problems changes stands on the verdict''s first
# line. With a margin it fails a change that no problem shows alone. Weights are of any size.
# [mix "decode"]
	# problem = 0.35 4096x4096x4096:bf16
	# problem = 0.65 64x7168x2048:bf16
	# kernel = GLOB
	# margin = 0.2%

[gate]
	# A change smaller than this does not count. Default: 0.3 % above 100 us, 0.5 % below (0.15 and
	# 0.3 % with trust = device-code), 3 % on a host.
	# margin = 0.3%
	# Chance of a false alarm, per series and gate.
	# alpha = 0.001
	# max-pairs = 256
	# Fresh processes that look at an alarm, the first included.
	# processes = 4
	# Wall time to spend on measuring; what is not decided by then is undecided.
	# seconds = 600
	# undecided = fail
	# A kernel that is gone from the head: fail or allow.
	# removed = fail
	# Whose epochs (`plumb accept` writes them) make a slowdown or a removal an accepted change: those
	# that the head adds to baselines/epochs.txt, for the review of the change is theirs too; or only
	# those that are in the base''s file already and name a commit of the change.
	# accept = head
	# A CUDA device that is not here and not required: auto compares registers, spills, shared memory,
	# occupancy and warnings of the compiler instead of times; off leaves its kernels out. (`plumb gate
	# --static` does so for every CUDA device.)
	# static = auto
	# Series compared with themselves in every gate; one alarm voids the run.
	# self-test = 3

[measure]
	# Samples of a kernel measured alone (`plumb run`).
	# samples = 24
	# Longest one series may take, seconds.
	# timeout = 60
	# The model that predictions come from: `plumb list models`.
	# model = sol
	# One factor per kernel for it, as `plumb accuracy --fit FILE` writes them.
	# bias = ci/bias.csv
	# seed = 1

[history]
	# `plumb run` compares a new code side by side with the code before it, and with those 8 and 64
	# before it, within the gate''s budget: `plumb history` then names the commit of a change after one
	# point. A GPU takes a fraction of a second per series; a shared host may take minutes.
	# Default: on for CUDA devices. On hosts only what times alone call slower or faster is compared
	# so, with the code before it, and such a link is no part of the history; off leaves that out.
	# link = on
	# Seconds for all searches of a night together: `plumb bisect --events` bisects events of several
	# commits, and measures links again that do not fit.
	# search = 300
	# A GPU whose controls are this much slower than before under the same driver, two runs in a row,
	# or do not work any more, is sick: `plumb doctor --controls` (a part of ci/nightly) takes it out,
	# nothing is measured on it, and `plumb doctor --clear UUID` brings it back. 0: none is.
	# sick = 5%

[report]
	# Where a commit can be seen, its id in place of %s: reports and the site link to it.
	# commit-url = https://host/owner/repository/commit/%s
	# Where `plumb site` is published: the links of its feed.
	# site-url = https://owner.host/repository/

[fleet]
	# How ci/fleet hands a gate, a study or a range to Slurm: in how many parts, and sbatch''s words.
	# tasks = 8
	# partition = gpu
	# gres = gpu:1
	# time = 30
	# account = performance
');
INSERT INTO "texts" VALUES(4,'6.18.44-fc-v669');
INSERT INTO "texts" VALUES(5,'glibc 2.36');
INSERT INTO "texts" VALUES(6,'host');
INSERT INTO "texts" VALUES(7,'cold, back to back');
INSERT INTO "texts" VALUES(8,'');
CREATE TABLE unbuilt (
    run_key  INTEGER NOT NULL REFERENCES runs,
    role     INTEGER NOT NULL CHECK (role IN (0, 1)), -- 0 base, 1 head
    reason   TEXT NOT NULL, -- one line
    log_path TEXT NOT NULL, -- of the whole log, on the machine that built it; '' when none is kept
    errors   TEXT NOT NULL, -- the first ones, a line each: file, line and text, tabs between
    PRIMARY KEY (run_key, role)
) STRICT, WITHOUT ROWID;
CREATE TABLE "verdicts" (
    series_key   INTEGER NOT NULL REFERENCES series,
    run_key      INTEGER NOT NULL REFERENCES runs,
    model_key    INTEGER NOT NULL REFERENCES models,
    made_s       INTEGER NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('not measured', 'same', 'slower', 'faster',
                                               'undecided', 'broken', 'new', 'accepted')),
    cause        TEXT NOT NULL,
    log_ratio    REAL,
    lower        REAL,
    upper        REAL,
    confidence   REAL,
    log_evidence REAL,
    margin       REAL,
    pairs        INTEGER NOT NULL,
    processes    INTEGER NOT NULL,
    gpu_s        REAL,
    sentence     TEXT NOT NULL,
    explanation  TEXT,
    detectable   REAL,
    PRIMARY KEY (series_key, run_key, model_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "verdicts" VALUES(1,1,2,1795736621,'same','none',0.0,0.0,0.0,0.0,0.0,0.0,0,0,0.0,'gemm 256x256x256:fp32-fp32:nn runs the machine code of the base: the same by identity',NULL,NULL);
INSERT INTO "verdicts" VALUES(1,2,2,1795736623,'same','none',0.0,0.0,0.0,0.0,0.0,0.0,0,0,0.0,'gemm 256x256x256:fp32-fp32:nn runs the machine code of the base: the same by identity',NULL,NULL);
INSERT INTO "verdicts" VALUES(1,3,3,1795736628,'undecided','none',1.73915238617761480632e+00,1.71916136789118589867e+00,1.75914340446404371398e+00,0.95,2.06798632631344077022e+01,0.03,32,2,5.55913107000000072943e-01,'gemm 256x256x256:fp32-fp32:nn undecided: slower, but confirmed by 2 of 4 processes; +469.25 % (95 % interval +457.98 to +480.75), 32 pairs in 2 processes; about 48 more pairs would decide it: set gate.seconds = 10 (now 3)',NULL,0.0440324905216144);
INSERT INTO "verdicts" VALUES(1,4,3,1795736633,'undecided','none',1.74093906091668948477e+00,1.71366646681265155649e+00,1.76821165502072741304e+00,0.95,1.51900999140957644324e+01,0.03,24,2,4.21376632000000028721e-01,'gemm 256x256x256:fp32-fp32:nn undecided: slower, but confirmed by 2 of 4 processes; +470.27 % (95 % interval +454.93 to +486.04), 24 pairs in 2 processes; about 48 more pairs would decide it: set gate.seconds = 10 (now 3)',NULL,0.0875588509956898);
CREATE INDEX commits_tree ON commits (tree_id);
CREATE INDEX runs_head ON runs (head_commit_key);
CREATE INDEX runs_unfinished ON runs (run_key) WHERE finished_s = 0;
CREATE UNIQUE INDEX measurements_run ON measurements (run_key, series_key, role);
CREATE INDEX measurements_code ON measurements (series_key, code_key) WHERE code_key IS NOT NULL;
CREATE INDEX measurements_history
    ON measurements (series_key, plain, commit_s, measurement_key, time_ns, clock_hz, commit_key,
                     code_key, run_key)
    WHERE role = 1 AND time_ns IS NOT NULL;
CREATE INDEX results_pairs ON results (series_key, run_key) WHERE pair_sd IS NOT NULL;
CREATE INDEX studies_series ON studies (series_key, kind);
CREATE INDEX event_changes_series ON event_changes (series_key);
CREATE INDEX commits_parent ON commits (parent_id);
CREATE INDEX links_levelled ON links (series_key, link_key, base_code_key, head_code_key,
    base_commit_key, head_commit_key, made_s, back, kind, log_ratio, error, log_evidence);
CREATE TRIGGER commits_reordered AFTER UPDATE OF order_s ON commits
WHEN OLD.order_s <> NEW.order_s
BEGIN
    DELETE FROM kept_links;
    DELETE FROM settled_links;
END;
COMMIT;
