// SPDX-License-Identifier: Apache-2.0
//
// seed_files FOLDER: writes the seeds that are not text, as the program itself would write them: a
// cubin, a fat binary with it, packed samples, and a shard of two runs.
#include "baselines/pack.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static void put(const char *name, const void *bytes, size_t size)
{
    char *path = xprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        exit(1);
    free(path);
}

static void put_cubin(void)
{
    static struct cubin cubin;
    static unsigned char fat[12000];
    cubin_make(&cubin, &library_usual_cubin);
    put("seed.cubin", cubin.bytes, cubin.used);
    put("seed.fatbin", fat, fatbin_make(fat, 2, cubin.bytes, cubin.used));
}

static void put_samples(void)
{
    struct sample samples[40];
    unsigned char *packed;
    size_t size;
    for (unsigned i = 0; i < ARRAY_COUNT(samples); i++)
        samples[i] = (struct sample){.time_ns = 1000 + i % 7,
                                     .clock_hz = 1.7e9 + 1e3 * i,
                                     .launches = 1,
                                     .pair = i / 2,
                                     .role = i % 2,
                                     .temperature_c = INT16_MIN,
                                     .power_mw = -1};
    pack_samples(&packed, &size, samples, ARRAY_COUNT(samples));
    put("seed.pack", packed, size);
    free(packed);
}

// One file, without the log that a store keeps beside it, and small: a page is the smallest there
// is.
static void put_shard(void)
{
    char *path = xprintf("%s/seed.db", folder);
    struct store *store;
    struct error err;
    unlink(path);
    if (store_open(&store, path, STORE_WRITE, &err))
        exit(1);
    for (unsigned i = 1; i < 3; i++) {
        struct run run;
        make_run(&run, i == 2 ? RUN_GATE : RUN_MEASURE, i, 1, i);
        save_whole_run(store, &run);
        run_free(&run);
    }
    store_close(store);
    run_sql(path, "PRAGMA journal_mode = DELETE");
    run_sql(path, "PRAGMA page_size = 512; VACUUM");
    free(path);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    folder = argv[1];
    put_cubin();
    put_samples();
    put_shard();
    return 0;
}
