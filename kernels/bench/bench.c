// SPDX-License-Identifier: Apache-2.0
//
// bench: the trusted child that times kernels. It owns device memory, inputs, timing and checking;
// libraries under test only launch. Driven by `plumb` over its standard input and output
// (model/wire.h), or by hand.
#include "kernels/bench/bench.h"
#include "kernels/bench/arm_process.h"
#include "kernels/bench/instances.h"
#include "kernels/bench/references.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: bench [--device DEVICE]                        speak the line protocol (model/wire.h)\n"
    "       bench list LIBRARY...                          kernels and their traits\n"
    "       bench [--device DEVICE] time --head LIBRARY --kernel NAME --problem PROBLEM [...]\n"
    "       bench [--device DEVICE] calibrate [KEY]        measure the device's figures (KEY: "
    "one,\n"
    "                                                      or a beginning and '*')\n"
    "\n"
    "  --device DEVICE   host (default), cuda, cuda:INDEX, or none: only lists libraries\n"
    "  --ask             speak it, mostly to be asked what the device is: without a context of "
    "the\n"
    "                    driver's until one is needed\n"
    "\n"
    "time:\n"
    "  --head LIBRARY    the library to time\n"
    "  --base LIBRARY    time it in pairs against this one; may be the same file (A/A)\n"
    "  --kernel NAME     a kernel that both have\n"
    "  --base-kernel NAME  the base's, to time two kernels beside each other\n"
    "  --problem TEXT    MxNxK:TYPE[-OUT][:OPTION]... (model/problem.h), e.g.\n"
    "                    4096x4096x4096:bf16, 512x4096x7168:bf16:dual-silu\n"
    "  --pairs N         pairs (or samples) per block, default 64\n"
    "  --blocks N        blocks, default 1; a line of statistics for each\n"
    "  --places N        so many such series, each in places of its own, one after another\n"
    "  --instances N     how often the device code of a record is loaded, default 16, or 32 of\n"
    "                    kernels that are timed alone; more than 16 from the 33rd pair on\n"
    "  --launches N      launches per sample; default: 1, or a batch when the kernel is short\n"
    "  --regime WORD     how launches meet the device: cold (default), stream, isolated, dirty,\n"
    "                    warm, activations\n"
    "  --runup N         launches of a stream before those that are timed, at most 8\n"
    "  --flush KIND      cold: before each sample: read (default), write, none\n"
    "  --warm            cold: all launches of a batch on one buffer set\n"
    "  --inside          host libraries in this process, not in ones of their own\n"
    "  --apart           base on device memory of its own, to see what sharing all of it is worth\n"
    "  --seed N          of inputs and order, default 1\n"
    "  --pin NOTE        make the kernel reproduce an earlier choice (its note)\n"
    "  --head-first      load head before base\n"
    "  --csv FILE        write every sample\n"
    "\n"
    "exit: 0 done, 3 the kernel is wrong, missing or cannot do the problem, 4 it could not be "
    "done,\n"
    "      40 there is no such device or it disappeared\n";

enum option_code {
    OPTION_DEVICE = 256,
    OPTION_HEAD,
    OPTION_BASE,
    OPTION_KERNEL,
    OPTION_BASE_NAME,
    OPTION_PROBLEM,
    OPTION_PAIRS,
    OPTION_BLOCKS,
    OPTION_LAUNCHES,
    OPTION_RUNUP,
    OPTION_PLACES,
    OPTION_INSTANCES,
    OPTION_REGIME,
    OPTION_FLUSH,
    OPTION_WARM,
    OPTION_APART,
    OPTION_INSIDE,
    OPTION_SEED,
    OPTION_PIN,
    OPTION_HEAD_FIRST,
    OPTION_CSV,
    OPTION_VARIANT,
    OPTION_ASK,
    OPTION_HELP
};

