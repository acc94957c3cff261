// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes profiles, and combines them with options. A file may come from anybody: every
// line is understood, or refused with its number.
#include "ci/settings/gpu_file.h"

#include "ci/settings/context.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/config.h"
#include "model/gpu.h"
#include "model/predict.h"
#include "model/predict/parts/bias.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ==== GPU profiles ====

// The options --gpu NAME|FILE and --set KEY=VALUE.
static const struct {
    const char *ending; // the ending of a figure's key
    const char *unit;
    double factor;
} units[] = {
    {"_bytes_clk", "B/clk", 1},
    {"_hz", "Hz", 1},
    {"_hz", "kHz", 1e3},
    {"_hz", "MHz", 1e6},
    {"_hz", "GHz", 1e9},
    {"_bytes_s", "B/s", 1},
    {"_bytes_s", "GB/s", 1e9},
    {"_bytes_s", "TB/s", 1e12},
    {"_bytes", "B", 1},
    {"_bytes", "KiB", 1024},
    {"_bytes", "MiB", 1048576},
    {"_bytes", "GiB", 1073741824},
    {"_clk", "clk", 1},
    {"_s", "s", 1},
    {"_s", "us", 1e-6},
    {"_s", "ns", 1e-9},
    {"_w", "W", 1},
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

// The ending of a key, NULL for numbers without a unit. Longer endings come first in the table.
static const char *unit_ending(const char *key)
{
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (ends_with(key, units[i].ending))
            return units[i].ending;
    }
    return NULL;
}

static const char *unit_name(const char *key)
{
    const char *ending = unit_ending(key);
    for (size_t i = 0; ending && i < ARRAY_COUNT(units); i++) {
        if (strcmp(units[i].ending, ending) == 0)
            return units[i].unit;
    }
    return NULL;
}

// Parses a value such as "1.83 GHz" for a key in Hz; -1 if it is no positive number or the unit
// does not fit.
static int parse_value(double *out, const char *key, const char *text)
{
    char number[64];
    size_t length = strspn(text, "0123456789.eE+-"); // no unit begins with one of these characters
    if (length == 0 || length >= sizeof(number))
        return -1;
    memcpy(number, text, length);
    number[length] = '\0';
    double factor = 1;
    const char *unit = text + length + strspn(text + length, " "), *ending = unit_ending(key);
    for (size_t i = 0; *unit; i++) {
        if (i == ARRAY_COUNT(units))
            return -1;
        if (ending && strcmp(units[i].ending, ending) == 0 && strcmp(units[i].unit, unit) == 0) {
            factor = units[i].factor;
            break;
        }
    }
    return parse_double(out, number) || !(*out >= 0) || !isfinite(*out *= factor) ? -1 : 0;
}

static int set_figure(struct gpu *gpu, const char *key, const char *value, const char *where,
                      struct error *err)
{
    struct figure *figure = gpu_figure(gpu, key);
    double number;
    if (!figure)
        return error_set(err, "%s: %.40s is no figure; `plumb list gpus NAME` lists them", where,
                         key);
    if (parse_value(&number, key, value))
        return error_set(err, "%s: %s = '%.40s'; it must be a number, not negative%s%s", where, key,
                         value, unit_name(key) ? ", in " : "",
                         unit_name(key) ? unit_name(key) : "");
    *figure = (struct figure){number, ORIGIN_OVERRIDE, figure->source};
    return 0;
}

// ---- parsing a file ----

struct profile_reader {
    struct gpu_profile *out;
    char where[256]; // file and line
    bool named;
    const char *figure; // the figure whose value was read, and whose source must follow
    struct error *err;
};

static int finish_figure(struct profile_reader *r)
{
    if (!r->figure)
        return 0;
    const struct figure *f = gpu_figure(&r->out->gpu, r->figure);
    if (!f->source)
        return error_set(r->err, "%s: [figure \"%s\"] names no source", r->where, r->figure);
    r->figure = NULL;
    return 0;
}

