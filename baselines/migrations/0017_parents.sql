-- SPDX-License-Identifier: Apache-2.0
--
-- A commit that comes after its children gives them their places behind it.
CREATE INDEX commits_parent ON commits (parent_id);
