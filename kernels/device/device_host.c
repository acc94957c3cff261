// SPDX-License-Identifier: Apache-2.0
//
// The host device: the CPU of this machine.
//
// Cold means: the private caches hold none of the kernel's data (twice the L2 is read before each
// sample). The shared last-level cache is left alone: it can be hundreds of megabytes, of which a
// virtual machine owns an unknown share, and reading it twice would cost more than the measurement.
// A kernel of one thread runs pinned to one processor; others run where the scheduler puts them.

#include "kernels/device/host.h"
#include "kernels/device/host_memory.h"
#include "kernels/device/inputs.h"
#include "kernels/device/noise.h"
#include "model/base.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// ---- noise and digests ----

// Every vector, without asking of each whether it is meant: what is written whole is renewed whole
// before each launch.
static void write_whole(const struct noise *noise, uint32_t place, uint64_t signs, uint64_t key)
{
    const uint64_t count = noise->bytes / NOISE_VECTOR;
    const struct noise_vector *pool = noise->pool;
    char *to = noise->to[place];
    for (uint64_t at = 0; at < count; at++) {
        const struct noise_vector v = noise_at(pool, signs, key, false, at);
        memcpy(to + at * NOISE_VECTOR, &v, sizeof(v));
    }
    const struct noise_vector last = noise_at(pool, signs, key, false, count);
    memcpy(to + count * NOISE_VECTOR, &last, noise->bytes % NOISE_VECTOR);
}

static void write_noise(const struct noise *noise, uint32_t place)
{
    const uint64_t signs = noise_signs(noise->type), key = inputs_mix(noise->key + place);
    if (noise->one_in == 1 && !noise->coarse) {
        write_whole(noise, place, signs, key);
        return;
    }
    for (uint64_t segment = 0; segment < noise_segments(noise->bytes, noise->one_in, noise->line);
         segment++) {
        const uint64_t line = noise_line(key, segment, noise->one_in);
        for (uint64_t at = line * noise->line; at < (line + 1) * noise->line; at++) {
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            if (at * NOISE_VECTOR >= noise->bytes)
                continue;
            const size_t left = noise->bytes - at * NOISE_VECTOR;
            memcpy((char *)noise->to[place] + at * NOISE_VECTOR, &v,
                   left < sizeof(v) ? left : sizeof(v));
        }
    }
}

static int host_noise(struct device_base *device, const struct noise *noise, uint32_t count,
                      struct error *err)
{
    (void)device;
    (void)err;
    for (uint32_t job = 0; job < count; job++) {
        for (uint32_t i = 0; i < noise[job].count; i++)
            write_noise(&noise[job], i);
    }
    return 0;
}

static double sum_of(const struct look *d, const void *from, uint64_t key, uint64_t first)
{
    const uint64_t end = first + DIGEST_CHUNK < d->elements ? first + DIGEST_CHUNK : d->elements;
    double sum = 0;
    for (uint64_t at = first; at < end; at++) {
        const double value = inputs_load(d->type, from, at);
        sum += digest_signs(key, at) >> at % 64 & 1 ? -value : value;
    }
    return sum;
}

static uint64_t changed_spots(const struct noise *noise, uint64_t spots)
{
    const uint64_t signs = noise_signs(noise->type), whole = noise->bytes / NOISE_VECTOR;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < noise->count; i++) {
        const uint64_t key = inputs_mix(noise->key + i);
        for (uint64_t s = 0; s < noise_segments(noise->bytes, noise->one_in, noise->line); s++) {
            const uint64_t at = noise_spot(spots, noise_line(key, s, noise->one_in), noise->line);
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            changed += at < whole &&
                       memcmp((char *)noise->to[i] + at * NOISE_VECTOR, &v, NOISE_VECTOR) != 0;
        }
    }
    return changed;
}

static uint64_t changed_inputs(const struct look *look)
{
    uint64_t changed = 0;
    for (int i = 0; i < 2; i++) {
        if (look->inputs)
            changed += changed_spots(&look->inputs[i], look->key);
        if (look->scales[i])
            changed += memcmp(look->scales[i], &look->scale, sizeof(look->scale)) != 0;
    }
    return changed;
}

// `out` keeps what the first look of a pair found.
static void host_look(struct findings *out, const struct look *look)
{
    double *store = look->store;
    if (look->first)
        *out = (struct findings){0};
    out->changed += changed_inputs(look);
    const uint64_t chunks = digest_count(look->elements);
    for (uint32_t i = 0; store && i < look->count; i++) {
        const uint64_t key = inputs_mix(look->key + i);
        for (uint64_t s = 0; s * look->one_in < chunks; s++, store++) {
            const uint64_t chunk = digest_chunk(key, s, look->one_in);
            const double sum = sum_of(look, look->from[i], key, chunk * DIGEST_CHUNK);
            const double off = fabs(sum - *store);
            if (look->first)
                *store = sum;
            else if (!(off <= out->worst))
                out->worst = isnan(off) ? INFINITY : off;
        }
    }
}

