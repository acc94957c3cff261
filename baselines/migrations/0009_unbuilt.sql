-- SPDX-License-Identifier: Apache-2.0
--
-- Why a commit of a run does not build: a run without a single result can say so too.
CREATE TABLE unbuilt (
    run_key  INTEGER NOT NULL REFERENCES runs,
    role     INTEGER NOT NULL CHECK (role IN (0, 1)), -- 0 base, 1 head
    reason   TEXT NOT NULL, -- one line
    log_path TEXT NOT NULL, -- of the whole log, on the machine that built it; '' when none is kept
    errors   TEXT NOT NULL, -- the first ones, a line each: file, line and text, tabs between
    PRIMARY KEY (run_key, role)
) STRICT, WITHOUT ROWID;
