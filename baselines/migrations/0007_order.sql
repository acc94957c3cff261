-- SPDX-License-Identifier: Apache-2.0
--
-- Histories follow ancestry where it is known: a commit comes after its first parent even if its
-- clock says otherwise. order_s is the commit's time, or one second after its parent's place.
ALTER TABLE commits ADD COLUMN order_s INTEGER;
UPDATE commits SET order_s = time_s;
