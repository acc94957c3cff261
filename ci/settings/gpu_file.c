// SPDX-License-Identifier: Apache-2.0
//
// Profiles read, written, and put together from options. A file is somebody else's: every line of
// it is understood or refused by its number.
#include "ci/settings/gpu_file.h"

#include "ci/settings/context.h"
#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/config.h"
#include "model/gpu.h"
#include "model/predict.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The options --gpu NAME|FILE and --set KEY=VALUE.
static const struct {
    const char *ending; // of a figure's key
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

// The key's own ending, NULL for numbers without a unit. Longer endings come first in the table.
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

// "1.83 GHz" for a key in Hz; -1 when it is no positive number or the unit does not fit.
static int parse_value(double *out, const char *key, const char *text)
{
    char number[64];
    size_t length = strspn(text, "0123456789.eE+-"); // no unit begins with one of these
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

// ---- a file ----

struct profile_reader {
    struct gpu_profile *out;
    char where[256]; // file and line
    bool named;
    const char *figure; // whose value was read, and which waits for its source
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
    struct config config = {0};
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

// Puts the figures of --set on a profile that is there.
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

// Looks for a measured profile where the other commands keep it. A store that is not there is no
// error; one that cannot be read is, when --store named it, and is said otherwise.

static const char *const otherwise = "h200-sxm";

// Names are what the store holds: no control bytes of theirs reach the terminal.
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
    char *worse = NULL;
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
    if (shipped && profile_worse(&worse, &out->gpu, shipped, store, device.uuid, err))
        return -1;
    if (worse) {
        fprintf(stderr, "plumb: %s\n", worse);
        out->gpu = *shipped;
    } else if (*found) {
        say_measured(out->gpu.name, &device, store_path(store));
    }
    free(worse);
    return 0;
}

// The store, or none.
static int open_store(struct context *context, const struct options *options, struct error *err)
{
    struct error ignored;
    if (options->store) {
        context->options = options;
        return context_store(context, STORE_READ, err);
    }
    if (context_open(context, options, &ignored))
        return 0; // no repository here
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
