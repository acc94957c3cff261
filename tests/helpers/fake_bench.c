// SPDX-License-Identifier: Apache-2.0
//
// A bench without a device, for tests of its driver: it speaks model/wire.h, its times are made up
// but always the same, and it misbehaves when asked. What it does is in the last part of a
// library's name (lists) or in the kernel's name (everything else):
//   NAME            behaves; in kernel "slower" the head takes 1.05 times as long as another base;
//                   in "places" three times as long or as short by turns, unless it is loaded first
//   crash[-AT]      dies by SIGSEGV       hang[-AT]    never answers
//   garbage[-AT]    a line that is none   huge[-AT]    a line of a megabyte
//   binary[-AT]     a NUL in a line       exit[-AT]    exits with status 0
//   lost[-AT]       exits as if its device were gone, and then there is none (a file beside it)
//   claims[-AT]     the same, but the device is still there
//   killed[-AT]     dies by SIGKILL, as if from outside
//   once[-AT]       the same, the first time (a file beside it)
//   faults[-AT]     ends as bench does when the device is poisoned; faulted[-AT] the first time
//   lacks[-AT]      has no memory for it, though nothing else is open; unable[-AT] no process
//   NAME-NUMBER     the same as NAME: many series of one behaviour
//   scatter-PERCENT-NUMBER: the head takes PERCENT longer, and a pair's log ratio scatters by 10 %,
//                   by chance that NUMBER and the block decide
//   slower-tries    its notes are choices of this process's, unless others are pinned
//   turns-NUMBER    the head takes 1.05 times as long, and in a stream 0.9 times
//   on-end-NUMBER   behaves, and wants its blocks on end; so does scatter-PERCENT-NUMBER-on-end
//   where           its note is the processors that it was told, and it stays not open
//   touchy-pairs    dies only when other series are open
//   ...-joined-COUNT-NUMBER: its record is told when COUNT processes have started in all, and the
//                   journal says "joined"; or after thirty seconds, and it says "alone"
// AT is list, open, look (open in another regime than cold), pairs (also solo), close; without it:
// open. "base-crash" does it only with the library base-crash.so. Others: see misbehave() and
// take_samples().
//
// Files beside the program, when they are there: PROGRAM.journal gets a line per start, open,
// pairs, close and end, with the kernel, and "ask" where that is all it is for; PROGRAM.room holds
// how many series have room at once; with PROGRAM.units there are so many of its devices: "host:1"
// is another one; PROGRAM.slow holds a unit and what its times are multiplied by, PROGRAM.breaks a
// unit and how many blocks it lives. With PROGRAM.record what it answers to `record`, PROGRAM.calm
// nothing misbehaves, PROGRAM.cuda it has a device of that kind too, with the name that stands
// there, if one does. PROGRAM.starts (of
// the second unit PROGRAM.starts.1) holds the ms that it takes to start where it has a device, and
// PROGRAM.opens those that a series takes to be opened, and PROGRAM.pairs those of a pair of a
// kernel whose library says 1. With PROGRAM.ends a process with a device ends when a later one has
// started, or after so many ms; one that is only asked is no later one. PROGRAM.load and libraries
// say how long things take (told_time.h).
#include "tests/helpers/misbehave.h"
#include "tests/helpers/told_time.h"
#include "tests/helpers/told_unit.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SERIES_MAX = 1024 };

struct series {
    int64_t id; // 0: free
    char kernel[KERNEL_NAME_TEXT];
    bool has_base, same; // base and head are one file
    bool head_first;     // order of loading
    double takes;        // times as long as the base, as the libraries say
    double pair_ms;
    enum regime regime;
    uint32_t next_pair, launches;
};

struct bench {
    struct series open[SERIES_MAX];
    int count, room;
    FILE *journal; // NULL: none
    int started;   // processes that started up to this one, with it, as the journal says
    double load;   // everything takes so many times as long
    struct told_unit unit;
};

