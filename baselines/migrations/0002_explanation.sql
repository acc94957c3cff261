-- SPDX-License-Identifier: Apache-2.0
-- What changed between base and head, in lines of text; NULL when there is nothing to explain.
ALTER TABLE verdicts ADD COLUMN explanation TEXT;