static int read_base(struct profile_reader *r, const char *name)
{
    const struct gpu *base = gpu_find(name);
    if (!base)
        return error_set(r->err, "%s: base = %.40s: no such profile; `plumb list gpus` names them",
                         r->where, name);
    const char *own = r->out->gpu.name;
    r->out->gpu = *base;
    r->out->gpu.name = own;
    return 0;
}

static int read_gpu(struct profile_reader *r, const struct config_entry *e)
{
    struct gpu *gpu = &r->out->gpu;
    char *text = arena_strdup(&r->out->arena, e->value ? e->value : "");
    if (e->key[0] == '\0') {
        if (r->named || !e->subsection[0])
            return error_set(r->err, "%s: one section [gpu \"NAME\"], with a name", r->where);
        r->named = true;
        gpu->name = arena_strdup(&r->out->arena, e->subsection);
        // Measured figures of the GPU of hopper's constants: its predictions scatter no more.
        const struct gpu *shipped = gpu_find(gpu->name);
        gpu->fitted = shipped && shipped->fitted;
        gpu->summary = "";
        return 0;
    }
    if (strcmp(e->key, "base") == 0)
        return read_base(r, text);
    if (strcmp(e->key, "summary") == 0)
        gpu->summary = text;
    else if (strcmp(e->key, "match") == 0)
        gpu->match = text;
    else
        return error_set(r->err, "%s: unknown key gpu.%.40s (base, summary, match)", r->where,
                         e->key);
    return 0;
}

static int read_figure(struct profile_reader *r, const struct config_entry *e)
{
    struct figure *figure = gpu_figure(&r->out->gpu, e->subsection);
    if (!figure)
        return error_set(r->err, "%s: %.40s is no figure; `plumb list gpus NAME` lists them",
                         r->where, e->subsection);
    if (e->key[0] == '\0') {
        if (finish_figure(r))
            return -1;
        r->figure = e->subsection;
        figure->source = NULL;
        return 0;
    }
    if (strcmp(e->key, "value") == 0)
        return set_figure(&r->out->gpu, e->subsection, e->value ? e->value : "", r->where, r->err);
    if (strcmp(e->key, "source") != 0)
        return error_set(r->err, "%s: unknown key figure.%.40s (value, source)", r->where, e->key);
    if (e->value && e->value[0])
        figure->source = arena_strdup(&r->out->arena, e->value);
    return 0;
}

int gpu_file_parse(struct gpu_profile *out, const char *text, size_t size, const char *label,
                   struct error *err)
{
    struct config_file config = {0};
    *out = (struct gpu_profile){0};
    struct profile_reader r = {.out = out, .err = err};
    int status = config_parse(&config, text, size, label, err);
    for (size_t i = 0; i < config.count && status == 0; i++) {
        const struct config_entry *e = &config.entries[i];
        snprintf(r.where, sizeof(r.where), "%.200s:%u", label, e->line);
        if (strcmp(e->section, "gpu") == 0)
            status = read_gpu(&r, e);
        else if (strcmp(e->section, "figure") == 0 && r.named)
            status = read_figure(&r, e);
        else
            status = error_set(err,
                               "%s: [%.40s]: a profile begins with [gpu \"NAME\"] and has sections "
                               "[figure \"KEY\"]",
                               r.where, e->section);
    }
    if (status == 0)
        status = finish_figure(&r);
    if (status == 0 && !r.named)
        status = error_set(err, "%s: no section [gpu \"NAME\"]", label);
    config_free(&config);
    if (status)
        gpu_profile_free(out);
    return status;
}

int gpu_file_read(struct gpu_profile *out, const char *path, struct error *err)
{
    char *text = NULL;
    size_t length;
    if (text_file_read(&text, &length, path, err))
        return -1;
    int status = gpu_file_parse(out, text, length, path, err);
    free(text);
    return status;
}

static void put_quoted(struct buffer *out, const char *text)
{
    buffer_puts(out, "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            buffer_puts(out, "\\");
        if ((unsigned char)*at >= ' ')
            buffer_printf(out, "%c", *at);
    }
    buffer_puts(out, "\"\n");
}

