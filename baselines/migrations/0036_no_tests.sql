-- SPDX-License-Identifier: Apache-2.0
--
-- A change of links is confirmed by its levels alone. That all links together were one stream of
-- tests confirmed none beside these and spared none.
DROP TABLE link_tests;
DROP TABLE test_stream;
