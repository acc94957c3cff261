// SPDX-License-Identifier: Apache-2.0
//
// Which epoch a series falls under, and whether a list has one already.
#include "baselines/epoch.h"

#include <stdlib.h>
#include <string.h>

// '*' any run, '?' any one byte. The last star is where to go on after a mismatch, which keeps it
// quadratic for any pattern.
static bool wildcard(const char *pattern, size_t length, const char *text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (text[t]) {
        if (p < length && pattern[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < length && (pattern[p] == '?' || pattern[p] == text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < length && pattern[p] == '*')
        p++;
    return p == length;
}

bool epoch_matches(const struct epoch *epoch, const char *kernel, const struct problem *problem,
                   const char *device_uuid)
{
    char text[PROBLEM_TEXT];
    problem_format(text, problem);
    const char *parts[] = {kernel, text, device_uuid};
    const char *at = epoch->series;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        size_t length = strcspn(at, " ");
        if (!wildcard(at, length, parts[i]))
            return false;
        at += length + (at[length] == ' ');
    }
    return true;
}

bool epoch_known(const struct epoch_list *list, const struct epoch *epoch)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct epoch *k = &list->epochs[i];
        if (strcmp(k->series, epoch->series) == 0 && strcmp(k->commit, epoch->commit) == 0 &&
            k->level == epoch->level && k->removed == epoch->removed)
            return true;
    }
    return false;
}

const struct epoch *epoch_find(const struct epoch_list *list, const char *kernel,
                               const struct problem *problem, const char *device_uuid)
{
    for (size_t i = list->count; i > 0; i--) {
        if (!list->epochs[i - 1].removed &&
            epoch_matches(&list->epochs[i - 1], kernel, problem, device_uuid))
            return &list->epochs[i - 1];
    }
    return NULL;
}
