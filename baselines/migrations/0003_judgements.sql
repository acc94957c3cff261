-- SPDX-License-Identifier: Apache-2.0
--
-- What was concluded of the past, kept so that a night judges only what is new. All of it can be
-- made again; rows of another maker (detector, settings, accepted epoch) count as not there.

-- The newest judgement of one series. The older points are settled: their changes stay until a point
-- comes among them.
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
    what          TEXT, -- name of a break
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;

-- The settled points that a chart shows: of each stretch the smallest and the largest.
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

-- How good a model was in one run, over all problems of a kernel, type and device.
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
-- The runs whose rows are there; one without predictions has none.
CREATE TABLE nights_known (
    run_key INTEGER PRIMARY KEY REFERENCES runs
) STRICT;
