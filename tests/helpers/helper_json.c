// SPDX-License-Identifier: Apache-2.0
//
// Says whether a text is one JSON value. It is written apart from the product's reader, to hold its
// writer against.
#include "tests/helpers/helper_json.h"

#include "model/base.h"

#include <stdlib.h>
#include <string.h>

// Each returns the end of what it read, or NULL.
static const char *skip_value(const char *s, int depth);

static const char *skip_string(const char *s)
{
    if (*s++ != '"')
        return NULL;
    for (; *s != '"'; s++) {
        if (*s == '\0' || (unsigned char)*s < 0x20)
            return NULL;
        if (*s == '\\' && !strchr("\"\\/bfnrtu", *++s))
            return NULL;
    }
    return s + 1;
}

static const char *skip_list(const char *s, char end, int depth)
{
    s++;
    s += strspn(s, " \n");
    if (*s == end)
        return s + 1;
    for (;;) {
        s += strspn(s, " \n");
        if (end == '}') {
            s = skip_string(s);
            if (!s || *s++ != ':')
                return NULL;
        }
        s = skip_value(s, depth + 1);
        if (!s)
            return NULL;
        s += strspn(s, " \n");
        if (*s == end)
            return s + 1;
        if (*s++ != ',')
            return NULL;
    }
}

static const char *skip_value(const char *s, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    char *end;
    if (depth > 20)
        return NULL;
    if (*s == '{' || *s == '[')
        return skip_list(s, *s == '{' ? '}' : ']', depth);
    if (*s == '"')
        return skip_string(s);
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    }
    if (*s != '-' && (*s < '0' || *s > '9'))
        return NULL;
    strtod(s, &end);
    return end > s ? end : NULL;
}

bool helper_json_is_valid(const char *text)
{
    const char *end = skip_value(text, 0);
    return end && end[strspn(end, " \n")] == '\0';
}
