-- SPDX-License-Identifier: Apache-2.0
--
-- What the links of a series say, kept so that levels are worked out only when a link has come. All
-- of it can be made again; rows of another maker count as not there.
CREATE TABLE kept_links (
    series_key  INTEGER PRIMARY KEY REFERENCES series,
    maker       TEXT NOT NULL,
    newest_link INTEGER NOT NULL, -- the largest key of a link that was looked at
    found       BLOB NOT NULL     -- ci/history/links_kept.c says what stands there
) STRICT;
-- Links stand in the order of their commits.
CREATE TRIGGER commits_reordered AFTER UPDATE OF order_s ON commits
WHEN OLD.order_s <> NEW.order_s
BEGIN
    DELETE FROM kept_links;
END;
