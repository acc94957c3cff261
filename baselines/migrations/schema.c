// SPDX-License-Identifier: Apache-2.0
//
// Runs while plumb is built. make_schema FILE writes the schema that the migrations make in an
// empty store; store_open.c compares each store with it.
#include "baselines/statement.h"

#include <stdio.h>
#include <stdlib.h>

const unsigned char store_schema[] = ""; // this program has none yet

int main(int argc, char **argv)
{
    char *schema = migration_schema();
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    const int failed = !schema || !file || fputs(schema, file) < 0 || fclose(file);
    free(schema);
    return failed;
}
