// SPDX-License-Identifier: Apache-2.0
//
// Strings of JSON that may stand in a page; all else of JSON is model/json.h.
#include "reports/text/json.h"

#include "reports/text/clean.h"

void json_clean(struct json *json, const char *name, const char *value)
{
    struct buffer cleaned = {0};
    if (!value) {
        json_text(json, name, NULL);
        return;
    }
    clean_text(&cleaned, value, CLEAN_LOG);
    json_name(json, name);
    buffer_puts(json->out, "\"");
    buffer_json(json->out, cleaned.bytes ? cleaned.bytes : "", "<>&");
    buffer_puts(json->out, "\"");
    buffer_free(&cleaned);
}
