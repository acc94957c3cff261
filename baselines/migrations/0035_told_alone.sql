-- SPDX-License-Identifier: Apache-2.0
--
-- Verdicts of times alone, which no pair confirmed: few, and asked for whenever events are.
CREATE INDEX verdicts_alone ON verdicts (series_key, run_key)
    WHERE pairs = 0 AND kind IN ('slower', 'faster', 'accepted');
