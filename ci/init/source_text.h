// SPDX-License-Identifier: Apache-2.0
//
// Sources read as text: words, brackets and lists of them. All of it is bounded, for sources are
// hostile.
#ifndef PLUMB_SOURCE_TEXT_H
#define PLUMB_SOURCE_TEXT_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { REACH_MOST = 1 << 18 }; // how far a bracket may reach

// A text between two places, not ended by NUL.
struct span {
    const char *at, *end;
};

static inline bool in_word(int c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static inline const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static inline struct span word_at(const char *at)
{
    struct span word = {at, at};
    while (in_word(*word.end))
        word.end++;
    return word;
}

// The matching bracket of the one at `at`, or NULL: none, or too far away.
static inline const char *match(const char *at, char open, char close)
{
    const char *begin = at;
    for (int depth = 0; *at && at - begin < REACH_MOST; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at;
    }
    return NULL;
}

static inline struct span trimmed(struct span text)
{
    while (text.at < text.end && isspace((unsigned char)*text.at))
        text.at++;
    while (text.end > text.at && isspace((unsigned char)text.end[-1]))
        text.end--;
    return text;
}

// The next of a list's items behind `list->at`, without blanks around it; false: there is none. A
// comma inside brackets ends no item; `opens` and `closes` say which characters are brackets.
static inline bool next_between(struct span *out, struct span *list, const char *opens,
                                const char *closes)
{
    int depth = 0;
    const char *at = list->at;
    if (at >= list->end)
        return false;
    for (; at < list->end && (depth || *at != ','); at++)
        depth += (*at && strchr(opens, *at)) - (*at && strchr(closes, *at));
    *out = trimmed((struct span){list->at, at});
    list->at = at + 1;
    return true;
}

// The next item of a list of types or parameters, in which < and > are brackets.
static inline bool next_item(struct span *out, struct span *list)
{
    return next_between(out, list, "<({", ">)}");
}

#endif
