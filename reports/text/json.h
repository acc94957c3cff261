// SPDX-License-Identifier: Apache-2.0
//
// Text from outside in JSON that people's programs read: cleaned (reports/text/clean.h), and with
// `<`, `>` and `&` written as \u003c, \u003e and \u0026, so that the whole may stand inside an HTML
// script element.
#ifndef PLUMB_REPORTS_JSON_H
#define PLUMB_REPORTS_JSON_H

#include "model/json.h"

void json_clean(struct json *json, const char *name, const char *value); // NULL becomes null

#endif
