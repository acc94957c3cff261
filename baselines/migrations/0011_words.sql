-- SPDX-License-Identifier: Apache-2.0
--
-- Two more words for a verdict: "not measured" and "accepted". SQLite cannot change a CHECK, so the
-- table is made anew.
CREATE TABLE verdicts_of_eleven (
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
INSERT INTO verdicts_of_eleven SELECT series_key, run_key, model_key, made_s, kind, cause,
    log_ratio, lower, upper, confidence, log_evidence, margin, pairs, processes, gpu_s, sentence,
    explanation, detectable FROM verdicts;
DROP TABLE verdicts;
ALTER TABLE verdicts_of_eleven RENAME TO verdicts;

-- An epoch may accept that a kernel goes; its level is 0.
ALTER TABLE epochs ADD COLUMN removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1));
