-- SPDX-License-Identifier: Apache-2.0
--
-- The first schema. A migration is never edited once released, only followed by another: every
-- store is compared, text by text, with what the migrations make.
--
-- Conventions: X_key is this file's own number for a row and means nothing elsewhere; X_id, uid and
-- uuid are names that hold everywhere, and are what shards are merged by. Enumerations are kept by
-- name. A real that is not a number is NULL. Times ending in _s are seconds since 1970, UTC.

-- ==== What there is: each row a thing with a name, inserted once ====

-- A text many rows share: a policy, a tool's version, a regime, a note.
CREATE TABLE texts (
    text_key INTEGER PRIMARY KEY,
    text     TEXT NOT NULL UNIQUE
) STRICT;

-- A git commit some run or build was about.
CREATE TABLE commits (
    commit_key INTEGER PRIMARY KEY,
    commit_id  TEXT NOT NULL UNIQUE CHECK (length(commit_id) BETWEEN 1 AND 64),
    tree_id    TEXT NOT NULL, -- survives rewritten history, the commit's id does not
    parent_id  TEXT NOT NULL, -- first parent, '' for a root
    summary    TEXT NOT NULL,
    author     TEXT NOT NULL,
    time_s     INTEGER NOT NULL
) STRICT;
CREATE INDEX commits_tree ON commits (tree_id);

-- One concrete unit. Its driver, runtime and profile can change: they are with each run.
CREATE TABLE devices (
    device_key INTEGER PRIMARY KEY,
    uuid       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL
) STRICT;

-- A problem, in its canonical text.
CREATE TABLE problems (
    problem_key INTEGER PRIMARY KEY,
    problem     TEXT NOT NULL UNIQUE
) STRICT;

-- A kernel, by name.
CREATE TABLE kernels (
    kernel_key INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63)
) STRICT;

-- A version of a kernel: one machine code.
CREATE TABLE codes (
    code_key   INTEGER PRIMARY KEY,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    code_id    TEXT NOT NULL CHECK (length(code_id) BETWEEN 1 AND 64),
    traits     TEXT NOT NULL, -- {"in":"bf16","tile_m":128,...}
    UNIQUE (kernel_key, code_id)
) STRICT;

-- What is followed over commits.
CREATE TABLE series (
    series_key  INTEGER PRIMARY KEY,
    kernel_key  INTEGER NOT NULL REFERENCES kernels,
    problem_key INTEGER NOT NULL REFERENCES problems,
    device_key  INTEGER NOT NULL REFERENCES devices,
    UNIQUE (kernel_key, problem_key, device_key)
) STRICT;

-- A version of something that concludes: a predictor or a judge.
CREATE TABLE models (
    model_key INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;

-- ==== Builds: which code a kernel has at a commit ====

-- One content (tree of the kernel folder, flags, compiler), built once by a recipe.
CREATE TABLE builds (
    build_key INTEGER PRIMARY KEY,
    content   TEXT NOT NULL UNIQUE,
    recipe    TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('ok', 'unbuildable')),
    detail    TEXT NOT NULL
) STRICT;

-- A kernel in a build.
CREATE TABLE build_codes (
    build_key  INTEGER NOT NULL REFERENCES builds,
    kernel_key INTEGER NOT NULL REFERENCES kernels,
    code_key   INTEGER NOT NULL REFERENCES codes,
    PRIMARY KEY (build_key, kernel_key)
) STRICT, WITHOUT ROWID;

-- A commit whose content that is. Several builds: several recipes.
CREATE TABLE commit_builds (
    commit_key INTEGER NOT NULL REFERENCES commits,
    build_key  INTEGER NOT NULL REFERENCES builds,
    PRIMARY KEY (commit_key, build_key)
) STRICT, WITHOUT ROWID;

-- ==== Facts: runs and what they measured ====

-- One invocation. finished_s 0: it was interrupted, or goes on now.
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
CREATE INDEX runs_head ON runs (head_commit_key);
CREATE INDEX runs_unfinished ON runs (run_key) WHERE finished_s = 0;

-- A device of a run, as it was then.
CREATE TABLE run_devices (
    run_key     INTEGER NOT NULL REFERENCES runs,
    position    INTEGER NOT NULL,
    device_key  INTEGER NOT NULL REFERENCES devices,
    driver_key  INTEGER NOT NULL REFERENCES texts,
    runtime_key INTEGER NOT NULL REFERENCES texts,
    profile_key INTEGER NOT NULL REFERENCES texts, -- its name
    PRIMARY KEY (run_key, position)
) STRICT, WITHOUT ROWID;

-- All samples of one series at one commit in one run. Time and clock are the trimmed means of the
-- samples, kept so that a history need not open them.
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
CREATE UNIQUE INDEX measurements_run ON measurements (run_key, series_key, role);
CREATE INDEX measurements_code ON measurements (series_key, code_key) WHERE code_key IS NOT NULL;
-- A history is one range of this index and never opens the table.
CREATE INDEX measurements_history
    ON measurements (series_key, plain, commit_s, measurement_key, time_ns, clock_hz, commit_key,
                     code_key, run_key)
    WHERE role = 1 AND time_ns IS NOT NULL;

-- The raw samples of a measurement, packed as pack.h says. Pruning removes these rows first.
CREATE TABLE samples (
    measurement_key INTEGER PRIMARY KEY REFERENCES measurements,
    packed          BLOB NOT NULL
) STRICT;

-- One series in one run. A reused side refers to another run's measurement. The spread of the pairs'
-- log ratio sets the scale of later tests.
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
CREATE INDEX results_pairs ON results (series_key, run_key) WHERE pair_sd IS NOT NULL;

-- A run's test of itself: pairs of one build with itself.
CREATE TABLE self_tests (
    run_key            INTEGER PRIMARY KEY REFERENCES runs,
    series             INTEGER NOT NULL,
    alarms             INTEGER NOT NULL,
    worst_log_evidence REAL,
    void_run           INTEGER NOT NULL CHECK (void_run IN (0, 1))
) STRICT;

-- One calibration of a device, and each figure it measured.
CREATE TABLE profiles (
    profile_key INTEGER PRIMARY KEY,
    device_key  INTEGER NOT NULL REFERENCES devices,
    name        TEXT NOT NULL,
    measured_s  INTEGER NOT NULL,
    UNIQUE (device_key, measured_s, name)
) STRICT;
CREATE TABLE figures (
    profile_key INTEGER NOT NULL REFERENCES profiles,
    name        TEXT NOT NULL,
    value       REAL NOT NULL CHECK (value > 0),
    source      TEXT NOT NULL,
    PRIMARY KEY (profile_key, name)
) STRICT, WITHOUT ROWID;

-- A change of baseline that was accepted: a copy of the repository's file, which rules.
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

-- ==== Conclusions: can be made again, each by a named version ====

-- What a model said of the head of a result, at its observed clock.
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

-- What a judge concluded of a result.
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
    sentence     TEXT NOT NULL,
    PRIMARY KEY (series_key, run_key, model_key)
) STRICT, WITHOUT ROWID;
