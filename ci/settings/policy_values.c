// SPDX-License-Identifier: Apache-2.0
//
// Parses them. Which key has which is in policy_keys.c.
#include "ci/settings/policy_values.h"
#include "model/result.h"

#include <stdio.h>
#include <string.h>

int fraction_parse(double *out, const char *text)
{
    char number[40];
    double value, scale = 1;
    if (!text || !text_copy(number, sizeof(number), text))
        return -1;
    char *percent = strchr(number, '%');
    if (percent && !percent[1]) {
        scale = 0.01;
        *percent = '\0';
        while (percent > number && percent[-1] == ' ')
            *--percent = '\0';
    }
    if (parse_double(&value, number))
        return -1;
    *out = value * scale;
    return 0;
}

int mix_part_parse(struct policy_mix_part *out, const char *text, struct error *err)
{
    struct policy_mix_part part;
    char weight[32];
    const size_t length = strcspn(text ? text : "", " \t");
    const bool fits = snprintf(weight, sizeof(weight), "%.*s", (int)length, text ? text : "") <
                      (int)sizeof(weight);
    if (!text || !fits || parse_double(&part.weight, weight) ||
        !(part.weight > 0 && part.weight <= 1e9))
        return error_set(err,
                         "needs a weight above 0 and a problem, such as 0.35 64x7168x2048:bf16");
    if (problem_parse(&part.problem, text + length + strspn(text + length, " \t"), err))
        return -1;
    *out = part;
    return 0;
}

const char *address_fault(const char *text)
{
    const char *url = text ? text : "";
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    const char *place = strstr(url, "%s");
    if (!scheme || !url[scheme] || url[scheme] == '/')
        return "needs an address that begins with https:// or http://";
    for (const char *c = url; *c; c++) {
        if (*c <= ' ' || *c >= 127 || strchr("\"'<>\\^`{|}()", *c))
            return "has a character that no address has; write it as %XX";
    }
    return place && strstr(place + 2, "%s") ? "has more than one %s" : NULL;
}

const char *setting_fault(const char *text)
{
    static const char *const ours[] = {
        "PATH=", "HOME=", "TMPDIR=", "LC_ALL=", "PLUMB_", "SOURCE_DATE_EPOCH="};
    const size_t name = text ? strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789_")
                             : 0;
    if (!name || text[name] != '=' || (*text >= '0' && *text <= '9'))
        return "needs VARIABLE=VALUE, such as NVCC_APPEND_FLAGS=-maxrregcount=64";
    for (size_t i = 0; i < ARRAY_COUNT(ours); i++) {
        if (strncmp(text, ours[i], strlen(ours[i])) == 0)
            return "is set by plumb for every build (a toolchain's prefix comes first in PATH)";
    }
    return NULL;
}

const char *toolchain_name_fault(const char *name)
{
    if (!toolchain_name_sound(name))
        return "a toolchain's name has at most 39 letters, digits and ._+-";
    return strcmp(name, TOOLCHAIN_DEFAULT) == 0 ? "that is what [build] alone is called" : NULL;
}
