-- SPDX-License-Identifier: Apache-2.0
--
-- Names of kernels have up to 200 bytes. SQLite cannot change a CHECK, so the table is made anew;
-- what refers to it finds the same keys when the transaction ends.
PRAGMA defer_foreign_keys = ON;
CREATE TEMP TABLE kernels_kept AS SELECT kernel_key, name FROM kernels;
DROP TABLE kernels;
CREATE TABLE kernels (
    kernel_key INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200)
) STRICT;
INSERT INTO kernels SELECT kernel_key, name FROM kernels_kept;
DROP TABLE temp.kernels_kept;
