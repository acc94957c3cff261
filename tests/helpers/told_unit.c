// SPDX-License-Identifier: Apache-2.0
//
// Reads what a test wrote of the fake's devices.
#include "tests/helpers/told_unit.h"

#include "tests/helpers/misbehave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Two numbers of a file, where the first is this unit: the second.
static double of_unit(const char *ending, int unit, double otherwise)
{
    char path[PATH_MAX];
    double number = otherwise;
    int whose = -1;
    FILE *file = fopen(beside(path, ending), "r");
    if (file && (fscanf(file, "%d %lf", &whose, &number) != 2 || whose != unit))
        number = otherwise;
    if (file)
        fclose(file);
    return number;
}

static int count_units(void)
{
    char path[PATH_MAX];
    int units = 1;
    FILE *file = fopen(beside(path, ".units"), "r");
    if (file && fscanf(file, "%d", &units) != 1)
        abort();
    if (file)
        fclose(file);
    return units;
}

static bool is_gone(int unit)
{
    char path[PATH_MAX], ending[32];
    snprintf(ending, sizeof(ending), ".gone.%d", unit);
    return access(beside(path, ending), F_OK) == 0;
}

bool told_unit(struct told_unit *out, const char *device)
{
    static const char *const kinds[] = {"host", "cuda", "none"};
    char path[PATH_MAX];
    const size_t length = strcspn(device, ":");
    const int number = device[length] ? atoi(device + length + 1) : 0;
    *out = (struct told_unit){.number = number, .slow = 1};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (strlen(kinds[i]) == length && strncmp(kinds[i], device, length) == 0)
            out->kind = kinds[i];
    }
    if (!out->kind || access(marker(path), F_OK) == 0)
        return false;
    if (strcmp(out->kind, "none") == 0)
        return true;
    out->slow = of_unit(".slow", number, 1);
    out->lives = (int)of_unit(".breaks", number, 0);
    return number < count_units() && !is_gone(number) &&
           (strcmp(out->kind, "cuda") != 0 || access(beside(path, ".cuda"), F_OK) == 0);
}

void told_unit_loses(const struct told_unit *unit)
{
    char path[PATH_MAX], ending[32];
    snprintf(ending, sizeof(ending), ".gone.%d", unit->number);
    FILE *file = fopen(beside(path, ending), "w");
    if (file)
        fclose(file);
    exit(STATUS_LOST);
}
