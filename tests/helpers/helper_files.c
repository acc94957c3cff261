// SPDX-License-Identifier: Apache-2.0
//
// Scratch folders and files, for tests that cannot go on without them.
#include "tests/helpers/helper_files.h"

#include "runner/child/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn static void die(const char *path)
{
    perror(path);
    abort();
}

static char *scratch_name(void)
{
    const char *parent = getenv("TMPDIR");
    return xprintf("%s/plumb-test-XXXXXX", parent && *parent ? parent : "/tmp");
}

char *helper_directory(void)
{
    char *directory = scratch_name();
    if (!mkdtemp(directory))
        die(directory);
    return directory;
}

char *helper_file(const char *text)
{
    static struct arena names;
    char *name = scratch_name();
    const int file = mkstemp(name);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file))
        die(name);
    char *kept = arena_strdup(&names, name);
    free(name);
    return kept;
}

void helper_discard(const char *directory)
{
    struct error err;
    if (files_remove(directory, &err))
        fprintf(stderr, "%s\n", err.text);
}

char *helper_read(const char *path, size_t *size)
{
    size_t used = 0, room = 65536;
    char *bytes = xcalloc(room, 1);
    FILE *file = fopen(path, "rbe");
    if (!file)
        die(path);
    for (size_t got; (got = fread(bytes + used, 1, room - used - 1, file)) > 0;) {
        used += got;
        if (room - used < 2)
            bytes = xrealloc(bytes, room *= 2, 1);
    }
    if (ferror(file) || fclose(file))
        die(path);
    bytes[used] = '\0';
    if (size)
        *size = used;
    return bytes;
}

void helper_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wbe");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        die(path);
}

void helper_write_text(const char *path, const char *text)
{
    helper_write(path, text, strlen(text));
}

void helper_put(const char *folder, const char *path, const char *text)
{
    struct error err;
    char *name = xprintf("%s/%s", folder, path), *above = xstrdup(name);
    *strrchr(above, '/') = '\0';
    if (files_make_directory(above, &err))
        die(above);
    helper_write_text(name, text);
    free(name);
    free(above);
}

bool helper_exists(const char *directory, const char *name)
{
    struct stat status;
    char *path = xprintf("%s/%s", directory, name);
    const bool there = lstat(path, &status) == 0;
    free(path);
    return there;
}

bool helper_says(const char *path, const char *text)
{
    char *all = helper_read(path, NULL);
    const bool says = strstr(all, text);
    if (!says)
        fprintf(stderr, "%s does not say \"%s\"\n", path, text);
    free(all);
    return says;
}

size_t helper_occurrences(const char *text, const char *wanted)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, wanted)); at++)
        count++;
    return count;
}
