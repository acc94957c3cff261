-- SPDX-License-Identifier: Apache-2.0
--
-- The marks under which a series' points settled: they are the same points as long as it is the same.
ALTER TABLE judgements ADD COLUMN settled_marks INTEGER NOT NULL DEFAULT 0;