static void note_down(const struct bench *bench, const char *what, const char *kernel)
{
    if (bench->journal) {
        fprintf(bench->journal, "%s%s%s\n", what, *kernel ? " " : "", kernel);
        fflush(bench->journal);
    }
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

// Of the journal's first `bytes`.
static int count_started(long bytes)
{
    char path[PATH_MAX], line[KERNEL_NAME_TEXT + 16];
    int count = 0;
    FILE *file = fopen(beside(path, ".journal"), "r");
    while (file && ftell(file) < bytes && fgets(line, sizeof(line), file))
        count += (strcmp(line, "start\n") == 0) - (strcmp(line, "ask\n") == 0);
    if (file)
        fclose(file);
    return count;
}

// A test that wants two processes to live at once must not depend on how soon the second starts.
static void wait_for_a_later_one(const struct bench *bench)
{
    const double until_ms = now_ms() + told_ms(".ends");
    while (now_ms() < until_ms && count_started(LONG_MAX) <= bench->started)
        usleep(5000);
}

// Which of two processes that start together is the later one is chance: so all are counted.
static void wait_to_be_joined(const struct bench *bench, int count)
{
    const double until_ms = now_ms() + 30e3;
    bool joined = false;
    while (!joined && now_ms() < until_ms) {
        joined = count_started(LONG_MAX) >= count;
        usleep(5000);
    }
    note_down(bench, joined ? "joined" : "alone", "");
}

// The name of a device of a kind other than host, without the end of its line.
static void name_device(char *name, size_t size)
{
    char path[PATH_MAX];
    FILE *file = fopen(beside(path, ".cuda"), "r");
    if (file && fgets(name, (int)size, file))
        name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void greet(const struct told_unit *unit)
{
    char uuid[32], name[64] = "Fake device";
    struct wire_line line;
    snprintf(uuid, sizeof(uuid), "fake-%04d", unit->number + 1);
    wire_begin(&line, "hello");
    wire_add_int(&line, "wire", WIRE_VERSION);
    wire_add_text(&line, "version", "fake");
    put(&line);
    wire_begin(&line, "device");
    wire_add_text(&line, "kind", unit->kind);
    wire_add_text(&line, "uuid", uuid);
    if (strcmp(unit->kind, "cuda") == 0)
        name_device(name, sizeof(name));
    wire_add_text(&line, "name", name);
    wire_add_text(&line, "driver", "1");
    wire_add_text(&line, "runtime", "2");
    wire_add_text(&line, "bus", unit->number ? "0000:2b:00.0" : "0000:1b:00.0");
    wire_add_int(&line, "sm_count", 4);
    wire_add_double(&line, "clock_hz", 2e9);
    put(&line);
}

// "/a/b/crash-list.so" is crash-list, unless the library says what it is called, or lies where all
// have one name: then its build has it by another.
static void stem(char out[KERNEL_NAME_TEXT], const char *path)
{
    const char *slash = strrchr(path, '/');
    text_copy(out, KERNEL_NAME_TEXT, slash ? slash + 1 : path);
    told_name(out, path);
    char *dot = strrchr(out, '.');
    if (dot)
        *dot = '\0';
}

static void list(const struct wire_record *record)
{
    char name[KERNEL_NAME_TEXT];
    struct wire_line line;
    const struct traits traits = {.in = DTYPE_FP32, .out = DTYPE_FP32, .acc = DTYPE_FP32};
    stem(name, wire_text(record, "library"));
    misbehave(name, "list");
    if (strcmp(name, "abi") == 0) {
        put_text("fail", "abi.so: kernel ABI version 9, this bench reads version 1");
        return;
    }
    wire_begin(&line, "kernel");
    wire_add_text(&line, "name", strcmp(name, "badname") == 0 ? "../Evil Name" : name);
    wire_add_text(&line, "summary", "a fake\nwith \x1b[31mcolour");
    wire_add_text(&line, "device", strncmp(name, "cuda-", 5) == 0 ? "cuda" : "host");
    wire_add_traits(&line, &traits);
    put(&line);
    put_text("done", NULL);
}

// Every problem, but cuda-elsewhere none.
static void supports(const struct wire_record *record)
{
    struct wire_line line;
    wire_begin(&line, "supported");
    wire_add_int(&line, "yes", strcmp(wire_text(record, "kernel"), "cuda-elsewhere") != 0);
    put(&line);
    put_text("done", NULL);
}

// A choice of this process's, unless another's is pinned.
static const char *choice_of(char text[32], const char *pin)
{
    snprintf(text, 32, "choice of %ld", (long)getpid());
    return pin ? pin : text;
}

static void put_choices(const struct series *series, const struct wire_record *asked)
{
    struct wire_line line;
    char text[32];
    wire_begin(&line, "opened");
    wire_add_int(&line, "id", series->id);
    wire_add_text(&line, "state", "ok");
    wire_add_double(&line, "error", 1e-6);
    wire_add_double(&line, "tolerance", 1e-3);
    wire_add_int(&line, "launches", series->launches);
    wire_add_text(&line, "note", choice_of(text, wire_text(asked, "pin")));
    wire_add_text(&line, "base_note", choice_of(text, wire_text(asked, "base_pin")));
    put(&line);
    put_text("done", NULL);
}

static void put_state(const char *name, const struct series *series, enum measurement_state state,
                      double error, const char *note)
{
    struct wire_line line;
    wire_begin(&line, name);
    wire_add_int(&line, "id", series->id);
    wire_add_text(&line, "state", measurement_state_name(state));
    wire_add_text(&line, "role", "head");
    wire_add_double(&line, "error", error);
    wire_add_double(&line, "tolerance", 1e-3);
    wire_add_int(&line, "launches", series->launches);
    wire_add_text(&line, "note", note);
    wire_add_int(&line, "on_end", strstr(series->kernel, "on-end") != NULL);
    if (series->regime)
        wire_add_text(&line, "regime", regime_name(series->regime));
    put(&line);
    put_text("done", NULL);
}

static struct series *find(struct bench *bench, int64_t id)
{
    for (int i = 0; i < bench->count; i++) {
        if (bench->open[i].id == id)
            return &bench->open[i];
    }
    return NULL;
}

// Without a wish for the launches, another order of loading makes another choice.
static void read_series(struct series *series, const struct wire_record *record)
{
    int64_t order = 0, launches = 0;
    struct error err;
    *series = (struct series){0};
    if (wire_int(&series->id, record, "id", 1, INT64_MAX, &err) ||
        (wire_text(record, "order") && wire_int(&order, record, "order", 0, 1, &err)) ||
        (wire_text(record, "launches") && wire_int(&launches, record, "launches", 1, 100, &err)) ||
        (wire_text(record, "regime") && regime_parse(&series->regime, wire_text(record, "regime"))))
        exit(4);
    text_copy(series->kernel, sizeof(series->kernel), wire_text(record, "kernel"));
    series->has_base = wire_text(record, "base") != NULL;
    series->same =
        series->has_base && strcmp(wire_text(record, "base"), wire_text(record, "head")) == 0;
    series->head_first = order == 1;
    series->takes = told_time(wire_text(record, "head"));
    series->pair_ms = told_ms(".pairs") * series->takes;
    if (series->has_base)
        series->takes /= told_time(wire_text(record, "base"));
    series->launches = (uint32_t)(launches ? launches : order ? 8 : 4);
}

static void open_series(struct bench *bench, const struct wire_record *record)
{
    char base[KERNEL_NAME_TEXT] = "", head[KERNEL_NAME_TEXT] = "";
    struct series *series = &bench->open[bench->count];
    if (bench->count == bench->room) {
        note_down(bench, "full", wire_text(record, "kernel"));
        put_text("fail", "bench: open: no room");
        return;
    }
    read_series(series, record);
    if (find(bench, series->id))
        exit(4);
    note_down(bench, series->regime ? "look" : "open", series->kernel);
    usleep((useconds_t)(1000 * told_ms(".opens")));
    if (series->has_base)
        stem(base, wire_text(record, "base"));
    stem(head, wire_text(record, "head"));
    if (strcmp(base, "bad-base") == 0 || strcmp(head, "bad-base") == 0)
        crash();
    misbehave(series->kernel, series->regime ? "look" : "open");
    if (strcmp(series->kernel, "refuse") == 0)
        put_text("fail", "bench: open: no memory for the inputs");
    else if (strcmp(series->kernel, "where") == 0)
        put_state("opened", series, MEASURED_OK, 1e-6, wire_text(record, "processors"));
    else if (strcmp(series->kernel, "mute") == 0)
        put_text("done", NULL);
    else if (strcmp(series->kernel, "wrong") == 0)
        put_state("opened", series, MEASURED_WRONG, NAN, "C[3,4] is nan\x1b[0m");
    else {
        if (strcmp(series->kernel, "slower-tries") == 0)
            put_choices(series, record);
        else
            put_state("opened", series, MEASURED_OK, 1e-6, "algorithm 7");
        bench->count++;
    }
}

// "hot-PAIRS-...": so many of its first pairs are held back by heat, the head's more than the
// base's; "brake-...": all of them, by a power brake.
static uint8_t limit_of(const struct series *series, enum sample_role role)
{
    unsigned pairs;
    if (strncmp(series->kernel, "brake", 5) == 0)
        return role == ROLE_BASE ? THROTTLE_HARD : THROTTLE_NONE;
    if (sscanf(series->kernel, "hot-%u", &pairs) == 1 && series->next_pair < pairs)
        return role == ROLE_HEAD ? THROTTLE_THERMAL | THROTTLE_POWER : THROTTLE_NONE;
    return THROTTLE_POWER; // the software's cap, which is no limit of this kind
}

static void put_sample(const struct series *series, enum sample_role role, int order, int64_t block,
                       double time_ns)
{
    const struct sample sample = {.time_ns = time_ns,
                                  .clock_hz = 1.5e9,
                                  .launches = series->launches,
                                  .pair = series->next_pair,
                                  .block = (uint16_t)block,
                                  .role = (uint8_t)role,
                                  .order = (uint8_t)order,
                                  .throttle = limit_of(series, role),
                                  .temperature_c = 40,
                                  .power_mw = -1};
    struct wire_line line;
    wire_begin(&line, "sample");
    wire_add_int(&line, "id", series->id);
    wire_add_sample(&line, &sample);
    if (series->regime)
        wire_add_text(&line, "regime", regime_name(series->regime));
    put(&line);
}

// What the head's time is multiplied by in a series of kernel "scatter-PERCENT-NUMBER".
static double scattered(const struct series *series, int64_t block, int64_t pair)
{
    unsigned percent, number;
    if (sscanf(series->kernel, "scatter-%u-%u", &percent, &number) != 2)
        return 1;
    const double effect = series->same ? 0 : log1p(percent / 100.0), told = told_ms(".scatter");
    const double scatter = told > 0 ? told / 100 : 0.1;
    return exp(effect + scatter * told_chance(number, (uint64_t)(block * 1000 + pair)));
}

// Kernels that break the rules: "many" sends one too many, "few" one less, "alone" half a pair,
// "jumps" leaves out a number, "negative" a time below zero, "foreign" another series' sample;
// "crash-pairs" dies half-way.
static void take_samples(struct bench *bench, struct series *series,
                         const struct wire_record *record, bool pairs)
{
    int64_t count, block;
    struct error err;
    const char *kernel = series->kernel;
    note_down(bench, "pairs", kernel);
    if (bench->unit.lives && --bench->unit.lives == 0)
        told_unit_loses(&bench->unit);
    if (wire_int(&count, record, "count", 1, 1000000, &err) ||
        wire_int(&block, record, "block", 0, UINT16_MAX, &err))
        exit(4);
    if (strcmp(kernel, "many") == 0)
        count++;
    if (strcmp(kernel, "few") == 0)
        count--;
    for (int64_t i = 0; i < count; i++, series->next_pair++) {
        if (i == count / 2)
            misbehave(kernel, "pairs");
        if (i == count / 2 && strcmp(kernel, "touchy-pairs") == 0 && bench->count > 1)
            crash();
        series->next_pair += strcmp(kernel, "jumps") == 0 && i == 3;
        double time_ns = bench->load * (1000 + (double)(series->next_pair % 7));
        double slower = strncmp(kernel, "slower", 6) == 0 && !series->same ? 1.05 : 1;
        if (strncmp(kernel, "turns", 5) == 0 && !series->same)
            slower = series->regime == REGIME_STREAM ? 0.9 : 1.05;
        if (strcmp(kernel, "places") == 0 && !series->head_first)
            slower = series->next_pair % 2 ? 3 : 1 / 3.0;
        slower *= scattered(series, block, i) * series->takes;
        slower *= limit_of(series, ROLE_HEAD) & THROTTLE_LIMITED ? 1.5 : 1;
        bool head_first = pairs && series->next_pair % 2 == 1;
        struct series shown = *series;
        shown.id += strcmp(kernel, "foreign") == 0;
        if (strcmp(kernel, "negative") == 0)
            time_ns = -time_ns;
        if (!pairs) {
            put_sample(&shown, ROLE_HEAD, 0, block, time_ns * slower);
            continue;
        }
        put_sample(&shown, head_first ? ROLE_HEAD : ROLE_BASE, 0, block,
                   head_first ? time_ns * slower : time_ns);
        if (strcmp(kernel, "alone") == 0)
            continue;
        put_sample(&shown, head_first ? ROLE_BASE : ROLE_HEAD, 1, block,
                   head_first ? time_ns : time_ns * slower);
    }
    usleep((useconds_t)(1000 * series->pair_ms * (double)count));
    put_text("done", NULL);
}

static void close_series(struct bench *bench, struct series *open)
{
    struct series closed = *open, *series = &closed;
    *open = bench->open[--bench->count];
    note_down(bench, "close", series->kernel);
    misbehave(series->kernel, "close");
    bool late = strcmp(series->kernel, "late-wrong") == 0;
    put_state("closed", series, late ? MEASURED_WRONG : MEASURED_OK, late ? 0.5 : 1e-6,
              late ? "C[0,0] after the launches" : "");
}

static void put_figure(const char *key, double value, double cv, bool stable)
{
    struct wire_line line;
    wire_begin(&line, "figure");
    wire_add_text(&line, "key", key);
    wire_add_double(&line, "value", value);
    wire_add_double(&line, "cv", cv);
    wire_add_int(&line, "repeats", 5);
    wire_add_int(&line, "stable", stable);
    wire_add_text(&line, "note", stable ? "" : "spread of 12 %");
    put(&line);
}

static void calibrate(const struct wire_record *record)
{
    const char *only = wire_text(record, "only");
    if (only && strcmp(only, "nonsense") == 0)
        put_figure("no name at all", 1, 0, true);
    if (!only || strcmp(only, "dram_bytes_s") == 0)
        put_figure("dram_bytes_s", 4e12, 0.002, true);
    if (!only)
        put_figure("launch_s", 2e-6, 0.12, false);
    if (only && strcmp(only, "study_*") == 0) { // of seed 2's study four figures, one unsteady
        put_figure("study_fadd_ilp_1", 30.5, 0.002, true);
        put_figure("study_l1_latency_clk", 41.25, 0.002, true);
        put_figure("study_dram_sm_all", 2.5e12, 0.002, true);
        put_figure("study_dram_thread", 1e8, 0.12, false);
    }
    put_text("done", NULL);
}

static void record_kernel(const struct bench *bench, const struct wire_record *record)
{
    const char *kernel = wire_text(record, "kernel");
    const char *joined = kernel ? strstr(kernel, "-joined-") : NULL;
    if (joined)
        wait_to_be_joined(bench, atoi(joined + strlen("-joined-")));
    tell_record();
}

static bool serve(struct bench *bench, const struct wire_record *record)
{
    int64_t id;
    struct error err;
    struct series *series = NULL;
    if (wire_text(record, "id") && wire_int(&id, record, "id", 1, INT64_MAX, &err) == 0)
        series = find(bench, id);
    if (strcmp(record->name, "list") == 0)
        list(record);
    else if (strcmp(record->name, "supports") == 0)
        supports(record);
    else if (strcmp(record->name, "open") == 0)
        open_series(bench, record);
    else if (strcmp(record->name, "pairs") == 0 && series)
        take_samples(bench, series, record, true);
    else if (strcmp(record->name, "solo") == 0 && series)
        take_samples(bench, series, record, false);
    else if (strcmp(record->name, "close") == 0 && series)
        close_series(bench, series);
    else if (strcmp(record->name, "calibrate") == 0)
        calibrate(record);
    else if (strcmp(record->name, "record") == 0)
        record_kernel(bench, record);
    else
        return false;
    return true;
}

static void read_files(struct bench *bench, bool asked)
{
    char path[PATH_MAX];
    FILE *room = fopen(beside(path, ".room"), "r");
    bench->room = SERIES_MAX;
    if (room && fscanf(room, "%d", &bench->room) != 1)
        abort();
    if (room)
        fclose(room);
    if (access(beside(path, ".journal"), F_OK) == 0)
        bench->journal = fopen(path, "a");
    bench->load = told_load();
    note_down(bench, asked ? "start\nask" : "start", "");
    // Another's line may already stand behind this one's.
    bench->started = bench->journal ? count_started(ftell(bench->journal)) : 0;
}

int main(int argc, char **argv)
{
    static char line[WIRE_LINE];
    static struct bench bench;
    struct error err;
    const char *device = argc >= 3 && strcmp(argv[1], "--device") == 0 ? argv[2] : "";
    if (!told_unit(&bench.unit, device)) {
        fprintf(stderr, "fake_bench: no device %s\n", device);
        return STATUS_LOST;
    }
    read_files(&bench, argc == 4 && strcmp(argv[3], "--ask") == 0);
    if (strcmp(bench.unit.kind, "none") != 0)
        usleep((useconds_t)(1000 * told_ms(bench.unit.number ? ".starts.1" : ".starts")));
    bench.load *= bench.unit.slow;
    greet(&bench.unit);
    while (fgets(line, sizeof(line), stdin)) {
        struct wire_record record;
        if (wire_parse(&record, line, &err) || !serve(&bench, &record))
            break;
    }
    if (strcmp(bench.unit.kind, "none") != 0)
        wait_for_a_later_one(&bench);
    note_down(&bench, "end", "");
    return 0;
}
