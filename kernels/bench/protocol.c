// SPDX-License-Identifier: Apache-2.0
//
// The child's side of model/wire.h. Every command is answered by `done` or `fail`.
#include "kernels/bench/bench.h"
#include "kernels/bench/driver.h"
#include "kernels/bench/module.h"
#include "kernels/bench/own_processors.h"
#include "kernels/bench/record_make.h"
#include "kernels/bench/references.h"
#include "kernels/bench/series.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "model/record/record.h"
#include "model/wire.h"

#include <stdlib.h>
#include <string.h>

enum { SERIES_MAX = 1024, COUNT_MAX = 1000000 };

struct open_series {
    int64_t id;
    struct series *series;
    uint64_t changes; // of the protocol, when it was last settled
};

struct protocol {
    struct bench *bench;
    size_t figures; // sent by this calibrate
    struct open_series open[SERIES_MAX];
    size_t count;
    uint64_t changes; // series opened and closed
    bool placed;      // the parent has said which processors are our own
};

static void put(struct bench *bench, struct wire_line *line)
{
    fputs(wire_end(line), bench->out);
}

static void put_text(struct bench *bench, const char *record, const char *text)
{
    struct wire_line line;
    wire_begin(&line, record);
    if (text)
        wire_add_text(&line, "text", text);
    put(bench, &line);
    fflush(bench->out);
}

void bench_end_if_lost(struct bench *bench, const char *text)
{
    if (!bench->device || bench->device->loss == DEVICE_OK)
        return;
    put_text(bench, "note", text);
    fflush(NULL);
    // Nothing can be freed on a device that does not answer.
    if (bench->device->loss == DEVICE_POISONED)
        abort();
    _Exit(EXIT_NO_DEVICE);
}

static void greet(struct bench *bench, const char *kind, const struct device_info *info)
{
    struct wire_line line;
    wire_begin(&line, "hello");
    wire_add_int(&line, "wire", WIRE_VERSION);
    wire_add_text(&line, "version", PLUMB_VERSION);
    put(bench, &line);
    wire_begin(&line, "device");
    wire_add_text(&line, "kind", kind);
    wire_add_text(&line, "uuid", info->uuid);
    wire_add_text(&line, "name", info->name);
    wire_add_text(&line, "driver", info->driver);
    wire_add_text(&line, "runtime", info->runtime);
    if (info->bus[0])
        wire_add_text(&line, "bus", info->bus);
    struct gpu figures = info->figures;
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const struct figure *figure = gpu_figure(&figures, gpu_figure_key(i));
        if (figure->value > 0)
            wire_add_double(&line, gpu_figure_key(i), figure->value);
    }
    put(bench, &line);
    fflush(bench->out);
}

static int do_list(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *path = wire_text(r, "library");
    struct module module = MODULE_NONE;
    if (!path)
        return error_set(err, "bench: list: no library");
    if (module_load(&module, path, false, err))
        return -1;
    for (uint32_t i = 0; i < module_count(&module); i++) {
        const struct plumb_kernel kernel = module_kernel(&module, i);
        const struct traits traits = module_traits(&kernel);
        struct wire_line line;
        wire_begin(&line, "kernel");
        wire_add_text(&line, "name", kernel.name);
        wire_add_text(&line, "summary", kernel.summary ? kernel.summary : "");
        wire_add_text(&line, "device", module.library->device);
        wire_add_traits(&line, &traits);
        put(p->bench, &line);
    }
    module_release(&module);
    return 0;
}

static int do_supports(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *path = wire_text(r, "library"), *name = wire_text(r, "kernel");
    const char *text = wire_text(r, "problem");
    struct module module = MODULE_NONE;
    struct plumb_form_kernel kernel;
    struct problem problem;
    struct wire_line line;
    if (!path || !name || !text)
        return error_set(err, "bench: supports: library, kernel or problem is missing");
    if (problem_parse(&problem, text, err) || module_load(&module, path, false, err))
        return -1;
    const bool found = module_find(&kernel, &module, name);
    if (found) {
        const struct plumb_form asked = check_abi_form(&problem);
        wire_begin(&line, "supported");
        wire_add_int(&line, "yes", call_supports(&kernel, &asked) != 0);
        put(p->bench, &line);
    }
    module_release(&module);
    return found ? 0 : error_set(err, "%s: no kernel %.63s", path, name);
}

static struct open_series *find(struct protocol *p, int64_t id)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->open[i].id == id)
            return &p->open[i];
    }
    return NULL;
}