static const struct option options[] = {{"device", required_argument, NULL, OPTION_DEVICE},
                                        {"head", required_argument, NULL, OPTION_HEAD},
                                        {"base", required_argument, NULL, OPTION_BASE},
                                        {"kernel", required_argument, NULL, OPTION_KERNEL},
                                        {"base-kernel", required_argument, NULL, OPTION_BASE_NAME},
                                        {"problem", required_argument, NULL, OPTION_PROBLEM},
                                        {"pairs", required_argument, NULL, OPTION_PAIRS},
                                        {"blocks", required_argument, NULL, OPTION_BLOCKS},
                                        {"launches", required_argument, NULL, OPTION_LAUNCHES},
                                        {"runup", required_argument, NULL, OPTION_RUNUP},
                                        {"places", required_argument, NULL, OPTION_PLACES},
                                        {"instances", required_argument, NULL, OPTION_INSTANCES},
                                        {"regime", required_argument, NULL, OPTION_REGIME},
                                        {"flush", required_argument, NULL, OPTION_FLUSH},
                                        {"warm", no_argument, NULL, OPTION_WARM},
                                        {"apart", no_argument, NULL, OPTION_APART},
                                        {"inside", no_argument, NULL, OPTION_INSIDE},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {"pin", required_argument, NULL, OPTION_PIN},
                                        {"head-first", no_argument, NULL, OPTION_HEAD_FIRST},
                                        {"csv", required_argument, NULL, OPTION_CSV},
                                        {"variant", required_argument, NULL, OPTION_VARIANT},
                                        {"ask", no_argument, NULL, OPTION_ASK},
                                        {"help", no_argument, NULL, OPTION_HELP},
                                        {NULL, 0, NULL, 0}};

static int number(uint64_t *out, const char *option, const char *text, int64_t min, int64_t max)
{
    int64_t value;
    if (parse_int64(&value, text) || value < min || value > max) {
        fprintf(stderr, "bench: --%s %s: not a number from %lld to %lld\n", option, text,
                (long long)min, (long long)max);
        return -1;
    }
    *out = (uint64_t)value;
    return 0;
}

static int read_flush(enum flush *out, const char *text)
{
    static const char *const names[] = {"read", "write", "none"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], text) == 0) {
            *out = (enum flush)i;
            return 0;
        }
    }
    fprintf(stderr, "bench: --flush %s: read, write or none\n", text);
    return -1;
}

