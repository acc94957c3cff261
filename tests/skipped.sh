#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# skipped.sh TEST NEEDS WHY: how a test that is no C program says that it does not run here, by the
# rules of helpers/test.h: it ends with 77, or with 1 where PLUMB_TEST_REQUIRE names what it needs.
set -eu
case ",${PLUMB_TEST_REQUIRE:-}," in
*",$2,"*)
    echo "FAILED: $1 is skipped, but PLUMB_TEST_REQUIRE names $2: $3"
    exit 1
    ;;
esac
echo "SKIPPED: needs $2: $3"
[ -z "${PLUMB_TEST_NOTES:-}" ] || printf '%s\tneeds %s: %s\n' "$1" "$2" "$3" >>"$PLUMB_TEST_NOTES"
exit 77