static int read_spec(struct series_spec *out, const struct wire_record *r, struct error *err)
{
    struct series_spec spec = {.kernel = wire_text(r, "kernel"),
                               .head = wire_text(r, "head"),
                               .base = wire_text(r, "base"),
                               .pin = wire_text(r, "pin")};
    const char *problem = wire_text(r, "problem");
    int64_t seed, order = 0, launches = 0, apart = 0;
    if (!spec.kernel || !spec.head || !problem)
        return error_set(err, "bench: open: kernel, head or problem is missing");
    if (problem_parse(&spec.problem, problem, err) || wire_int(&seed, r, "seed", 0, INT64_MAX, err))
        return -1;
    const char *regime = wire_text(r, "regime");
    if (regime && regime_parse(&spec.regime, regime))
        return error_set(err, "bench: open: there is no regime '%.40s'", regime);
    if (wire_text(r, "order") && wire_int(&order, r, "order", 0, 1, err))
        return -1;
    if (wire_text(r, "launches") && wire_int(&launches, r, "launches", 1, COUNT_MAX, err))
        return -1;
    if (wire_text(r, "apart") && wire_int(&apart, r, "apart", 0, 1, err))
        return -1;
    spec.apart = apart == 1;
    spec.launches = (uint32_t)launches;
    spec.seed = (uint64_t)seed;
    spec.head_first = order == 1;
    *out = spec;
    return 0;
}

static void put_state(struct bench *bench, const char *record, int64_t id,
                      const struct series_state *state)
{
    struct wire_line line;
    wire_begin(&line, record);
    wire_add_int(&line, "id", id);
    wire_add_text(&line, "state", measurement_state_name(state->state));
    wire_add_text(&line, "role", state->role == ROLE_BASE ? "base" : "head");
    wire_add_double(&line, "error", state->error);
    wire_add_double(&line, "tolerance", state->tolerance);
    wire_add_int(&line, "launches", state->launches);
    wire_add_text(&line, "note", state->note);
    wire_add_text(&line, "regime", regime_name(state->regime));
    put(bench, &line);
}

// Once, for they stay the same.
static int take_processors(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *text = wire_text(r, "processors");
    cpu_set_t own;
    if (!text || p->placed)
        return 0;
    if (own_processors_parse(&own, text, err))
        return -1;
    p->placed = true;
    p->bench->ops->own(p->bench->device, &own);
    return 0;
}

static int do_open(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_spec spec;
    struct series_state state;
    struct series *series;
    int64_t id;
    if (wire_int(&id, r, "id", 0, INT64_MAX, err) || read_spec(&spec, r, err) ||
        take_processors(p, r, err))
        return -1;
    if (find(p, id))
        return error_set(err, "bench: open: series %lld is open already", (long long)id);
    if (p->count == SERIES_MAX)
        return error_set(err, "bench: open: more than %d series; close some", SERIES_MAX);
    const struct device_ops *ops = p->bench->ops;
    const double needed = series_need_bytes(&spec, ops, p->bench->device);
    if (needed > (double)ops->free_bytes(p->bench->device))
        references_drop(ops);
    if (p->count && needed > (double)ops->free_bytes(p->bench->device))
        return error_set(err, "bench: open: no room beside %zu open series; close some", p->count);
    if (series_open(&series, &state, p->bench->ops, p->bench->device, &spec, err))
        return -1;
    put_state(p->bench, "opened", id, &state);
    if (series)
        p->open[p->count++] = (struct open_series){id, series, p->changes + 1};
    p->changes++;
    return 0;
}

struct sender {
    struct bench *bench;
    int64_t id;
    enum regime regime;
};

static void send_sample(void *state, const struct sample *sample)
{
    const struct sender *sender = state;
    struct wire_line line;
    wire_begin(&line, "sample");
    wire_add_int(&line, "id", sender->id);
    wire_add_sample(&line, sample);
    wire_add_text(&line, "regime", regime_name(sender->regime));
    put(sender->bench, &line);
}

static struct open_series *wanted(struct protocol *p, const struct wire_record *r,
                                  struct error *err)
{
    int64_t id;
    if (wire_int(&id, r, "id", 0, INT64_MAX, err))
        return NULL;
    struct open_series *open = find(p, id);
    if (!open)
        error_set(err, "bench: %s: series %lld is not open", r->name, (long long)id);
    return open;
}

