// SPDX-License-Identifier: Apache-2.0
//
// What the toolkit's disassembler prints of a stranger's device code, line by line.
#include "runner/code/code_id.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct operation items[OPERATIONS_MOST];
    struct operation_list list = {.items = items};
    char *text = (char *)malloc(size + 1), *rest = text;
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (char *line; (line = strsep(&rest, "\n"));)
        operation_take(&list, line);
    for (size_t i = 0; i < list.count; i++) {
        if (!items[i].count || !items[i].name[0] || strlen(items[i].name) >= OPERATION_TEXT)
            abort();
    }
    free(text);
}
