-- SPDX-License-Identifier: Apache-2.0
--
-- What gates and bisections compared are links too; they have no place along first parents, which is
-- back = 0. A check cannot be changed in place, so the table is made anew.
CREATE TABLE links_anew (
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
INSERT INTO links_anew SELECT * FROM links;
DROP TABLE links;
ALTER TABLE links_anew RENAME TO links;
CREATE INDEX links_series ON links (series_key);
