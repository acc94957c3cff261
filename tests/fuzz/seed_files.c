// SPDX-License-Identifier: Apache-2.0
//
// seed_files FOLDER: writes the seeds that are not text, as the program itself would write them: a
// cubin, a fat binary with it, packed samples, and two shards of two runs:
// one with nothing else and one with a row of each table.
#include "baselines/pack.h"
#include "kernels/kernel.h"
#include "model/record/record.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static void put_file(const char *name, const void *bytes, size_t size)
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
    put_file("seed.cubin", cubin.bytes, cubin.used);
    put_file("seed.fatbin", fat, fatbin_make(fat, 2, cubin.bytes, cubin.used));
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
    put_file("seed.pack", packed, size);
    free(packed);
}

// What runs alone do not write, one row of each table that is merged.
static const char other_tables[] =
    "INSERT INTO builds (content, recipe, state, detail) VALUES ('c0ffee', 'host', 'ok', ''); "
    "INSERT INTO build_codes SELECT 1, kernel_key, code_key FROM codes LIMIT 1; "
    "INSERT INTO commit_builds SELECT commit_key, 1 FROM commits; "
    "INSERT INTO profiles (device_key, name, measured_s) VALUES (1, 'H200', 1700000000); "
    "INSERT INTO figures VALUES (1, 'dram_bps', 4e12, 'measured'); "
    "INSERT INTO epochs (series, commit_id, level, reason, who, when_s) VALUES ('* * *', "
    "'0123abcd', "
    "0.05, 'accepted', 'A. Author', 1700006400); "
    "INSERT INTO studies SELECT run_key, 1, 'aa', 3, 1, 0, 0, 3, 0, 0, 64, 1e5, 0, 0.01, 0.004, 1, "
    "2 "
    "FROM runs LIMIT 1; "
    "INSERT INTO events (name, cause, what, culprit) VALUES ('1f0c62a9b3', 'kernel', '', ''); "
    "INSERT INTO event_changes VALUES (1, 1, '0123abcd', '4567abcd', 0.1, 20); "
    "INSERT INTO event_entries (event_key, state, when_s, who, why) VALUES (1, 'new', 1700000000, "
    "'plumb', 'reported'); "
    "INSERT INTO links (uid, series_key, base_code_key, head_code_key, base_commit_key, "
    "head_commit_key, tool_key, made_s, back, kind, log_ratio, error, log_evidence, pairs, "
    "processes) VALUES ('0123456789abcdef0123456789abcdef', 1, 1, 2, 1, 2, 1, 1700000000, 1, "
    "'slower', 0.1, 0.001, 30, 64, 2); "
    "INSERT INTO device_entries (device_key, state, when_s, who, why) VALUES (1, 'out', "
    "1700000000, "
    "'plumb', 'its clock fell')";

// One file, without the log that a store keeps beside it, and small: a page is the smallest there
// is.
static void put_shard(const char *more)
{
    char *path = xprintf("%s/full.db", folder);
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
    run_sql(path, more);
    run_sql(path, "PRAGMA journal_mode = DELETE");
    run_sql(path, "PRAGMA page_size = 512; VACUUM");
    free(path);
}

// An address of this byte of this captured buffer, as the nth of a launch's words.
static void put_address(struct record_launch *launch, uint32_t buffer, uint64_t offset)
{
    const uint32_t nth = launch->parameter_count++;
    launch->parameters[nth] = (struct record_parameter){8 * nth, 8};
    launch->addresses[launch->address_count++] =
        (struct record_address){8 * nth, (enum record_buffer)(RECORD_CAPTURED + buffer), offset};
    launch->size += 8;
}

// A launch of the range that put_range() writes, on two buffers.
static struct record_launch launch_of(enum record_launch_kind kind, uint32_t to, uint32_t from,
                                      struct arena *arena)
{
    enum { WORDS = 2 };
    struct record_launch launch = {
        .kind = kind,
        .function = kind == RECORD_KERNEL ? library_usual_cubin.kernel : NULL,
        .grid = {8, 1, 1},
        .block = {128, 1, 1},
        .cluster = {1, 1, 1},
        .carveout = -1,
        .element_bytes = 4,
        .width = kind == RECORD_COPY ? 64 : 16,
        .height = 1,
        .parameters = arena_alloc(arena, WORDS * sizeof(struct record_parameter)),
        .bytes = arena_alloc(arena, WORDS * sizeof(uint64_t)),
        .addresses = arena_alloc(arena, WORDS * sizeof(struct record_address))};
    put_address(&launch, to, 128);
    if (kind != RECORD_MEMSET)
        put_address(&launch, from, 0);
    return launch;
}

