// SPDX-License-Identifier: Apache-2.0
//
// A comment on a pull request, as anybody may write it: whatever it says, what comes out of it is
// of plain characters, and no option, path or range of its own.
#include "ci/gate/asking.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static void hold(const char *value, const char *more)
{
    const size_t length = strlen(value);
    must(length < ASKING_WORD, "a word that is too long");
    for (size_t i = 0; i < length; i++)
        must(strchr(letters, value[i]) || strchr(more, value[i]), "a character that is not plain");
    must(value[0] != '-', "an option");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct asking asked;
    struct error err = {0};
    if (asking_parse(&asked, (const char *)bytes, size, &err)) {
        must(err.text[0] != '\0', "refused for no reason");
        for (const char *c = err.text; *c; c++)
            must(*c >= ' ' && *c < 0x7f, "a byte of the comment");
        return;
    }
    hold(asked.kernel, "_.+-*?[]!");
    hold(asked.problem, "_.:,=+-*?[]!");
    hold(asked.base, "_./-~^");
    hold(asked.head, "");
    must(!strstr(asked.base, ".."), "a range");
}