void gpu_file_write(struct buffer *out, const struct gpu *gpu)
{
    struct gpu copy = *gpu;
    buffer_puts(out, "[gpu ");
    struct buffer name = {0};
    put_quoted(&name, gpu->name ? gpu->name : "gpu");
    buffer_printf(out, "%.*s]\n", (int)name.length - 1, name.bytes);
    free(name.bytes);
    buffer_puts(out, "\tsummary = ");
    put_quoted(out, gpu->summary ? gpu->summary : "");
    if (gpu->match) {
        buffer_puts(out, "\tmatch = ");
        put_quoted(out, gpu->match);
    }
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const char *key = gpu_figure_key(i), *unit = unit_name(key);
        const struct figure *f = gpu_figure(&copy, key);
        if (f->value == 0) {
            buffer_printf(out, "# not known: %s, %s\n", key, gpu_figure_unit(i));
            continue;
        }
        buffer_printf(out, "[figure \"%s\"] # %s\n\tvalue = %.17g%s%s\n\tsource = ", key,
                      gpu_figure_unit(i), f->value, unit ? " " : "", unit ? unit : "");
        put_quoted(out, f->source && f->source[0] ? f->source : origin_name(f->origin));
    }
}

void gpu_profile_free(struct gpu_profile *profile)
{
    arena_free(&profile->arena);
    *profile = (struct gpu_profile){0};
}

// ---- options ----

int gpu_option_set(void *out, const char *text)
{
    struct gpu_option *option = out;
    if (option->set_count == GPU_SETS_MOST)
        return -1;
    option->sets[option->set_count++] = text;
    return 0;
}

static int apply_set(struct gpu_profile *profile, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return error_set(err, "--set %.60s: KEY=VALUE, e.g. clock_hz=1.4e9", text);
    char *key = arena_printf(&profile->arena, "%.*s", (int)(equals - text), text);
    if (set_figure(&profile->gpu, key, equals + 1, "--set", err))
        return -1;
    gpu_figure(&profile->gpu, key)->source = "--set";
    return 0;
}

// Puts the figures of --set into a profile.
static int gpu_option_apply(struct gpu_profile *profile, const struct gpu_option *option,
                            struct error *err)
{
    for (size_t i = 0; i < option->set_count; i++) {
        if (apply_set(profile, option->sets[i], err))
            return -1;
    }
    return 0;
}

int gpu_option_resolve(struct gpu_profile *out, const struct gpu_option *option, struct error *err)
{
    const struct gpu *shipped = gpu_find(option->name);
    *out = (struct gpu_profile){0};
    if (shipped)
        out->gpu = *shipped;
    else if (!strpbrk(option->name, "./"))
        return error_set(err,
                         "%.60s: no such profile; `plumb list gpus` names those there are, a file "
                         "is named with its path",
                         option->name);
    else if (gpu_file_read(out, option->name, err))
        return -1;
    if (gpu_option_apply(out, option, err)) {
        gpu_profile_free(out);
        return -1;
    }
    return 0;
}

// ---- the profile of commands that predict without a device ----

// Looks for a measured profile in the store that other commands use. A missing store is no error. A
// store that cannot be read is an error if --store named it, and a message otherwise.

static const char *const otherwise = "h200-sxm";

// Prints which device's profile is used. Its name comes from the store, so control bytes are
// removed.
static void say_measured(const char *profile, const struct device_entry *device, const char *path)
{
    char date[16] = "";
    const time_t when = (time_t)device->last_s;
    struct tm parts;
    struct buffer line = {0};
    if (gmtime_r(&when, &parts))
        strftime(date, sizeof(date), "%Y-%m-%d", &parts);
    char *text = xprintf("profile %s as measured on %s, %s, %s (%s)", profile, device->name,
                         device->uuid, date, path);
    clean_line(&line, text, CLEAN_LINE);
    fprintf(stderr, "plumb: %s\n", line.bytes);
    buffer_free(&line);
    free(text);
}