// Its second launch is of another image, on a stream of its own, by a descriptor.
static void vary(struct record_launch *launch, struct arena *arena)
{
    static uint32_t after[] = {0};
    launch->image = 2;
    launch->programmatic = true;
    launch->shared_bytes = 4096;
    launch->stream = 1;
    launch->after = after;
    launch->after_count = ARRAY_COUNT(after);
    launch->parameters[1].bytes = RECORD_MAP_BYTES;
    launch->address_count = 1;
    launch->size = launch->parameters[1].offset + RECORD_MAP_BYTES;
    launch->bytes = arena_alloc(arena, launch->size);
    launch->maps = arena_alloc(arena, sizeof(*launch->maps));
    launch->maps[0] = (struct record_map){.at = launch->parameters[1].offset,
                                          .buffer = RECORD_CAPTURED + 1,
                                          .type = RECORD_MAP_BF16,
                                          .rank = 2,
                                          .dims = {64, 32},
                                          .strides = {0, 128},
                                          .box = {64, 8},
                                          .elements = {1, 1},
                                          .swizzle = 128};
    launch->map_count = 1;
}

// What a captured program leaves of a range: its survey, and a record of the newest version, with
// all that a launch may be.
static void put_range(void)
{
    static const char survey[] =
        "=== survey.7\n"
        "survey\tversion=1\tprocess=7\tnote=\ttaken=record.7\trefused=\t"
        "ranges=block.1, m=1,n=2,k=3:bf16\tpushes=2\n"
        "kernel\tname=_Z3addPfi\tlaunches=3\tfirst=1\tgrid=8,1,1\tblock=128,1,1\tcluster=1,1,1\t"
        "shared=0\tstatic=0\tregisters=32\tlocal=0\ttouched=4096\ttime_ns=900\trefused=\n"
        "end\n=== 7.0.before\nabcd=== record.7\n";
    static struct cubin cubin;
    struct arena arena = {0};
    struct buffer text = {0};
    struct error err;
    cubin_make(&cubin, &library_usual_cubin);
    const struct record_image image = {cubin.bytes, cubin.used};
    struct record_launch launches[] = {
        launch_of(RECORD_MEMSET, 1, 0, &arena), launch_of(RECORD_KERNEL, 1, 0, &arena),
        launch_of(RECORD_KERNEL, 2, 1, &arena), launch_of(RECORD_COPY, 0, 2, &arena)};
    launches[1].image = 1;
    vary(&launches[2], &arena);
    struct record record = {.kernel = "capture",
                            .tolerance = 0.001,
                            .launches = launches,
                            .launch_count = ARRAY_COUNT(launches),
                            .images = (struct record_image[]){image, image},
                            .image_count = 2,
                            .contents = (struct record_content[]){{4096, "7.0.before", "7.0.after"},
                                                                  {8192, "7.1.before", "7.1.after"},
                                                                  {4096, "7.2.before", NULL}},
                            .content_count = 3};
    if (problem_parse(&record.problem, "capture=1", &err))
        exit(1);
    buffer_puts(&text, survey);
    record_print(&text, &record);
    put_file("range.folder", text.bytes, text.length);
    if (record_parse(&record, strstr(text.bytes, "record\tv"),
                     text.length - (size_t)(strstr(text.bytes, "record\tv") - text.bytes), &arena,
                     &err) ||
        record.version != RECORD_VERSION) {
        fprintf(stderr, "seed_files: a range: version %d: %s\n", record.version, err.text);
        exit(1);
    }
    buffer_free(&text);
    arena_free(&arena);
}

// A change of each kind; fuzz_rows.c says what the bytes are.
static void put_rows(void)
{
    static const unsigned char changes[] = {0, 1, 0, 4, 8, 1, 3, 0, 1, 0,  9, 0, 0, 1,  6,
                                            2, 1, 3, 1, 4, 2, 5, 2, 0, 12, 5, 4, 7, 200};
    put_file("seed.rows", changes, sizeof(changes));
}

