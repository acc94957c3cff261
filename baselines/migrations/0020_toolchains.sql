-- SPDX-License-Identifier: Apache-2.0
--
-- Which of the policy's toolchains built the base and the head of a run, and so what each of its
-- measurements is of; NULL: the policy's [build] alone, which is called default. A plain run by
-- another toolchain is in no history but that toolchain's: its measurements have plain = 0.
ALTER TABLE runs ADD COLUMN base_toolchain_key INTEGER REFERENCES texts;
ALTER TABLE runs ADD COLUMN head_toolchain_key INTEGER REFERENCES texts;
