PRAGMA application_id = 1886156141;
PRAGMA user_version = 7;
BEGIN TRANSACTION;
CREATE TABLE build_codes (
    build_key  INTEGER NOT NULL REFERENCES builds,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    code_key   INTEGER NOT NULL REFERENCES codes,
    PRIMARY KEY (build_key, kernel_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "build_codes" VALUES(1,1,1);
INSERT INTO "build_codes" VALUES(2,1,2);
CREATE TABLE builds (
    build_key INTEGER PRIMARY KEY,
    content   TEXT NOT NULL UNIQUE,
    recipe    TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('ok', 'unbuildable')),
    detail    TEXT NOT NULL
) STRICT;
INSERT INTO "builds" VALUES(1,'3231501ec012cd2a24191fee549036a1394aec49','policy: host','ok','');
INSERT INTO "builds" VALUES(2,'e4c3391abb7d7c6097ac235b3696768d0edb03dc','policy: host','ok','');
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
INSERT INTO "codes" VALUES(1,1,'53f3068458f1ecc2612ab03dfcfb9a8608900f7f','{"in":"fp32","out":"fp32","acc":"fp32"}');
INSERT INTO "codes" VALUES(2,1,'5669714301512919e2052b8449674aac79f2fdaf','{"in":"fp32","out":"fp32","acc":"fp32"}');
CREATE TABLE commit_builds (
    commit_key INTEGER NOT NULL REFERENCES commits,
    build_key  INTEGER NOT NULL REFERENCES builds,
    PRIMARY KEY (commit_key, build_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "commit_builds" VALUES(1,1);
INSERT INTO "commit_builds" VALUES(2,2);
INSERT INTO "commit_builds" VALUES(3,2);
CREATE TABLE commits (
    commit_key INTEGER PRIMARY KEY,
    commit_id  TEXT NOT NULL UNIQUE CHECK (length(commit_id) BETWEEN 1 AND 64),
    tree_id    TEXT NOT NULL, -- survives rewritten history, the commit's id does not
    parent_id  TEXT NOT NULL, -- first parent, '' for a root
    summary    TEXT NOT NULL,
    author     TEXT NOT NULL,
    time_s     INTEGER NOT NULL
, order_s INTEGER) STRICT;
INSERT INTO "commits" VALUES(1,'fce7e3d4e97bcf3c4206feef30b2753c311c4097','0c4dc1cd6ecb33ba2fd05a17ad2bc22cefaa847c','032b6e242040b15750319d29125feaea480c6f63','policy','You',1795736872,1795736872);
INSERT INTO "commits" VALUES(2,'f2485b504520362d5dcd91515d761975e46bbdbc','81640bfae9528ecdfa0f5401e97d48494dace85d','fce7e3d4e97bcf3c4206feef30b2753c311c4097','wait','You',1795736895,1795736895);
INSERT INTO "commits" VALUES(3,'2cfae841244112549daa7ea269b0371496a21f3d','9ade3a1976735001096f6377f1fd70c299f949ab','f2485b504520362d5dcd91515d761975e46bbdbc','cfg','You',1795736898,1795736898);
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
    when_s    INTEGER NOT NULL,
    UNIQUE (series, commit_id, level, reason, who, when_s)
) STRICT;
CREATE TABLE figures (
    profile_key INTEGER NOT NULL REFERENCES profiles,
    name        TEXT NOT NULL,
    value       REAL NOT NULL CHECK (value > 0),
    source      TEXT NOT NULL,
    PRIMARY KEY (profile_key, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "figures" VALUES(1,'clock_hz',4.07331975560081434263e+09,'measured here, 5 repeats, cv 1.73 %');
INSERT INTO "figures" VALUES(1,'flops_clk_fp32',5.96426626559136963123e+01,'measured here, 5 repeats, cv 1.39 %');
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
    CHECK (newest IN (0, 1)), -- name of a break
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
) STRICT;
CREATE TABLE kernels (
    kernel_key INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63)
) STRICT;
INSERT INTO "kernels" VALUES(1,'gemm');
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
INSERT INTO "measurements" VALUES(1,1,1,1,1,1,1795736872,1,'ok',46646222.35,4.07574441782868480662e+09,24,3.47889423002456510403e-06,1.0013580322265625e-05,1,7,8);
INSERT INTO "measurements" VALUES(2,2,1,1,1,2,1795736895,2,'ok',47995689.85,4.04179788746183538431e+09,24,3.47889423002456510403e-06,1.0013580322265625e-05,1,7,8);
CREATE TABLE models (
    model_key INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;
INSERT INTO "models" VALUES(1,'sol','1');
INSERT INTO "models" VALUES(2,'sol','0.1.0');
CREATE TABLE nights (
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
CREATE TABLE nights_known (
    run_key INTEGER PRIMARY KEY REFERENCES runs
) STRICT;
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
INSERT INTO "predictions" VALUES(1,1,1,1795736885,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,4.07574441782868480662e+09,0.0,0.0,'unknown','[]');
INSERT INTO "predictions" VALUES(1,2,1,1795736898,'the profile has no rate for this element type, or no DRAM bandwidth',0.0,4.04179788746183538431e+09,0.0,0.0,'unknown','[]');
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
INSERT INTO "profiles" VALUES(1,1,'host',1795736883);
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
INSERT INTO "results" VALUES(1,1,NULL,1,0,0,NULL,1,0,NULL,NULL);
INSERT INTO "results" VALUES(2,1,NULL,2,0,0,NULL,2,0,NULL,NULL);
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
) STRICT;
INSERT INTO "runs" VALUES(1,'bfb885dcd6390cc48ea72445d6a8b0d5','measure',1795736883,1795736885,1,2,3,NULL,1,0,'OK: 1 new');
INSERT INTO "runs" VALUES(2,'f931e3c195fcd6528a8b85b1836bc815','measure',1795736896,1795736898,1,2,3,NULL,2,2,'UNDECIDED: 1 undecided: gemm 256x256x256:fp32-fp32:nn took 4.8e+04 us, +2.9 % against its history (-14.5 to 23.8 %)');
INSERT INTO "runs" VALUES(3,'594cd85990a5fceb8066fdfd849e8134','gate',1795736899,0,1,2,3,1,3,0,'');
CREATE TABLE samples (
    measurement_key INTEGER PRIMARY KEY REFERENCES measurements,
    packed          BLOB NOT NULL
) STRICT;
INSERT INTO "samples" VALUES(1,X'01180100EA89BD34A1D4C902DCC8FE05C1EE901399FE800FE0B5DB0D81E3A003EEDA890BFC9BA50E85DE81089DBB21F993A406E8BFAB03B2999B06F3FE9802AEA56ED7E9C609B8A9FD03E1E4C302C2BAB805D3FAD30795EB148FF3E70EE4D2C10A02009ED2A8EC1869EE416611B0EFE15BEE419E8AE7702065EE4117B290D5845EEE4150F31DE43D59EE41DC505215E35BEE4102DEC4562961EE41F1241E943E59EE414CE14BB7905AEE41B50C5A10855EEE41726EBEF8D65FEE419FC0E1AD9B56EE416611B0EFE15BEE41EC09F9D7CD63EE4116F234DB7C62EE4103B1F3C0E65BEE41ACC62682885EEE41C7F68ABAD95FEE416F00BCDDC567EE41F8CE68B0E45BEE4116F234DB7C62EE413695D354A752EE4150F31DE43D59EE41DF3973A93D59EE4100020100020202020202020202020202020202020202020202020200000000000200000000000000FFFF030001');
INSERT INTO "samples" VALUES(2,X'01180100BA949B3C97A18806BE82BB11C3C0F31598EBA2118CA6D201BBC7EA1F8D8E8307B89DC013ADE4F20A8ABD820191AB6798DB990D97C2F10ED0B38806D4DD23C6928301C5CFCA0289FD03B5B0EC02C0DA93119D9FE70EB3EEC303A88194050200F8CE68B0E45BEE419E8AE7702065EE41B50C5A10855EEE41B45EB3EF7B62EE4116C44E84375DEE41C2DAB3504BF6ED41BCC78EC06B6AEE41A092FB565651EE4103B1F3C0E65BEE41D4C7B8534408EE41A4385EFFDEF9ED417ECAE8C8B2A8ED41D602C3F7F4A9ED41C94477DCA69EED41A61EF8CA37ABED41E621B6C0855EEE41A00C68E53308EE41C94477DCA69EED412600292B24E6EC410220BCDA6445ED418DF5A1B11869EE419E8AE7702065EE41B6978A2D2B61EE41F1241E943E59EE4100020100020202020202020202020202020202020202020202020200000000000200000000000000FFFF030001');
CREATE TABLE self_tests (
    run_key            INTEGER PRIMARY KEY REFERENCES runs,
    series             INTEGER NOT NULL,
    alarms             INTEGER NOT NULL,
    worst_log_evidence REAL,
    void_run           INTEGER NOT NULL CHECK (void_run IN (0, 1))
) STRICT;
CREATE TABLE series (
    series_key  INTEGER PRIMARY KEY,
    kernel_key  INTEGER NOT NULL REFERENCES kernels,
    problem_key INTEGER NOT NULL REFERENCES problems,
    device_key  INTEGER NOT NULL REFERENCES devices,
    UNIQUE (kernel_key, problem_key, device_key)
) STRICT;
INSERT INTO "series" VALUES(1,1,1,1);
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

[report]
	# Where a commit can be seen, its id in place of %s: reports and the site link to it.
	# commit-url = https://host/owner/repository/commit/%s
	# Where `plumb site` is published: the links of its feed.
	# site-url = https://owner.host/repository/
');
INSERT INTO "texts" VALUES(4,'6.18.44-fc-v669');
INSERT INTO "texts" VALUES(5,'glibc 2.36');
INSERT INTO "texts" VALUES(6,'host');
INSERT INTO "texts" VALUES(7,'cold, back to back');
INSERT INTO "texts" VALUES(8,'');
CREATE TABLE verdicts (
    series_key   INTEGER NOT NULL REFERENCES series,
    run_key      INTEGER NOT NULL REFERENCES runs,
    model_key    INTEGER NOT NULL REFERENCES models,
    made_s       INTEGER NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('same', 'slower', 'faster', 'undecided', 'broken',
                                               'new')),
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
    sentence     TEXT NOT NULL, explanation TEXT,
    PRIMARY KEY (series_key, run_key, model_key)
) STRICT, WITHOUT ROWID;
INSERT INTO "verdicts" VALUES(1,1,2,1795736885,'new','none',NULL,-9e999,9e999,0.0,0.0,0.0,0,0,0.0,'gemm 256x256x256:fp32-fp32:nn is new (no earlier measurement): 4.665e+04 us',NULL);
INSERT INTO "verdicts" VALUES(1,2,2,1795736898,'undecided','none',2.85192666337934497278e-02,-1.56338478277197240329e-01,2.13377011544784139784e-01,0.99,0.0,0.02,0,0,0.0,'gemm 256x256x256:fp32-fp32:nn took 4.8e+04 us, +2.9 % against its history (-14.5 to 23.8 %)',NULL);
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
COMMIT;
