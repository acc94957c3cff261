-- SPDX-License-Identifier: Apache-2.0
--
-- An alarm of the online detector is kept among the changes, but only until the next judgement: by
-- then the segmentation has it, or it was none.
ALTER TABLE judgement_changes ADD COLUMN newest INTEGER NOT NULL DEFAULT 0
    CHECK (newest IN (0, 1));
