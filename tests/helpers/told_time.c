// SPDX-License-Identifier: Apache-2.0
//
// Reads times that a test wrote.
#include "tests/helpers/told_time.h"

#include "tests/helpers/misbehave.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 1 << 17 };
static char bytes[MOST + 1];

static size_t read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, MOST, file) : 0;
    if (file)
        fclose(file);
    bytes[size] = '\0';
    return size;
}

double told_time(const char *library)
{
    static const char key[] = "fake-time=";
    const size_t size = read_file(library);
    const char *at = memmem(bytes, size, key, sizeof(key) - 1);
    return at ? strtod(at + sizeof(key) - 1, NULL) : 1;
}

// CACHE/kept/ID/kernel.so is CACHE/KEY/out/NAME too.
static void called_elsewhere(char out[KERNEL_NAME_TEXT], const char *library)
{
    struct stat own, other;
    glob_t found;
    const char *kept = strstr(library, "/kept/");
    if (!kept || stat(library, &own))
        return;
    char *pattern = xprintf("%.*s/*/out/*", (int)(kept - library), library);
    const bool any = glob(pattern, 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        if (stat(found.gl_pathv[i], &other) == 0 && other.st_ino == own.st_ino)
            text_copy(out, KERNEL_NAME_TEXT, strrchr(found.gl_pathv[i], '/') + 1);
    }
    if (any)
        globfree(&found);
    free(pattern);
}

void told_name(char out[KERNEL_NAME_TEXT], const char *library)
{
    static const char key[] = "fake library ";
    const size_t size = read_file(library);
    const char *at = memmem(bytes, size, key, sizeof(key) - 1);
    if (at)
        text_copy(out, KERNEL_NAME_TEXT, at + sizeof(key) - 1);
    else
        called_elsewhere(out, library);
}

double told_load(void)
{
    char path[PATH_MAX], *end;
    read_file(beside(path, ".load"));
    const double first = strtod(bytes, &end);
    FILE *file = end > bytes ? fopen(path, "w") : NULL;
    if (!file)
        return 1;
    fputs(end, file);
    fclose(file);
    return exp(first);
}

double told_ms(const char *ending)
{
    char path[PATH_MAX];
    return read_file(beside(path, ending)) ? strtod(bytes, NULL) : 0;
}

double told_chance(uint64_t seed, uint64_t step)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + step * 0xd1b54a32d192ed03u + 1;
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += (double)(state >> 11) * 0x1p-53;
    }
    return sum;
}