static int from_store(struct gpu_profile *out, bool *found, struct store *store, struct error *err)
{
    char *stays = NULL;
    struct device_entry device;
    struct gpu calibrated;
    *found = false;
    if (store_newest_profile(&device, store, &out->arena, err))
        return -1;
    if (!device.uuid)
        return 0;
    if (store_load_profile(&calibrated, found, store, device.uuid, &out->arena, err))
        return -1;
    const struct gpu *shipped = *found ? gpu_find(calibrated.name) : NULL;
    out->gpu = shipped ? *shipped : calibrated;
    if (shipped)
        gpu_overlay(&out->gpu, &calibrated);
    if (shipped && profile_stays(&stays, &out->gpu, shipped, store, device.uuid, err))
        return -1;
    if (stays) {
        fprintf(stderr, "plumb: %s\n", stays);
        out->gpu = *shipped;
    } else if (*found) {
        say_measured(out->gpu.name, &device, store_path(store));
    }
    free(stays);
    return 0;
}

// Opens the store, if there is one.
static int open_store(struct context *context, const struct options *options, struct error *err)
{
    struct error ignored;
    if (options->store) {
        context->options = options;
        return context_store(context, STORE_READ, err);
    }
    if (context_open(context, options, &ignored))
        return 0; // there is no repository here
    const char *path = arena_printf(&context->arena, "%s/store.db", context->state);
    if (access(path, F_OK) == 0 && context_store(context, STORE_READ, &ignored))
        fprintf(stderr, "plumb: %s; no measured profile is looked for in it\n", ignored.text);
    return 0;
}

int measured_profile(struct gpu_profile *out, const struct gpu_option *option,
                     struct context *context, const struct options *options, struct error *err)
{
    bool found = false;
    *out = (struct gpu_profile){0};
    if (option->name)
        return gpu_option_resolve(out, option, err);
    if (open_store(context, options, err))
        return -1;
    int status = context->store ? from_store(out, &found, context->store, err) : 0;
    if (status == 0 && !found) {
        out->gpu = *gpu_find(otherwise);
        fprintf(stderr, "plumb: profile %s as shipped; --gpu names another\n", otherwise);
    }
    if (status == 0)
        status = gpu_option_apply(out, option, err);
    if (status)
        gpu_profile_free(out);
    return status;
}

// ==== biases ====
//
// Writes and reads the file of calibrated biases; errors have line numbers.
// model/predict/parts/bias.c fits and applies biases.

// The further columns of a bias with a slope; a file may lack them.
static const struct {
    const char *name;
    size_t at;
} further[] = {
    {"slope", offsetof(struct bias, slope)},
    {"centre", offsetof(struct bias, centre)},
    {"least", offsetof(struct bias, least)},
    {"most", offsetof(struct bias, most)},
    {"spread", offsetof(struct bias, spread)},
    {"factor_sd", offsetof(struct bias, factor_sd)},
    {"slope_sd", offsetof(struct bias, slope_sd)},
    {"offset_ns", offsetof(struct bias, offset_ns)},
    {"offset_sd_ns", offsetof(struct bias, offset_sd_ns)},
};

