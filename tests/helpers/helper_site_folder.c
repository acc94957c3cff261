// SPDX-License-Identifier: Apache-2.0
//
// Writes sites into a scratch folder and reads them back.
#include "tests/helpers/helper_site_folder.h"

#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

int site_folder_set_up(void **state)
{
    *state = helper_directory();
    return 0;
}

int site_folder_tear_down(void **state)
{
    helper_discard(*state);
    free(*state);
    return 0;
}

struct site_written site_folder_write(struct helper_site *h, const char *folder)
{
    struct error err = {""};
    struct site_written written = {0};
    if (site_write(&h->site, folder, &written, &err))
        fail_msg("%s", err.text);
    return written;
}

char *site_folder_read(const char *folder, const char *name)
{
    char *path = xprintf("%s/%s", folder, name);
    char *text = helper_read(path, NULL);
    free(path);
    return text;
}

bool site_folder_has(const char *folder, const char *name, const char *text)
{
    char *file = site_folder_read(folder, name);
    const bool found = strstr(file, text) != NULL;
    free(file);
    return found;
}

bool site_folder_shell(const char *command, const char *folder)
{
    char *line = xprintf("cd '%s' && %s", folder, command);
    bool ok = system(line) == 0;
    free(line);
    return ok;
}
