-- SPDX-License-Identifier: Apache-2.0
--
-- Tables by the word for what they hold: a model's accuracy in one run.
ALTER TABLE nights RENAME TO run_accuracy;
ALTER TABLE nights_known RENAME TO run_accuracy_known;