int bias_file_write(const char *path, const struct bias_table *table, const struct model *model,
                    const char *inputs, struct error *err)
{
    struct buffer text = {0};
    char *said = xprintf("# fitted to %s\n", inputs);
    for (char *c = said; c[1]; c++) { // one line, whatever the file's name contains
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
    buffer_puts(&text, said);
    free(said);
    struct csv_line line = {.out = &text};
    csv_raw(&line, "kernel,log_factor,band,rows,model,version");
    for (size_t i = 0; i < ARRAY_COUNT(further); i++)
        csv_text(&line, further[i].name);
    csv_raw(&line, "type,regime");
    csv_end(&line, "\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct bias *b = &table->items[i];
        csv_text(&line, b->kernel);
        csv_real(&line, b->log_factor);
        csv_real(&line, b->band);
        csv_int(&line, b->rows);
        csv_text(&line, model->name);
        csv_text(&line, model->version);
        for (size_t j = 0; j < ARRAY_COUNT(further); j++)
            csv_real(&line, *(const double *)(const void *)((const char *)b + further[j].at));
        csv_text(&line, dtype_name(b->in));
        csv_text(&line, regime_name(b->regime));
        csv_end(&line, "\n");
    }
    int result = text_file_write(path, &text, err);
    buffer_free(&text);
    return result;
}

static int read_further(struct bias *out, const struct csv *csv, size_t row, const char *path,
                        struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(further); i++) {
        const int column = csv_column(csv, further[i].name);
        const double most = strncmp(further[i].name, "offset", 6) == 0 ? 1e6 : 100;
        double *value = (double *)(void *)((char *)out + further[i].at);
        if (column >= 0 &&
            (parse_double(value, csv->rows[row].fields[column]) || !(fabs(*value) < most)))
            return error_set(err, "%s:%zu: %s must be a number within +-%g", path,
                             csv->rows[row].line, further[i].name, most);
    }
    const int type = csv_column(csv, "type"), regime = csv_column(csv, "regime");
    if (type >= 0 && dtype_parse(&out->in, csv->rows[row].fields[type]))
        return error_set(err, "%s:%zu: type is '%.40s', which is none", path, csv->rows[row].line,
                         csv->rows[row].fields[type]);
    if (regime >= 0 && regime_parse(&out->regime, csv->rows[row].fields[regime]))
        return error_set(err, "%s:%zu: regime is '%.40s', which is none", path, csv->rows[row].line,
                         csv->rows[row].fields[regime]);
    if (fabs(out->slope) > 0.5 || out->spread < 0 || out->least > out->most)
        return error_set(err,
                         "%s:%zu: a slope is within +-0.5, a spread not negative, and least is not "
                         "above most",
                         path, csv->rows[row].line);
    return 0;
}

static int read_row(struct bias *out, const struct csv *csv, const int columns[6], size_t row,
                    const char *path, const struct model *model, struct error *err)
{
    const char **f = csv->rows[row].fields;
    size_t line = csv->rows[row].line;
    if (strcmp(f[columns[4]], model->name) || strcmp(f[columns[5]], model->version))
        return error_set(err, "%s:%zu: fitted to model %.40s %.20s, not %s %s; fit again", path,
                         line, f[columns[4]], f[columns[5]], model->name, model->version);
    int64_t rows;
    if (parse_double(&out->log_factor, f[columns[1]]) || fabs(out->log_factor) > 10 ||
        parse_double(&out->band, f[columns[2]]) || !(out->band >= 0) || out->band > 10 ||
        parse_int64(&rows, f[columns[3]]) || rows < 1 || rows > INT32_MAX ||
        !text_copy(out->kernel, sizeof(out->kernel), csv_plain(f[columns[0]])))
        return error_set(err,
                         "%s:%zu: a bias is a kernel, a factor and a band within +-10, and "
                         "a number of rows",
                         path, line);
    out->rows = (uint32_t)rows;
    return read_further(out, csv, row, path, err);
}

int bias_file_read(struct bias_table *out, const char *path, const struct model *model,
                   struct error *err)
{
    static const char *const names[] = {"kernel", "log_factor", "band", "rows", "model", "version"};
    int columns[6], result = 0;
    struct csv csv = {0};
    if (rows_open(&csv, path, err))
        return -1;
    struct bias_table table = {.items = xcalloc(csv.count, sizeof(*table.items))};
    for (size_t i = 0; i < ARRAY_COUNT(names) && result == 0; i++) {
        columns[i] = csv_column(&csv, names[i]);
        if (columns[i] < 0)
            result =
                error_set(err, "%s: no column '%s'; is this a file of biases?", path, names[i]);
    }
    for (size_t i = 0; i < csv.count && result == 0; i++)
        result = read_row(&table.items[table.count++], &csv, columns, i, path, model, err);
    csv_free(&csv);
    if (result) {
        bias_table_free(&table);
        return -1;
    }
    qsort(table.items, table.count, sizeof(*table.items), bias_order);
    *out = table;
    return 0;
}