// Bytes, a copy, bytes of the first page; fuzz_shard.c says what each is.
static void put_pages(void)
{
    static const unsigned char changes[] = {9, 0, 60, 0, 1,  2,   3,  4, 0, 50,
                                            0, 0, 52, 0, 63, 242, 28, 0, 0, 1};
    put_file("seed.shard", changes, sizeof(changes));
}

// A file of each tool that tests/data/import has none of, as small as its form allows.
static void put_imports(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"import-hyperfine.json", "{\"results\":[{\"command\":\"./g "
                                  "--fast\",\"median\":0.5,\"times\":[0.5,0.25],\"exit_codes\":"
                                  "[0,1],\"parameters\":{\"problem\":\"8x8x8:bf16\"}}]}"},
        {"import-bmf.json",
         "{\"g/8x8x8:bf16\":{\"latency\":{\"value\":5},\"size\":{\"value\":1}}}"},
        {"import-data.js",
         "window.BENCHMARK_DATA = {\"lastUpdate\":1,\"entries\":{\"s\":[{\"commit\":{\"id\":"
         "\"aaaaaaa\",\"timestamp\":\"2024-05-06T07:08:09+02:00\"},\"benches\":[{\"name\":"
         "\"f/8/8/8\",\"value\":250,\"unit\":\"us/iter\"}]}]}};"},
        {"import-asv.json", "{\"version\":2,\"commit_hash\":\"aaaaaaa\",\"date\":1700000000000,"
                            "\"params\":{\"machine\":"
                            "\"m\"},\"result_columns\":[\"result\",\"params\"],\"results\":{\"b."
                            "time_g\":[[1e-3,null],["
                            "[\"'8x8x8'\",\"'9x8x8'\"],[\"'x'\"]]]}}"},
        {"import-triton.csv", "M,N,K,cuBLAS (TFLOPS),Triton (ms)\n8.0,8.0,8.0,2.5,0.5\n"},
        {"import-triton-type.csv", "T,N,Triton (ms)\n18,8,0.5\n"},
        {"import-nsys.csv",
         "Processing [r] with [s]...\nTime (%),Total Time (ns),Instances,Avg (ns),Med (ns),GridXYZ,"
         "Name\n5,\"9,000\",1,7.5,7.5,\"4 1 1\",\"void g<float>(int)\"\n\n"},
        {"import-kineto.json",
         "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{\"cat\":\"kernel\","
         "\"name\":\"void g<float>(int)\",\"dur\":7.5,\"args\":{\"device\":0,\"grid\":[4,1,1],"
         "\"block\":[9,1,1]}},{\"cat\":\"cpu_op\",\"name\":\"x\",\"dur\":1}]}"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        put_file(files[i].name, files[i].text, strlen(files[i].text));
    char *path = xprintf("%s/import-nsys.db", folder);
    unlink(path);
    run_sql(path, "PRAGMA page_size = 512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value "
                  "TEXT); CREATE TABLE TARGET_INFO_GPU (id, name, uuid, cuDevice); CREATE TABLE "
                  "CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, gridX, gridY, gridZ, blockX, "
                  "blockY, blockZ, demangledName); INSERT INTO StringIds VALUES (1, 'g(int)'); "
                  "INSERT INTO TARGET_INFO_GPU VALUES (0, 'G', 'd8ee7d6a-55aa', 0); INSERT INTO "
                  "CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 9, 0, 4, 1, 1, 9, 1, 1, 1)");
    free(path);
}

// What a kernel that is no GEMM says of itself.
static void put_abi(void)
{
    struct {
        struct plumb_traits traits;
        struct plumb_buffers stated;
    } abi = {
        .traits = {.tile_m = 128, .tile_n = 256, .tile_k = 64, .stages = 4, .threads = 384},
        .stated = {
            .input_count = 2,
            .inputs = {{.count = 4096, .type = PLUMB_FP32, .scale = 1},
                       {.count = 64, .type = PLUMB_INT32, .contents = PLUMB_INDEX, .scale = 64}},
            .output = {.count = 4096, .type = PLUMB_FP32, .scale = 1},
            .absolute = 1e-3,
            .relative = 1e-3}};
    put_file("seed.abi", &abi, sizeof(abi));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    folder = argv[1];
    put_abi();
    put_imports();
    put_cubin();
    put_range();
    put_samples();
    put_rows();
    put_pages();
    put_shard(other_tables);
    return 0;
}
