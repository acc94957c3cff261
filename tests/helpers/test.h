// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the headers that it wants before itself. Every test begins with this.
#ifndef PLUMB_TESTS_TEST_H
#define PLUMB_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
