// SPDX-License-Identifier: Apache-2.0
//
// GitHub's runner skips blanks before it looks for "::", and looks for "##[" at every place.
#include "ci/settings/plain.h"
#include "reports/text/clean.h"

#include <string.h>

enum { LINE_MOST = 2048 };

char *plain_line(const char *text)
{
    struct buffer line = {0};
    buffer_puts(&line, "");
    clean_line(&line, text, LINE_MOST);
    char *begin = line.bytes + strspn(line.bytes, " ");
    if (strncmp(begin, "::", 2) == 0)
        memset(begin, ' ', strspn(begin, " :"));
    for (char *at = line.bytes; (at = strstr(at, "##")); at++)
        at[1] = ' ';
    return line.bytes;
}
