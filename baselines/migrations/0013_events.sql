-- SPDX-License-Identifier: Apache-2.0
--
-- Events as they were reported, and what became of each. What was reported is never taken back in
-- silence: nothing here is deleted, and an event that is found no more gets an entry that says so.
CREATE TABLE events (
    event_key INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 47),
    cause     TEXT NOT NULL CHECK (cause IN ('kernel', 'memory', 'power', 'environment', 'model',
                                             'break')),
    what      TEXT NOT NULL, -- of a break; '' if none
    culprit   TEXT NOT NULL  -- commit id that a search ended with; '' if none
) STRICT;

-- The series that it touches, as they were found last.
CREATE TABLE event_changes (
    event_key    INTEGER NOT NULL REFERENCES events,
    series_key   INTEGER NOT NULL REFERENCES series,
    first_id     TEXT NOT NULL, -- commits: it began with one of these
    last_id      TEXT NOT NULL,
    log_ratio    REAL NOT NULL CHECK (log_ratio BETWEEN -50 AND 50),
    log_evidence REAL NOT NULL,
    PRIMARY KEY (event_key, series_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_changes_series ON event_changes (series_key);

-- What became of it, and who says so; a person's word is in the epochs file and not here.
CREATE TABLE event_entries (
    entry_key INTEGER PRIMARY KEY,
    event_key INTEGER NOT NULL REFERENCES events,
    state     TEXT NOT NULL CHECK (state IN ('new', 'confirmed', 'fixed', 'withdrawn')),
    when_s    INTEGER NOT NULL,
    who       TEXT NOT NULL CHECK (who <> ''),
    why       TEXT NOT NULL,
    UNIQUE (event_key, state, when_s, why)
) STRICT;