struct host {
    struct device_base base;
    cpu_set_t cpus;  // that this process may use
    cpu_set_t alone; // of them, where single-threaded kernels are pinned
    struct host_memory *memory;
    char *flush;
    size_t flush_bytes;
    volatile uint64_t sink; // keeps the flush's reads
};

double host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

size_t host_cache_bytes(int level)
{
    static const int names[] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    long bytes = sysconf(names[level]);
    return bytes > 0 ? (size_t)bytes : 0;
}

// One step of the chain: eight dependent additions, one clock each.
#if defined(__x86_64__)
#define CHAIN(x)                                                                                   \
    __asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"                    \
                     "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"                        \
                     : "+r"(x)                                                                     \
                     : "r"(step))
#elif defined(__aarch64__)
#define CHAIN(x)                                                                                   \
    __asm__ volatile("add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"    \
                     "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1"        \
                     : "+r"(x)                                                                     \
                     : "r"(step))
#endif

double host_clock_hz(void)
{
#ifdef CHAIN
    // The fastest of several short pieces: an interrupt lengthens one of them, never shortens it.
    enum { PIECES = 5, STEPS = 1500 };
    uint64_t x = 0, step = 3;
    double least_ns = INFINITY;
    for (int piece = 0; piece < PIECES; piece++) {
        double start = host_now_ns();
        for (int i = 0; i < STEPS; i++)
            CHAIN(x);
        least_ns = fmin(least_ns, host_now_ns() - start);
    }
    return 8.0 * STEPS / least_ns * 1e9;
#else
    return 0;
#endif
}

// OpenBLAS 0.3.21 takes CPUs that are newer than itself for a Prescott and is then five times
// slower (seen on an Emerald Rapids). A control must not depend on that: name the family by what
// the CPU can do, unless the user has named one; kernels' notes say which was used. And its threads
// shall not spin for long after a launch (2^26 clocks by default), where they disturb what follows.
static void calm_openblas(void)
{
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (__builtin_cpu_supports("avx2"))
        setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

static cpu_set_t own; // of this bench

static bool own_told; // else it was started by hand

void host_processors(cpu_set_t *alone, cpu_set_t *all)
{
    cpu_set_t both;
    int last = 0;
    CPU_ZERO(all);
    sched_getaffinity(0, sizeof(*all), all);
    CPU_AND(&both, &own, all);
    const bool shared = own_told && CPU_COUNT(&both) == 0;
    const cpu_set_t *from = own_told && !shared ? &both : all;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, from))
            last = cpu; // interrupts and other work like the first
    }
    CPU_ZERO(alone);
    CPU_SET(last, alone);
    if (shared) // on one that somebody else is pinned to, both would wait for each other
        *alone = *all;
}

static void host_own(struct device_base *device, const cpu_set_t *processors)
{
    struct host *host = (struct host *)device;
    own = *processors;
    own_told = true;
    host_processors(&host->alone, &host->cpus);
}

static int host_open(struct device_base **out, const char *index, bool *no_device,
                     struct error *err)
{
    if (index && strcmp(index, "0") != 0) {
        *no_device = true;
        return error_set(err, "host:%s: there is one host; write --device host", index);
    }
    struct host *host = xcalloc(1, sizeof(*host));
    if (host_memory_open(&host->memory, err)) {
        free(host);
        return -1;
    }
    host_processors(&host->alone, &host->cpus);
    size_t cache = host_cache_bytes(2);
    host->flush_bytes = 2 * (cache ? cache : (size_t)2 << 20);
    host->flush = xcalloc(1, host->flush_bytes);
    memset(host->flush, 1, host->flush_bytes);
    calm_openblas();
    *out = &host->base;
    return 0;
}

static void host_close(struct device_base *device)
{
    struct host *host = (struct host *)device;
    host_memory_close(host->memory);
    free(host->flush);
    free(host);
}

// First line of a file, or of its first line that begins with `key`, behind the colon.
static void first_line(char *out, size_t size, const char *path, const char *key)
{
    char line[512];
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        if (key && strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *colon = key ? strchr(line, ':') : NULL;
        const char *value = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file)
        fclose(file);
}

static uint64_t hash(uint64_t state, const char *text)
{
    return hash_bytes(state, text, strlen(text));
}

static void figure_set(struct figure *figure, double value, const char *source)
{
    if (value > 0)
        *figure = (struct figure){value, ORIGIN_DEVICE, source};
}

