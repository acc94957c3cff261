-- SPDX-License-Identifier: Apache-2.0
--
-- The commits that a change may have begun with, oldest first, a space between: commits of one
-- second are told apart by nothing else.
ALTER TABLE judgement_changes ADD COLUMN held TEXT NOT NULL DEFAULT '';
