// SPDX-License-Identifier: Apache-2.0
//
// Is a text one JSON value (RFC 8259), with nothing but white space around it?
#ifndef PLUMB_TESTS_HELPER_JSON_H
#define PLUMB_TESTS_HELPER_JSON_H

#include <stdbool.h>

bool helper_json_is_valid(const char *text);

#endif