static int host_info(struct device_info *out, struct device_base *device, struct error *err)
{
    (void)err;
    struct host *host = (struct host *)device;
    struct device_info info = {.figures = {.name = "host"}};
    char machine[128], khz[32];
    struct utsname kernel;
    first_line(info.name, sizeof(info.name), "/proc/cpuinfo", "model name");
    if (!info.name[0])
        snprintf(info.name, sizeof(info.name), "CPU");
    first_line(machine, sizeof(machine), "/etc/machine-id", NULL);
    uname(&kernel);
    uint64_t id = hash(HASH_START, machine[0] ? machine : kernel.nodename);
    id = hash(hash(id, info.name), kernel.machine);
    snprintf(info.uuid, sizeof(info.uuid), "HOST-%016llx", (unsigned long long)id);
    snprintf(info.driver, sizeof(info.driver), "%.60s", kernel.release);
    snprintf(info.runtime, sizeof(info.runtime), "glibc %s", gnu_get_libc_version());
    figure_set(&info.figures.sm_count, CPU_COUNT(&host->cpus), "sched_getaffinity");
    first_line(khz, sizeof(khz), "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", NULL);
    figure_set(&info.figures.clock_max_hz, strtod(khz, NULL) * 1e3, "cpufreq");
    size_t last = host_cache_bytes(3);
    figure_set(&info.figures.l2_bytes, (double)(last ? last : host_cache_bytes(2)), "sysconf");
    *out = info;
    return 0;
}

static size_t host_flush_bytes(struct device_base *device)
{
    return ((struct host *)device)->flush_bytes;
}

static size_t host_free_bytes(struct device_base *device)
{
    (void)device;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 4 : 0;
}

// What programs can still be given, with what the system keeps of files. Pages come when they are
// written to, and who finds none then is killed: so nobody is promised more. SIZE_MAX: not told.
static size_t available_bytes(void)
{
    char line[128];
    unsigned long long kilobytes = 0;
    bool told = false;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && !told && fgets(line, sizeof(line), file))
        told = sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
    if (file)
        fclose(file);
    return told ? (size_t)kilobytes << 10 : SIZE_MAX;
}

static int take_memory(void **out, struct device_base *device, enum host_range range, size_t bytes,
                       struct error *err)
{
    enum { LARGE = 64 << 20 }; // below it nobody asks what there is
    const size_t there = bytes < LARGE ? SIZE_MAX : available_bytes();
    void *place =
        bytes > there ? NULL : host_memory_take(((struct host *)device)->memory, range, bytes);
    device->lacks |= !place;
    if (!place && bytes > there)
        return error_set(err, "host: no memory for %zu MiB, of which there are %zu", bytes >> 20,
                         there >> 20);
    if (!place)
        return error_set(err, "host: no memory for %zu MiB", bytes >> 20);
    *out = place;
    return 0;
}

static int host_alloc(void **out, struct device_base *device, size_t bytes, struct error *err)
{
    return take_memory(out, device, HOST_OUTPUTS, bytes, err);
}

static int host_alloc_inputs(void **out, struct device_base *device, size_t bytes,
                             struct error *err)
{
    return take_memory(out, device, HOST_INPUTS, bytes, err);
}

static const struct host_memory *host_memory(struct device_base *device)
{
    return ((struct host *)device)->memory;
}

static void host_free(struct device_base *device, void *memory)
{
    if (memory)
        host_memory_give_back(((struct host *)device)->memory, memory);
}

