-- SPDX-License-Identifier: Apache-2.0
-- Smallest log ratio that such a gate finds with 90 % power, by the policy and the noise that the
-- verdict was made with; NULL where nothing was compared, and in older verdicts.
ALTER TABLE verdicts ADD COLUMN detectable REAL;
