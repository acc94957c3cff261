// SPDX-License-Identifier: Apache-2.0
//
// A CSV file of anyone's, and what nvidia-smi prints, which has no header.
#include "model/csv.h"
#include "tests/fuzz/fuzz.h"

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct csv csv;
    struct error err;
    if (csv_parse(&csv, (const char *)bytes, size, "fuzz", &err) == 0)
        csv_free(&csv);
    if (csv_parse_bare(&csv, (const char *)bytes, size, "fuzz", &err) == 0)
        csv_free(&csv);
}