static int host_read(struct device_base *device, void *to, const void *from, size_t bytes,
                     struct error *err)
{
    (void)device;
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

static int host_write(struct device_base *device, void *to, const void *from, size_t bytes,
                      struct error *err)
{
    return host_read(device, to, from, bytes, err);
}

static int host_set(struct device_base *device, void *to, int byte, size_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    memset(to, byte, bytes);
    return 0;
}

static int host_same(bool *out, struct device_base *device, const void *a, const void *b,
                     size_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    *out = memcmp(a, b, bytes) == 0;
    return 0;
}

static int host_differ(struct differences *out, struct device_base *device, int type,
                       size_t element_bytes, const void *a, const void *b, uint64_t count,
                       struct error *err)
{
    const unsigned char *left = a, *right = b;
    (void)device;
    (void)err;
    *out = (struct differences){0};
    for (uint64_t i = 0; i < count; i++, left += element_bytes, right += element_bytes) {
        const double apart = inputs_apart(type, element_bytes, left, right);
        const double value = fabs(inputs_load(type, right, 0));
        out->count += apart >= 0;
        out->most = fmax(out->most, apart);
        out->largest = isfinite(value) && value > out->largest ? value : out->largest;
    }
    return 0;
}

static int host_fill(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                     uint64_t count, struct error *err)
{
    (void)device;
    (void)err;
    const uint64_t words = recipe->bare ? count / inputs_each(recipe->type) : 0;
    for (uint64_t i = 0; i < words; i++)
        ((uint64_t *)to)[i] = ((const uint64_t *)recipe->bare)[i] ^ inputs_flips(recipe, i);
    for (uint64_t i = words * inputs_each(recipe->type); i < count; i++)
        inputs_store(to, i, recipe);
    return 0;
}

static void *host_stream(struct device_base *device)
{
    (void)device;
    return NULL;
}

static int host_sync(struct device_base *device, struct error *err)
{
    (void)device;
    (void)err;
    return 0;
}

static void flush_caches(struct host *host, enum flush flush)
{
    uint64_t sum = 0;
    if (flush == FLUSH_WRITE)
        memset(host->flush, (int)host->sink & 1, host->flush_bytes);
    for (size_t i = 0; flush == FLUSH_READ && i < host->flush_bytes; i += 64)
        sum += (unsigned char)host->flush[i];
    host->sink += sum;
}

static void pin_to(const cpu_set_t *cpus)
{
    sched_setaffinity(0, sizeof(*cpus), cpus); // where it is refused, the scheduler decides
}

// `count` launches from number `first` on; what they took.
static double launch_some(int *code, const struct batch *batch, uint32_t first, uint32_t count)
{
    double took_ns = 0;
    *code = 0;
    if (batch->run) {
        if (count > 0)
            *code = batch->run(batch->self, first, batch->sets, count, &took_ns);
        return took_ns;
    }
    const double begun_ns = host_now_ns();
    for (uint32_t i = first; i < first + count && !*code; i++)
        *code = batch->launch(batch->self, i % batch->sets, NULL);
    return host_now_ns() - begun_ns;
}

static double launch_together(int *code, struct host *host, const struct batch *batch)
{
    flush_caches(host, batch->flush);
    launch_some(code, batch, 0, batch->runup);
    return *code ? 0 : launch_some(code, batch, batch->runup, batch->launches);
}

static int launch_each(double *took_ns, int *code, struct host *host, const struct batch *batch,
                       struct error *err)
{
    *took_ns = 0;
    *code = 0;
    for (uint32_t i = 0; i < batch->launches && !*code; i++) {
        flush_caches(host, batch->flush);
        if (batch->between)
            launch_some(code, batch, i, 1);
        if (batch->between && !*code && batch->between(batch->between_self, i % batch->sets, err))
            return -1;
        *took_ns += *code ? 0 : launch_some(code, batch, i, 1);
    }
    return 0;
}

static int host_sample(struct sample *out, struct findings *found, struct device_base *device,
                       const struct batch *batch, int *code, struct error *err)
{
    struct host *host = (struct host *)device;
    double took_ns = 0;
    if (batch->threads <= 1)
        pin_to(&host->alone);
    const double clock_hz = host_clock_hz();
    const int failed = batch->each ? launch_each(&took_ns, code, host, batch, err) : 0;
    if (!batch->each)
        took_ns = launch_together(code, host, batch);
    out->time_ns = fmax(took_ns, 1.0) / batch->launches;
    // What the clock is around the kernel; wide vectors may lower it for a while, which shows
    // after.
    out->clock_hz = (clock_hz + host_clock_hz()) / 2;
    out->temperature_c = INT16_MIN;
    out->power_mw = -1;
    if (batch->threads <= 1)
        pin_to(&host->cpus);
    if (failed)
        return -1;
    if (batch->look && !*code)
        host_look(found, batch->look);
    return batch->behind && !*code ? batch->behind(batch->behind_self, err) : 0;
}

const struct device_ops device_host = {
    .kind = "host",
    .batch_below_ns = 300e3,
    .sample_ns = 500e3,
    .launches_max = 1024,
    .stream_ns = 500e3,
    .each_ns = 0,
    .open = host_open,
    .close = host_close,
    .info = host_info,
    .own = host_own,
    .flush_bytes = host_flush_bytes,
    .free_bytes = host_free_bytes,
    .alloc = host_alloc,
    .alloc_inputs = host_alloc_inputs,
    .memory = host_memory,
    .free = host_free,
    .read = host_read,
    .write = host_write,
    .set = host_set,
    .copy = host_write,
    .same = host_same,
    .differ = host_differ,
    .fill = host_fill,
    .noise = host_noise,
    .calm = host_sync, // nothing outlasts the flush here
    .reference = host_reference,
    .compare = host_compare,
    .reference_free = host_reference_free,
    .form_reference = host_form_reference,
    .form_compare = host_form_compare,
    .form_reference_free = host_form_reference_free,
    .stream = host_stream,
    .sync = host_sync,
    .sample = host_sample,
    .calibrate = host_calibrate,
};