static int do_samples(struct protocol *p, const struct wire_record *r, bool pairs,
                      struct error *err)
{
    int64_t count, block;
    struct open_series *open = wanted(p, r, err);
    if (!open || wire_int(&count, r, "count", 1, COUNT_MAX, err) ||
        wire_int(&block, r, "block", 0, UINT16_MAX, err))
        return -1;
    if (pairs && !series_has_base(open->series))
        return error_set(err, "bench: pairs: series %lld has no base; ask for solo",
                         (long long)open->id);
    if (open->changes != p->changes && series_settle(open->series, err))
        return -1;
    open->changes = p->changes;
    struct sender sender = {p->bench, open->id, series_regime(open->series)};
    return (pairs ? series_pairs : series_solo)(open->series, (uint32_t)count, (uint16_t)block,
                                                send_sample, &sender, err);
}

static int do_close(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_state state;
    struct open_series *open = wanted(p, r, err);
    if (!open)
        return -1;
    int failed = series_close(&state, open->series, err);
    if (!failed)
        put_state(p->bench, "closed", open->id, &state);
    if (p->bench->device->loss == DEVICE_OK)
        series_free(open->series);
    *open = p->open[--p->count];
    p->changes++;
    return failed;
}

static int do_record(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_spec spec;
    struct record record = {.kernel = ""};
    struct arena arena = {0};
    struct buffer text = {0};
    int status = read_spec(&spec, r, err);
    if (status == 0)
        status = record_make(&record, p->bench, &spec, &arena, err);
    if (status == 0) {
        record_print(&text, &record);
        fwrite(text.bytes, 1, text.length, p->bench->out);
        buffer_free(&text);
    }
    arena_free(&arena);
    return status;
}

static void send_figure(void *state, const struct calibration *reading)
{
    struct protocol *p = state;
    struct wire_line line;
    p->figures++;
    wire_begin(&line, "figure");
    wire_add_text(&line, "key", reading->key);
    wire_add_double(&line, "value", reading->value);
    wire_add_double(&line, "cv", reading->cv);
    wire_add_int(&line, "repeats", reading->repeats);
    wire_add_int(&line, "stable", reading->stable);
    wire_add_text(&line, "note", reading->note);
    put(p->bench, &line);
    fflush(p->bench->out);
}

static int do_calibrate(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *only = wire_text(r, "only");
    p->figures = 0;
    if (p->bench->ops->calibrate(p->bench->device, only, send_figure, p, err))
        return -1;
    if (p->figures == 0)
        return error_set(err, "bench: calibrate: this device has no figure '%.60s'", only);
    return 0;
}

static int dispatch(struct protocol *p, const struct wire_record *r, struct error *err)
{
    if (strcmp(r->name, "list") == 0)
        return do_list(p, r, err);
    if (strcmp(r->name, "supports") == 0)
        return do_supports(p, r, err);
    if (!p->bench->ops)
        return error_set(err, "bench: %.40s: there is no device, only list and supports", r->name);
    if (bench_wake(p->bench, err))
        return -1;
    if (strcmp(r->name, "open") == 0)
        return do_open(p, r, err);
    if (strcmp(r->name, "pairs") == 0)
        return do_samples(p, r, true, err);
    if (strcmp(r->name, "solo") == 0)
        return do_samples(p, r, false, err);
    if (strcmp(r->name, "close") == 0)
        return do_close(p, r, err);
    if (strcmp(r->name, "record") == 0)
        return do_record(p, r, err);
    if (strcmp(r->name, "calibrate") == 0)
        return do_calibrate(p, r, err);
    return error_set(err, "bench: unknown command '%.40s'", r->name);
}

static void serve(struct protocol *p, FILE *in)
{
    char line[WIRE_LINE];
    struct wire_record record;
    struct error err;
    while (fgets(line, sizeof(line), in)) {
        if (!strchr(line, '\n') && !feof(in)) {
            put_text(p->bench, "fail", "bench: the line is too long");
            for (int c = 0; c != '\n' && c != EOF;)
                c = fgetc(in);
            continue;
        }
        int failed = wire_parse(&record, line, &err);
        if (!failed && strcmp(record.name, "quit") == 0)
            return;
        failed = failed || dispatch(p, &record, &err);
        if (failed)
            bench_end_if_lost(p->bench, err.text);
        put_text(p->bench, failed ? "fail" : "done", failed ? err.text : NULL);
    }
}

int protocol_run(struct bench *bench, FILE *in)
{
    struct device_info info = {.uuid = "none", .name = "no device"};
    struct error err;
    if (!bench->ops)
        driver_stand_in();
    else if (bench->ops->info(&info, bench->device, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        return EXIT_FAILED;
    }
    struct protocol *p = xcalloc(1, sizeof(*p));
    p->bench = bench;
    greet(bench, bench->ops ? bench->ops->kind : "none", &info);
    serve(p, in);
    while (p->count)
        series_free(p->open[--p->count].series);
    free(p);
    return 0;
}
