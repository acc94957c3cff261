-- SPDX-License-Identifier: Apache-2.0
-- What a study found of one series: gates of a library with itself (aa: every alarm is false), or
-- of two that differ by work put in on purpose. Reals are means over the gates that had a time, but
-- for gpu_s and wall_s, which are sums over all gates.
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
CREATE INDEX studies_series ON studies (series_key, kind);
