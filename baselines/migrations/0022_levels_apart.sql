-- SPDX-License-Identifier: Apache-2.0
--
-- The links of one series lie apart, with those of all others between them. The index has all that
-- levelling takes of them, so that none of their rows is read. Levels are asked for seldom and are
-- long, so they are kept beside what all looks at a store ask for.
DROP INDEX links_series;
CREATE INDEX links_levelled ON links (series_key, link_key, base_code_key, head_code_key,
    base_commit_key, head_commit_key, made_s, back, kind, log_ratio, error, log_evidence);
ALTER TABLE kept_links ADD COLUMN levels BLOB NOT NULL DEFAULT x'';
DELETE FROM kept_links;
