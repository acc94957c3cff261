// SPDX-License-Identifier: Apache-2.0
//
// Tells LeakSanitizer, where a test is linked with it, whether to look for leaks.
#include "tests/helpers/test.h"

int tests_failed;

int __lsan_is_turned_off(void); // of its own interface, sanitizer/lsan_interface.h

int __lsan_is_turned_off(void)
{
    return tests_failed != 0;
}
