-- SPDX-License-Identifier: Apache-2.0
--
-- What is kept of series has the columns that its tables of fields say: the names and times of
-- commits stand in the rows. All of it can be made again.
DROP TABLE chart_points;
DROP TABLE judgement_breaks;
DROP TABLE judgement_changes;
DROP TABLE judgements;
DROP TABLE kept_links;
DROP TABLE link_changes;
DROP TABLE link_misfits;
-- marks: how often something came or was renewed; changed_s: the earliest commit time of what
-- came since, NULL: nothing.
CREATE TABLE judgements (
    series_key INTEGER PRIMARY KEY REFERENCES series,
    marks INTEGER NOT NULL DEFAULT 0,
    changed_s INTEGER,
    maker TEXT NOT NULL DEFAULT '',
    newest_key INTEGER NOT NULL DEFAULT 0,
    points INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    settled_s INTEGER NOT NULL DEFAULT 0,
    settled_key INTEGER NOT NULL DEFAULT 0,
    settled_marks INTEGER NOT NULL DEFAULT 0,
    context_s INTEGER NOT NULL DEFAULT 0,
    against_model INTEGER NOT NULL DEFAULT 0 CHECK (against_model IN (0, 1)),
    common_mode INTEGER NOT NULL DEFAULT 0 CHECK (common_mode IN (0, 1)),
    drift INTEGER NOT NULL DEFAULT 0 CHECK (drift IN (0, 1)),
    sigma REAL,
    correlation REAL,
    since INTEGER,
    level REAL,
    level_se REAL,
    moved INTEGER NOT NULL DEFAULT 0 CHECK (moved IN (0, 1)),
    size REAL,
    lower REAL,
    upper REAL,
    creeps INTEGER NOT NULL DEFAULT 0 CHECK (creeps IN (0, 1)),
    creep REAL,
    creep_lower REAL,
    creep_upper REAL,
    period INTEGER NOT NULL DEFAULT 0,
    swing REAL
) STRICT;
-- Changes of level.
CREATE TABLE judgement_changes (
    series_key INTEGER NOT NULL REFERENCES series,
    position INTEGER NOT NULL,
    at INTEGER NOT NULL DEFAULT 0,
    earliest INTEGER NOT NULL DEFAULT 0,
    latest INTEGER NOT NULL DEFAULT 0,
    before REAL,
    after REAL,
    size REAL,
    lower REAL,
    upper REAL,
    evidence REAL,
    at_id TEXT NOT NULL DEFAULT '',
    at_s INTEGER NOT NULL DEFAULT 0,
    earliest_id TEXT NOT NULL DEFAULT '',
    earliest_s INTEGER NOT NULL DEFAULT 0,
    latest_id TEXT NOT NULL DEFAULT '',
    latest_s INTEGER NOT NULL DEFAULT 0,
    commits INTEGER NOT NULL DEFAULT 0,
    held TEXT NOT NULL DEFAULT '',
    code_changed INTEGER NOT NULL DEFAULT 0 CHECK (code_changed IN (0, 1)),
    model_changed INTEGER NOT NULL DEFAULT 0 CHECK (model_changed IN (0, 1)),
    attribution TEXT NOT NULL DEFAULT '',
    what TEXT,
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
-- Declared breaks.
CREATE TABLE judgement_breaks (
    series_key INTEGER NOT NULL REFERENCES series,
    position INTEGER NOT NULL,
    at INTEGER NOT NULL DEFAULT 0,
    commit_id TEXT NOT NULL DEFAULT '',
    time_s INTEGER NOT NULL DEFAULT 0,
    what TEXT NOT NULL DEFAULT '',
    model INTEGER NOT NULL DEFAULT 0 CHECK (model IN (0, 1)),
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
-- The settled points that a chart shows.
CREATE TABLE chart_points (
    series_key INTEGER NOT NULL REFERENCES series,
    position INTEGER NOT NULL,
    at INTEGER NOT NULL DEFAULT 0,
    commit_id TEXT NOT NULL DEFAULT '',
    time_s INTEGER NOT NULL DEFAULT 0,
    time_ns REAL,
    predicted_ns REAL,
    half_ns REAL,
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
-- What the links of a series say.
CREATE TABLE kept_links (
    series_key INTEGER PRIMARY KEY REFERENCES series,
    maker TEXT NOT NULL DEFAULT '',
    newest_link INTEGER NOT NULL DEFAULT 0,
    links INTEGER NOT NULL DEFAULT 0,
    neighbours INTEGER NOT NULL DEFAULT 0,
    loops INTEGER NOT NULL DEFAULT 0,
    levels INTEGER NOT NULL DEFAULT 0,
    newest INTEGER NOT NULL DEFAULT 0,
    misclosure REAL,
    now REAL,
    now_lower REAL,
    now_upper REAL,
    accepted REAL,
    accepted_lower REAL,
    accepted_upper REAL,
    moved INTEGER NOT NULL DEFAULT 0 CHECK (moved IN (0, 1)),
    trouble TEXT,
    since_id TEXT NOT NULL DEFAULT '',
    since_s INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Links that the gate's rule calls slower or faster.
CREATE TABLE link_changes (
    series_key INTEGER NOT NULL REFERENCES series,
    position INTEGER NOT NULL,
    link INTEGER NOT NULL DEFAULT 0,
    size REAL,
    lower REAL,
    upper REAL,
    log_evidence REAL,
    misfit INTEGER NOT NULL DEFAULT 0 CHECK (misfit IN (0, 1)),
    sure INTEGER NOT NULL DEFAULT 0 CHECK (sure IN (0, 1)),
    back INTEGER NOT NULL DEFAULT 0 CHECK (back IN (0, 1)),
    filled INTEGER NOT NULL DEFAULT 0 CHECK (filled IN (0, 1)),
    remains REAL,
    at_id TEXT NOT NULL DEFAULT '',
    at_s INTEGER NOT NULL DEFAULT 0,
    base_id TEXT NOT NULL DEFAULT '',
    base_s INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
-- Links that do not fit the others.
CREATE TABLE link_misfits (
    series_key INTEGER NOT NULL REFERENCES series,
    position INTEGER NOT NULL,
    back INTEGER NOT NULL DEFAULT 0,
    at_id TEXT NOT NULL DEFAULT '',
    at_s INTEGER NOT NULL DEFAULT 0,
    base_id TEXT NOT NULL DEFAULT '',
    base_s INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (series_key, position)
) STRICT, WITHOUT ROWID;