// Names between commas. Not in the usage: for who looks into the stopwatch itself (device.h).
static int read_variant(unsigned *out, const char *text)
{
    static const char *const names[] = VARIANT_NAMES;
    for (size_t length; *text; text += length + (text[length] == ',')) {
        size_t i = 0;
        length = strcspn(text, ",");
        while (i < ARRAY_COUNT(names) &&
               (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
            i++;
        if (i == ARRAY_COUNT(names)) {
            fprintf(stderr, "bench: --variant %s: see kernels/device/device.h\n", text);
            return -1;
        }
        *out |= 1u << i;
    }
    return 0;
}

static int read_number(struct time_options *time, int code, const char *text)
{
    uint64_t value;
    const char *name = options[code - OPTION_DEVICE].name;
    const bool seed = code == OPTION_SEED;
    const int64_t most = seed ? INT64_MAX : code == OPTION_INSTANCES ? INSTANCES_MOST : 65535;
    if (number(&value, name, text, seed ? 0 : 1, most))
        return -1;
    if (code == OPTION_PAIRS)
        time->pairs = (uint32_t)value;
    else if (code == OPTION_BLOCKS)
        time->blocks = (uint32_t)value;
    else if (code == OPTION_LAUNCHES)
        time->launches = (uint32_t)value;
    else if (code == OPTION_RUNUP)
        time->runup = (uint32_t)value;
    else if (code == OPTION_PLACES)
        time->places = (uint32_t)value;
    else if (code == OPTION_INSTANCES)
        time->instances = (uint32_t)value;
    else
        time->seed = value;
    return 0;
}

// One option of `time`; -1 when it is not understood.
static int read_option(struct time_options *time, int code)
{
    switch (code) {
    case OPTION_HEAD:
        time->head = optarg;
        return 0;
    case OPTION_BASE:
        time->base = optarg;
        return 0;
    case OPTION_KERNEL:
        time->kernel = optarg;
        return 0;
    case OPTION_BASE_NAME:
        time->base_kernel = optarg;
        return 0;
    case OPTION_PROBLEM:
        time->problem = optarg;
        return 0;
    case OPTION_PIN:
        time->pin = optarg;
        return 0;
    case OPTION_CSV:
        time->csv = optarg;
        return 0;
    case OPTION_WARM:
        time->warm = true;
        return 0;
    case OPTION_APART:
        time->apart = true;
        return 0;
    case OPTION_INSIDE:
        time->inside = true;
        return 0;
    case OPTION_HEAD_FIRST:
        time->head_first = true;
        return 0;
    case OPTION_VARIANT:
        return read_variant(&time->variant, optarg);
    case OPTION_REGIME:
        if (regime_parse(&time->regime, optarg) == 0)
            return 0;
        fprintf(stderr, "bench: --regime %s: there is no such regime\n", optarg);
        return -1;
    case OPTION_FLUSH:
        return read_flush(&time->flush, optarg);
    case OPTION_PAIRS:
    case OPTION_BLOCKS:
    case OPTION_LAUNCHES:
    case OPTION_RUNUP:
    case OPTION_PLACES:
    case OPTION_INSTANCES:
    case OPTION_SEED:
        return read_number(time, code, optarg);
    default:
        return -1;
    }
}

int bench_wake(struct bench *bench, struct error *err)
{
    if (bench->awake || !bench->ops->wake)
        return 0;
    if (bench->ops->wake(bench->device, err))
        return -1;
    bench->awake = true;
    return 0;
}

static int with_device(struct bench *bench, const char *name, bool ask, int count, char **words,
                       const struct time_options *time)
{
    const char *index = NULL;
    bool no_device = false;
    struct error err;
    ask &= count == 0;
    if (strcmp(name, "none") == 0 && count == 0)
        return protocol_run(bench, stdin);
    bench->ops = device_find(name, &index);
    if (!bench->ops) {
        fprintf(stderr,
                "bench: --device %s: this build has no such device (cuda needs a build "
                "with nvcc); see bench --help\n",
                name);
        return strncmp(name, "cuda", 4) == 0 ? EXIT_NO_DEVICE : EXIT_FAILED;
    }
    if (bench->ops->open(&bench->device, index, &no_device, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        return no_device ? EXIT_NO_DEVICE : EXIT_FAILED;
    }
    int code;
    if (!ask && bench_wake(bench, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        code = bench->device->loss == DEVICE_GONE ? EXIT_NO_DEVICE : EXIT_FAILED;
    } else if (count == 0)
        code = protocol_run(bench, stdin);
    else if (strcmp(words[0], "time") == 0)
        code = bench_time(bench, time);
    else
        code = bench_calibrate(bench, count > 1 ? words[1] : NULL);
    references_drop(bench->ops);
    bench->ops->close(bench->device);
    return code;
}

// Standard output becomes private: a kernel that prints must not disturb the protocol.
static FILE *take_output(void)
{
    int own = dup(STDOUT_FILENO);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        fprintf(stderr, "bench: standard output: %s\n", strerror(errno));
        exit(EXIT_FAILED);
    }
    return out;
}

int main(int argc, char **argv)
{
    const char *device = "host";
    bool ask = false;
    struct time_options time = {.pairs = 64, .blocks = 1, .places = 1, .seed = 1};
    int code;
    while ((code = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (code == OPTION_DEVICE) {
            device = optarg;
        } else if (code == OPTION_ASK) {
            ask = true;
        } else if (code == OPTION_HELP) {
            fputs(usage, stdout);
            return 0;
        } else if (read_option(&time, code)) {
            fputs("try bench --help\n", stderr);
            return EXIT_FAILED;
        }
    }
    char **words = argv + optind;
    const int count = argc - optind;
    if (count == 4 && strcmp(words[0], "keep") == 0) // started by arm_process.c
        return arm_worker_main(atoi(words[1]), atoi(words[2]), atoi(words[3]));
    struct bench bench = {.out = take_output()};
    if (count && strcmp(words[0], "list") == 0)
        code = bench_list(bench.out, words + 1, count - 1);
    else if (count && strcmp(words[0], "time") != 0 && strcmp(words[0], "calibrate") != 0)
        code = (fprintf(stderr, "bench: %s: no such command; try bench --help\n", words[0]),
                EXIT_FAILED);
    else
        code = with_device(&bench, device, ask, count, words, &time);
    if (fclose(bench.out) && code == 0) {
        fprintf(stderr, "bench: writing the output: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    return code;
}
