-- SPDX-License-Identifier: Apache-2.0
--
-- Links of a long history are settled in stretches (ci/history/links_settled.h). What is settled of a
-- series' links is what a look goes on from; the levels of each stretch are written once, and what
-- is kept of the rest comes after them. All of it can be made again from the links.
CREATE TABLE settled_links (
    series_key INTEGER PRIMARY KEY REFERENCES series,
    maker      TEXT NOT NULL,
    settled    BLOB NOT NULL -- ci/history/settled_pack.c says what stands there
) STRICT;
CREATE TABLE settled_stretches (
    series_key INTEGER NOT NULL REFERENCES series,
    stretch    INTEGER NOT NULL CHECK (stretch >= 0),
    levels     BLOB NOT NULL,
    PRIMARY KEY (series_key, stretch)
) STRICT;
DROP TRIGGER commits_reordered;
CREATE TRIGGER commits_reordered AFTER UPDATE OF order_s ON commits
WHEN OLD.order_s <> NEW.order_s
BEGIN
    DELETE FROM kept_links;
    DELETE FROM settled_links;
END;
DELETE FROM kept_links;
