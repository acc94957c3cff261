-- SPDX-License-Identifier: Apache-2.0
--
-- All links with the code before are one stream of tests (model/history/discovery.h), and nothing
-- that a later one says changes what was decided. What is kept: how far the stream was gone through,
-- and the tests that are more than their link says. All of it can be made again from the links.
CREATE TABLE test_stream (
    only_one    INTEGER PRIMARY KEY CHECK (only_one = 1),
    maker       TEXT NOT NULL,
    newest_link INTEGER NOT NULL, -- no link beyond it was looked at
    newest_code INTEGER NOT NULL, -- nor a code
    made_s      INTEGER NOT NULL, -- of the last test: the stream is in order of these three
    uid         TEXT NOT NULL,
    series_key  INTEGER NOT NULL,
    tests       INTEGER NOT NULL CHECK (tests >= 0),
    found       INTEGER NOT NULL CHECK (found BETWEEN 0 AND tests)
) STRICT;
CREATE TABLE link_tests (
    link_key     INTEGER PRIMARY KEY REFERENCES links,
    series_key   INTEGER NOT NULL, -- as the link has them: its row may lie anywhere
    uid          TEXT NOT NULL,
    log_evidence REAL NOT NULL, -- with that of earlier links of the same two codes
    discovered   INTEGER NOT NULL CHECK (discovered IN (0, 1))
) STRICT;
