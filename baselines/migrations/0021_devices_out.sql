-- SPDX-License-Identifier: Apache-2.0
--
-- Devices that were taken out and brought back, who says so and why. The newest entry counts; after a
-- device was brought back, what was measured before that time is what it stands for again.
CREATE TABLE device_entries (
    entry_key  INTEGER PRIMARY KEY,
    device_key INTEGER NOT NULL REFERENCES devices,
    state      TEXT NOT NULL CHECK (state IN ('out', 'in')),
    when_s     INTEGER NOT NULL,
    who        TEXT NOT NULL CHECK (who <> ''),
    why        TEXT NOT NULL,
    UNIQUE (device_key, state, when_s, why)
) STRICT;
