-- SPDX-License-Identifier: Apache-2.0
--
-- The declared changes (driver, runtime, model) that a judgement met, as it met changes of level.
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
