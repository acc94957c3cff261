-- SPDX-License-Identifier: Apache-2.0
--
-- What a series does besides changing its level: how far it creeps from its first point to its last
-- (NULL: it does not), and what comes again after so many points (0: nothing).
ALTER TABLE judgements ADD COLUMN creep REAL;
ALTER TABLE judgements ADD COLUMN creep_lower REAL;
ALTER TABLE judgements ADD COLUMN creep_upper REAL;
ALTER TABLE judgements ADD COLUMN period INTEGER NOT NULL DEFAULT 0 CHECK (period >= 0);
ALTER TABLE judgements ADD COLUMN swing REAL;
