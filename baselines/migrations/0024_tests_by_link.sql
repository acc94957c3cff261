-- SPDX-License-Identifier: Apache-2.0
--
-- A test is found by its link's key: its run's uid and its series were there for that alone. All of
-- it can be made again from the links.
DROP TABLE link_tests;
CREATE TABLE link_tests (
    link_key     INTEGER PRIMARY KEY REFERENCES links,
    log_evidence REAL NOT NULL, -- with that of earlier links of the same two codes
    discovered   INTEGER NOT NULL CHECK (discovered IN (0, 1))
) STRICT;
DELETE FROM test_stream;
