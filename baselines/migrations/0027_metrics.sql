-- SPDX-License-Identifier: Apache-2.0
--
-- Figures of builds and kernels beside their times, which the policy asks for by [metric "NAME"]: of
-- each what the head has, and what it was held against. A run that compares nothing has the value of
-- the commit's own past as its base.
CREATE TABLE metrics (
    run_key  INTEGER NOT NULL REFERENCES runs,
    name     TEXT NOT NULL, -- the policy's
    what     TEXT NOT NULL, -- which figure: registers, build-seconds
    subject  TEXT NOT NULL, -- kernel, kernel and problem, library, or 'build'
    device   TEXT NOT NULL, -- uuid of what is measured on one; else ''
    unit     TEXT NOT NULL,
    base     REAL,          -- NULL: not known
    head     REAL,
    margin   REAL NOT NULL,
    least    REAL NOT NULL,
    higher   INTEGER NOT NULL CHECK (higher IN (0, 1)), -- is better
    noisy    INTEGER NOT NULL CHECK (noisy IN (0, 1)),
    kind     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    PRIMARY KEY (run_key, name, subject, device)
) STRICT, WITHOUT ROWID;
