-- SPDX-License-Identifier: Apache-2.0
--
-- What the links of a series say stands in rows, and the levels of all codes are worked out when
-- they are asked for. All of it can be made again from the links; what another maker kept counts as
-- not there.
DROP TRIGGER commits_reordered;
DROP TABLE settled_stretches;
DROP TABLE settled_links;
DROP TABLE kept_links;
CREATE TABLE kept_links (
    series_key     INTEGER PRIMARY KEY REFERENCES series,
    maker          TEXT NOT NULL,
    newest_link    INTEGER NOT NULL, -- the largest key of a link that was looked at
    links          INTEGER NOT NULL CHECK (links >= 0),
    neighbours     INTEGER NOT NULL CHECK (neighbours >= 0), -- links of a code with the one before
    loops          INTEGER NOT NULL CHECK (loops >= 0),
    levels         INTEGER NOT NULL CHECK (levels >= 0), -- codes that have one; 0: trouble says why
    newest         INTEGER NOT NULL CHECK (newest >= 0), -- number of the newest code
    misclosure     REAL,
    now            REAL, -- its level against the code of since_key
    now_lower      REAL,
    now_upper      REAL,
    accepted       REAL, -- against the accepted code
    accepted_lower REAL,
    accepted_upper REAL,
    moved          INTEGER NOT NULL CHECK (moved IN (0, 1)),
    trouble        TEXT,
    since_key      INTEGER REFERENCES commits
) STRICT;
-- Links that the gate's rule calls slower or faster, in order of their commits.
CREATE TABLE link_changes (
    series_key INTEGER NOT NULL REFERENCES series,
    position   INTEGER NOT NULL,
    link_key   INTEGER NOT NULL REFERENCES links,
    -- As the link has them: its row may lie anywhere.
    head_key   INTEGER NOT NULL REFERENCES commits,
    base_key   INTEGER NOT NULL REFERENCES commits,
    log_evidence REAL NOT NULL,
    size       REAL, -- by all links
    lower      REAL,
    upper      REAL,
    misfit     INTEGER NOT NULL CHECK (misfit IN (0, 1)),
    sure       INTEGER NOT NULL CHECK (sure IN (0, 1)),
    back       INTEGER NOT NULL CHECK (back IN (0, 1)),
    filled     INTEGER NOT NULL CHECK (filled IN (0, 1)),
    remains    REAL, -- of it, in the newest code
    PRIMARY KEY (series_key, position)
) STRICT;
-- Links that do not fit the others and have to be measured again.
CREATE TABLE link_misfits (
    series_key INTEGER NOT NULL REFERENCES series,
    position   INTEGER NOT NULL,
    head_key   INTEGER NOT NULL REFERENCES commits,
    base_key   INTEGER NOT NULL REFERENCES commits,
    back       INTEGER NOT NULL CHECK (back >= 0), -- codes
    PRIMARY KEY (series_key, position)
) STRICT;
-- Links stand in the order of their commits.
CREATE TRIGGER commits_reordered AFTER UPDATE OF order_s ON commits
WHEN OLD.order_s <> NEW.order_s
BEGIN
    DELETE FROM kept_links;
END;
