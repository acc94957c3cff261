// SPDX-License-Identifier: Apache-2.0
//
// Turns benchmarks of other tools into series, and their times into measurements.
#include "baselines/exchange/foreign.h"

#include "baselines/exchange/import.h"
#include "model/base.h"
#include "model/csv.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

// ---- names ----

// The rule by which another tool's name and arguments of a benchmark become a kernel's name and a
// problem; README.md states it. A kernel's name is in lower case and has letters, digits and "_.-".

static void append(struct foreign *f, char c)
{
    f->hash = hash_bytes(f->length ? f->hash : HASH_START, &c, 1);
    if (f->length + 1 < FOREIGN_NAME_TEXT)
        f->kernel[f->length] = c;
    f->length++;
}

// Appends a text. A run of characters that are neither letters nor digits becomes one '-', but not
// at the ends of a part.
static void append_text(struct foreign *f, const char *text, size_t length)
{
    bool gap = false, begun = false;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (!isalnum(c) && c != '_' && c != '.') {
            gap = begun;
            continue;
        }
        if (gap)
            append(f, '-');
        append(f, (char)tolower(c));
        gap = false;
        begun = true;
    }
}

void foreign_part(struct foreign *f, const char *name, const char *text)
{
    if (f->length)
        append(f, '.');
    if (name && name[0]) {
        append_text(f, name, strlen(name));
        append(f, '-');
    }
    append_text(f, text, strlen(text));
}

int foreign_type(enum dtype *out, const char *text)
{
    static const struct {
        const char *name;
        enum dtype type;
    } names[] = {
        {"f64", DTYPE_FP64},           {"f32", DTYPE_FP32},           {"float32", DTYPE_FP32},
        {"float64", DTYPE_FP64},       {"f16", DTYPE_FP16},           {"float16", DTYPE_FP16},
        {"half_t", DTYPE_FP16},        {"__half", DTYPE_FP16},        {"bfloat16_t", DTYPE_BF16},
        {"__nv_bfloat16", DTYPE_BF16}, {"fe4m3", DTYPE_E4M3},         {"__nv_fp8_e4m3", DTYPE_E4M3},
        {"fe5m2", DTYPE_E5M2},         {"__nv_fp8_e5m2", DTYPE_E5M2}, {"float8_e4m3fn", DTYPE_E4M3},
        {"float8_e5m2", DTYPE_E5M2},   {"fe2m1", DTYPE_E2M1}};
    // Only the part behind the last '.' or ':' counts: bfloat16 of torch.bfloat16,
    // half_t of cutlass::half_t.
    for (const char *c = text; *c; c++)
        text = (*c == '.' || *c == ':') && c[1] ? c + 1 : text;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcasecmp(text, names[i].name) == 0) {
            *out = names[i].type;
            return 0;
        }
    }
    return dtype_parse(out, text);
}

static void set_type(struct foreign *f, enum dtype type)
{
    f->problem.in = type;
    f->problem.out = dtype_default_out(type);
    f->typed = true;
}

void foreign_name(struct foreign *f, const char *text)
{
    const char *inner = strchr(text, '<');
    size_t length = inner ? (size_t)(inner - text) : strlen(text);
    append_text(f, text, length);
    // Reads template arguments within any kind of brackets.
    for (const char *at = inner; at && *at;) {
        char word[64];
        enum dtype type;
        at += strspn(at, "<>,() ");
        length = strcspn(at, "<>,() ");
        snprintf(word, sizeof(word), "%.*s", (int)(length < 63 ? length : 63), at);
        if (length && !f->typed && foreign_type(&type, word) == 0) {
            set_type(f, type);
        } else if (length) {
            append(f, '.');
            append_text(f, at, length);
        }
        at += length;
    }
}

const char *foreign_bare_name(struct arena *arena, const char *name)
{
    enum { NAME_MOST = 4096 };
    char text[NAME_MOST];
    int depth = 0;
    snprintf(text, sizeof(text), "%s", strncmp(name, "void ", 5) == 0 ? name + 5 : name);
    for (char *c = text; *c; c++) {
        depth += (*c == '<') - (*c == '>');
        if (*c == '(' && depth == 0 && c > text && strncmp(c, "(anonymous", 10) != 0) {
            *c = '\0';
            break;
        }
    }
    return arena_strdup(arena, text);
}

static int64_t *dimension(struct foreign *f, const char *name)
{
    return strcasecmp(name, "m") == 0   ? &f->problem.m
           : strcasecmp(name, "n") == 0 ? &f->problem.n
           : strcasecmp(name, "k") == 0 ? &f->problem.k
                                        : NULL;
}

static bool names_type(const char *name)
{
    return strcasecmp(name, "t") == 0 || strcasecmp(name, "type") == 0 ||
           strcasecmp(name, "dtype") == 0;
}

bool foreign_is_axis(const char *name)
{
    struct foreign none;
    return dimension(&none, name) || names_type(name) || strcasecmp(name, "problem") == 0;
}

// Reads a whole number from 1 to 2^31-1. Counters are written in the form 5.12e+02.
static int read_dimension(int64_t *out, const char *text)
{
    double value;
    if (parse_double(&value, text) || !(value >= 1) || value > INT32_MAX || value != floor(value))
        return -1;
    *out = (int64_t)value;
    return 0;
}

static int read_problem(struct foreign *f, const char *text)
{
    struct error ignored;
    struct problem problem;
    if (problem_parse(&problem, text, &ignored))
        return -1;
    // "512x512x512" has no type, so a type that was named elsewhere stays.
    if (!strchr(text, ':') && f->typed) {
        problem.in = f->problem.in;
        problem.out = f->problem.out;
    }
    f->problem = problem;
    f->typed = f->typed || strchr(text, ':');
    return 0;
}

static int read_axis(struct foreign *f, const char *name, const char *text)
{
    int64_t *out = dimension(f, name);
    enum dtype type;
    if (out)
        return read_dimension(out, text);
    if (strcasecmp(name, "problem") == 0)
        return read_problem(f, text);
    if (foreign_type(&type, text))
        f->odd = text; // where the kernel is no GEMM, it is a part of the name
    else
        set_type(f, type);
    return 0;
}

static void keep_number(struct foreign *f, const char *text)
{
    const size_t used = strlen(f->numbers);
    int64_t value;
    if (f->number_count < ARRAY_COUNT(f->number))
        f->number[f->number_count] = read_dimension(&value, text) ? 0 : value;
    f->number_count++;
    snprintf(f->numbers + used, sizeof(f->numbers) - used, "%s%s", used ? "." : "", text);
}

int foreign_argument(struct foreign *f, const char *name, const char *text)
{
    enum dtype type;
    if (name && name[0]) {
        if (foreign_is_axis(name))
            return read_axis(f, name, text);
        foreign_part(f, name, text);
    } else if (text[0] && strspn(text, "0123456789") == strlen(text) &&
               strlen(f->numbers) + strlen(text) + 2 < sizeof(f->numbers)) {
        keep_number(f, text);
    } else if (read_problem(f, text) == 0) {
        return 0;
    } else if (!f->typed && foreign_type(&type, text) == 0) {
        set_type(f, type);
    } else {
        foreign_part(f, NULL, text);
    }
    return 0;
}

int foreign_words(struct foreign *f, const char *name, struct arena *arena)
{
    char *text = arena_strdup(arena, name), *end = text + strcspn(text, " /");
    bool more = *end != '\0';
    *end = '\0';
    foreign_part(f, NULL, text);
    while (more) {
        char *word = end + 1;
        end = word + strcspn(word, " /");
        more = *end != '\0';
        *end = '\0';
        if (word[0] && foreign_argument(f, NULL, word))
            return -1;
    }
    return 0;
}

// ---- tables that tools print among other lines, with units as words ----

// Whether a text begins with `first`, where the line's separator stands for the commas of `first`.
static bool begins_with(const char *text, const char *first, size_t length, char separator)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != (first[i] == ',' ? separator : first[i]))
            return false;
    }
    return true;
}

// Whether the line at `at` contains the columns' heads.
static bool has_heads(const char *text, size_t length, size_t at, const char *first)
{
    static const char separators[] = ",;\t";
    const size_t wanted = strlen(first);
    const char *end = memchr(text + at, '\n', length - at);
    const size_t line_end = end ? (size_t)(end - text) : length;
    for (size_t from = at; line_end - from >= wanted; from++) {
        for (const char *s = separators; *s; s++) {
            if ((from == at || text[from - 1] == *s) && begins_with(text + from, first, wanted, *s))
                return true;
        }
    }
    return false;
}

bool foreign_has_heads(const struct import_file *file, const char *first)
{
    for (size_t at = 0; at < file->length;) {
        const char *end = memchr(file->text + at, '\n', file->length - at);
        if (has_heads(file->text, file->length, at, first))
            return true;
        at = end ? (size_t)(end - file->text) + 1 : file->length;
    }
    return false;
}

int foreign_table(struct csv *out, struct import *in, const char *first,
                  const struct import_file *file, struct error *err)
{
    const size_t length = file->length;
    // Turns the lines before the table into comments, so that the line numbers stay right.
    char *copy = xrealloc(NULL, length + 1, 1);
    size_t at = 0;
    memcpy(copy, file->text, length);
    while (at < length && !has_heads(copy, length, at, first)) {
        const char *end = memchr(copy + at, '\n', length - at);
        if (copy[at] != '\n' && copy[at] != '\r')
            copy[at] = '#';
        at = end ? (size_t)(end - copy) + 1 : length;
    }
    int status = at == length ? error_set(err, "%.200s: no line with %s", in->name, first)
                              : import_table(out, in, copy, length, err);
    free(copy);
    if (status == 0 && import_numbers(in, out, err)) {
        csv_free(out);
        return -1;
    }
    return status;
}

const char *foreign_field(const struct csv *csv, size_t row, const char *column)
{
    const int at = csv_column(csv, column);
    return at < 0 ? "" : csv->rows[row].fields[at];
}

double foreign_unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},        {"nsec", 1},          {"nsecond", 1},     {"nanosecond", 1},
                 {"us", 1e3},      {"\xc2\xb5s", 1e3},   {"\xce\xbcs", 1e3}, {"usec", 1e3},
                 {"usecond", 1e3}, {"microsecond", 1e3}, {"ms", 1e6},        {"msec", 1e6},
                 {"msecond", 1e6}, {"millisecond", 1e6}, {"s", 1e9},         {"sec", 1e9},
                 {"second", 1e9},  {"min", 60e9},        {"minute", 60e9}};
    size_t length = strlen(unit);
    // A word such as "seconds" is compared in lower case; a unit of one or two letters is compared
    // as it is.
    const bool word = length > 2 && (unsigned char)unit[0] < 0x80;
    length -= word && (unit[length - 1] == 's' || unit[length - 1] == 'S');
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (strlen(units[i].name) == length && (word ? strncasecmp(unit, units[i].name, length)
                                                     : strncmp(unit, units[i].name, length)) == 0)
            return units[i].ns;
    }
    return 0;
}

// The times that one call of foreign_add() brought.
struct foreign_times {
    struct foreign of; // its texts live in the run's arena
    size_t order, line, offset;
    const char *problem; // the problem's text, used for sorting
    const double *times_ns;
    size_t count;
};

struct commit foreign_commit(const char *id)
{
    struct commit commit = {.summary = "", .author = ""};
    text_copy(commit.id, sizeof(commit.id), id);
    return commit;
}

int foreign_begin(struct import *in, const char *tool, const struct commit *named,
                  const struct import_file *file, struct error *err)
{
    const struct import_source *source = in->source;
    struct run *run = &in->run;
    struct commit head;
    if (import_end(in, err))
        return -1;
    if (source->find_commit(&head, named ? named->id : NULL, source->context, err)) {
        if (!named || !named->time_s)
            return -1;
        head = *named;
    }
    *run = (struct run){.kind = RUN_IMPORT,
                        .tool_version = PLUMB_VERSION,
                        .repository = "",
                        .policy = "",
                        .base = {.summary = "", .author = ""},
                        .head = head};
    run->headline = arena_printf(&run->arena, "imported from %s", tool);
    run->started_s = run->finished_s = head.time_s ? head.time_s : time(NULL);
    in->times_count = 0;
    in->hash = file ? hash_bytes(HASH_START, file->text, file->length) : 0;
    in->tool = tool;
    return 0;
}

size_t foreign_device(struct import *in, const char *kind, const char *uuid, const char *name)
{
    struct run *run = &in->run;
    if (in->source->device)
        uuid = in->source->device;
    for (size_t i = 0; i < run->device_count; i++) {
        if (strcmp(run->devices[i].uuid, uuid) == 0)
            return i;
    }
    in->crowded = run->device_count == IMPORT_DEVICES;
    if (in->crowded)
        return 0;
    if ((run->device_count & (run->device_count - 1)) == 0) { // the room doubles at powers of two
        struct device *more = arena_alloc(&run->arena, (2 * run->device_count + 1) * sizeof(*more));
        for (size_t i = 0; i < run->device_count; i++)
            more[i] = run->devices[i];
        run->devices = more;
    }
    run->devices[run->device_count] = (struct device){.kind = kind,
                                                      .uuid = arena_strdup(&run->arena, uuid),
                                                      .name = arena_strdup(&run->arena, name),
                                                      .driver = "",
                                                      .runtime = "",
                                                      .profile = ""};
    return run->device_count++;
}

void foreign_at(struct import *in, const struct node *node)
{
    in->offset = in->file && in->file->json ? node_offset(in->file->json, node) : 0;
}

// The number of the line being read; 0: the text has no lines, or the number is not known.
static size_t line_of(const struct import *in)
{
    size_t line = 1;
    if (!in->offset)
        return in->line > 1 ? in->line : 0;
    for (size_t i = 0; i < in->offset && i < in->file->length; i++)
        line += in->file->text[i] == '\n';
    // A line number is told only if the file has several lines; some tools write all on one.
    const char *end = in->file->text + in->file->length;
    const char *next = memchr(in->file->text, '\n', in->file->length);
    return line > 1 || (next && next + 1 < end) ? line : 0;
}

static int refuse(const struct import *in, const struct foreign *f, const char *what,
                  struct error *err)
{
    const size_t line = in->report.left < IMPORT_TOLD ? line_of(in) : 0;
    if (line)
        return error_set(err, "%.200s:%zu: benchmark '%.100s': %s", in->name, line, f->name, what);
    return error_set(err, "%.200s: benchmark '%.100s': %s", in->name, f->name, what);
}

// Uses the element type that the caller gave, if the file gives the sizes of a product but not its
// type.
static const char *take_type(struct import *in, struct foreign *f, const struct problem *told)
{
    struct problem *p = &f->problem, whole = *told, ignored;
    struct error unused;
    char text[PROBLEM_TEXT];
    if (told->number_count)
        whole = (struct problem){.in = told->in, .out = told->out, .batch = 1};
    whole.m = p->m;
    whole.n = p->n;
    whole.k = p->k;
    problem_format(text, &whole);
    if (problem_parse(&ignored, text, &unused))
        return "--problem does not go with its M, N and K";
    *p = whole;
    in->report.typed++;
    return NULL;
}

// Decides the benchmark's problem: the one that it states; or else three bare numbers; or else
// --problem. Bare numbers that are no problem become a part of the name. Returns NULL, or why there
// is no problem.
static const char *settle_problem(struct import *in, struct foreign *f)
{
    const struct problem *told = in->source->problem;
    struct problem *p = &f->problem;
    const int said = (p->m > 0) + (p->n > 0) + (p->k > 0);
    const bool three =
        said == 0 && f->number_count == 3 && f->number[0] && f->number[1] && f->number[2];
    if (three) {
        p->m = f->number[0];
        p->n = f->number[1];
        p->k = f->number[2];
    } else if (said < 3 && told && (told->m || told->number_count)) {
        f->said_type = f->typed ? dtype_name(p->in) : "";
        *p = *told;
        in->report.told++;
    } else if (said == 0) {
        return "names no problem; it needs MxNxK:TYPE, or M, N and K, in its name or "
               "arguments, or say it with --problem=MxNxK:TYPE";
    } else if (said < 3) {
        return "has not all of M, N and K";
    }
    if (f->odd && (said || three))
        return "its type is none that a problem has; leave it out with --exclude";
    if (told && !f->typed && (said == 3 || three))
        return take_type(in, f, told);
    if (p->batch == 0)
        p->batch = 1;
    return NULL;
}

// Completes the name with bare numbers that are not the problem. A name that is too long ends in a
// hash of all of it. What the file says about the problem where --problem overrides it also goes
// into the name, so that it is not lost.
static void settle_told(struct foreign *f)
{
    static const char *const names[] = {"m", "n", "k"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        char text[24];
        const int64_t *said = dimension(f, names[i]);
        snprintf(text, sizeof(text), "%lld", (long long)*said);
        if (*said)
            foreign_part(f, names[i], text);
    }
}

static void settle_name(struct foreign *f, bool told)
{
    if (f->settled)
        return;
    f->settled = true;
    const bool said = f->problem.m || f->problem.n || f->problem.k;
    if (told && said && !(f->problem.m && f->problem.n && f->problem.k))
        settle_told(f);
    if (f->number_count && (said || f->number_count != 3))
        foreign_part(f, NULL, f->numbers);
    if (f->odd && !said && f->number_count != 3)
        foreign_part(f, NULL, f->odd);
    if (f->length >= FOREIGN_NAME_TEXT)
        snprintf(f->kernel + FOREIGN_NAME_TEXT - 10, 10, "-%08x", (unsigned)(f->hash >> 32));
    for (size_t end = strlen(f->kernel); end > 0 && f->kernel[end - 1] == '-'; end--)
        f->kernel[end - 1] = '\0';
}

// Whether the pattern matches the kernel's name, or the benchmark's own name, which messages show.
static bool is_called(const struct foreign *f, const char *pattern)
{
    return fnmatch(pattern, f->kernel, 0) == 0 || fnmatch(pattern, f->name, 0) == 0;
}

static bool is_wanted(const struct import *in, struct foreign *f)
{
    const struct import_source *source = in->source;
    settle_name(f, source->problem != NULL);
    return (!source->kernel || is_called(f, source->kernel)) &&
           (!source->exclude || !is_called(f, source->exclude));
}

int foreign_leave(struct import *in, struct foreign *f, size_t rows, const char *what,
                  struct error *err)
{
    in->report.rows += rows;
    if (!is_wanted(in, f)) {
        in->report.unwanted += rows;
        return 0;
    }
    refuse(in, f, what, err);
    return import_leave(in, rows, err);
}

void foreign_label(struct foreign *f, const char *name, const char *value)
{
    if (f->label_count == FOREIGN_LABELS)
        return;
    f->label[f->label_count++] = (struct foreign_label){name, value};
}

static bool is_time(double time_ns)
{
    return time_ns > 0 && time_ns <= SAMPLE_TIME_NS;
}

// Copies the times that a launch can take, and returns their number.
static size_t sound_times(double *out, const double *times_ns, size_t count)
{
    size_t sound = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_time(times_ns[i]))
            out[sound++] = times_ns[i];
    }
    return sound;
}

static void keep(struct import *in, const struct foreign *f, const double *times_ns, size_t count)
{
    struct arena *arena = &in->run.arena;
    in->times = xgrow(in->times, in->times_count, &in->times_room, sizeof(*in->times));
    struct foreign_times *t = &in->times[in->times_count];
    *t = (struct foreign_times){.of = *f,
                                .order = in->times_count++,
                                .line = in->line,
                                .offset = in->offset,
                                .times_ns = times_ns,
                                .count = count};
    char problem[PROBLEM_TEXT];
    problem_format(problem, &f->problem);
    t->problem = arena_strdup(arena, problem);
    t->of.name = arena_strdup(arena, f->name);
    t->of.detail = arena_strdup(arena, f->detail ? f->detail : "imported");
    // The type that --problem overrides becomes a label, so that it is not lost.
    t->of.label_count = f->label_count + (f->said_type != NULL);
    t->of.label = arena_alloc(arena, t->of.label_count * sizeof(*f->label));
    if (f->said_type)
        t->of.label[0] = (struct foreign_label){"t", f->said_type};
    for (size_t i = 0, to = f->said_type != NULL; i < f->label_count; i++, to++)
        t->of.label[to] = (struct foreign_label){arena_strdup(arena, f->label[i].name),
                                                 arena_strdup(arena, f->label[i].value)};
}

int foreign_add(struct import *in, struct foreign *f, const double *times_ns, size_t count,
                struct error *err)
{
    if (in->crowded)
        return import_limit(in, IMPORT_DEVICES + 1, IMPORT_DEVICES, "devices", err);
    in->sampled += count;
    in->named += strlen(f->name);
    if (import_limit(in, in->times_count, IMPORT_RESULTS, "benchmarks", err) ||
        import_limit(in, in->named, IMPORT_NAMES, "bytes of names", err) ||
        import_limit(in, in->sampled, IMPORT_TIMES, "times", err))
        return -1;
    const bool failed = f->state != MEASURED_OK;
    const size_t rows = failed || count == 0 ? 1 : count;
    if (!is_wanted(in, f))
        return foreign_leave(in, f, rows, "", err);
    if (!f->kernel[0])
        return foreign_leave(in, f, rows, "has no name of letters or digits", err);
    const char *why = settle_problem(in, f);
    if (why)
        return foreign_leave(in, f, rows, why, err);
    double *sound = arena_alloc(&in->run.arena, (count ? count : 1) * sizeof(*sound));
    const size_t good = failed ? 0 : sound_times(sound, times_ns, count);
    if (!failed && good < rows &&
        foreign_leave(in, f, rows - good,
                      count ? "a time that is not above 0 and below 30 years" : "has no time", err))
        return -1;
    in->report.rows += failed ? 1 : good;
    if (failed || good)
        keep(in, f, sound, good);
    return 0;
}

static int by_series(const void *left, const void *right)
{
    const struct foreign_times *a = left, *b = right;
    int order = strcmp(a->of.kernel, b->of.kernel);
    if (order == 0)
        order = strcmp(a->problem, b->problem);
    if (order == 0)
        order = (a->of.device > b->of.device) - (a->of.device < b->of.device);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool same_series(const struct foreign_times *a, const struct foreign_times *b)
{
    return strcmp(a->of.kernel, b->of.kernel) == 0 &&
           problem_equal(&a->of.problem, &b->of.problem) && a->of.device == b->of.device;
}

// Appends samples to the measurement, in the order of the file.
static void put_samples(struct measurement *m, struct arena *arena,
                        const struct foreign_times *times, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += times[i].count;
    m->samples = arena_alloc(arena, total * sizeof(*m->samples));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < times[i].count; k++, m->count++)
            m->samples[m->count] =
                import_sample(times[i].times_ns[k], times[i].of.clock_hz, (uint32_t)m->count);
    }
}

// ---- rows with one series name that differ in their labels ----

static const char *label_of(const struct foreign *f, const char *name)
{
    for (size_t i = 0; i < f->label_count; i++) {
        if (strcmp(f->label[i].name, name) == 0)
            return f->label[i].value;
    }
    return "";
}

static bool label_differs(const struct foreign_times *times, size_t count, const char *name)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(label_of(&times[i].of, name), label_of(&times[0].of, name)) != 0)
            return true;
    }
    return false;
}

// Makes the label a part of the name and removes it from the labels: two of its values may give the
// same part, and it must not be tried again.
static void add_part(struct foreign *f, const char *name)
{
    const char *value = label_of(f, name);
    f->length = f->length < FOREIGN_NAME_TEXT ? strlen(f->kernel) : f->length;
    f->number_count = 0;
    f->odd = NULL;
    foreign_part(f, name, value);
    for (size_t i = 0; i < f->label_count; i++) {
        if (strcmp(f->label[i].name, name) == 0)
            f->label[i].value = "";
    }
    f->settled = false;
    settle_name(f, false);
}

// Looks for a label that tells rows of one series apart. If there is one, every row of the kernel
// gets it, so that all its series are named in the same way. False: there is none left.
static bool tell_kernel_apart(struct foreign_times *times, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && same_series(&times[from], &times[to]);)
            to++;
        for (size_t i = 0; i < times[from].of.label_count; i++) {
            const char *label = times[from].of.label[i].name;
            if (!label_differs(&times[from], to - from, label))
                continue;
            for (size_t k = 0; k < count; k++)
                add_part(&times[k].of, label);
            return true;
        }
    }
    return false;
}

static bool tell_once_apart(struct import *in)
{
    bool any = false;
    for (size_t from = 0, to; from < in->times_count; from = to) {
        for (to = from + 1; to < in->times_count &&
                            strcmp(in->times[from].of.kernel, in->times[to].of.kernel) == 0;)
            to++;
        any |= tell_kernel_apart(&in->times[from], to - from);
    }
    return any;
}

static void tell_apart(struct import *in)
{
    do
        qsort(in->times, in->times_count, sizeof(*in->times), by_series);
    while (tell_once_apart(in));
}

// Leaves out rows of other benchmarks whose names became the same; the rows of the first one stay.
static int leave_strangers(struct import *in, struct foreign_times *times, size_t *count,
                           struct error *err)
{
    size_t kept = 1;
    for (size_t i = 1; i < *count; i++) {
        if (strcmp(times[i].of.name, times[0].of.name) == 0) {
            times[kept++] = times[i];
            continue;
        }
        in->line = times[i].line;
        in->offset = times[i].offset;
        const size_t line = in->report.left < IMPORT_TOLD ? line_of(in) : 0;
        char where[24] = "";
        if (line)
            snprintf(where, sizeof(where), ":%zu", line);
        error_set(err,
                  "%.200s%s: '%.100s' and '%.100s' would be one series, %s: import them "
                  "apart with --exclude, or give them other names",
                  in->name, where, times[0].of.name, times[i].of.name, times[0].of.kernel);
        if (import_leave(in, times[i].count ? times[i].count : 1, err))
            return -1;
    }
    *count = kept;
    return 0;
}

static int save_series(struct import *in, struct foreign_times *times, size_t count,
                       struct error *err)
{
    if (leave_strangers(in, times, &count, err))
        return -1;
    const struct foreign_times *shown = &times[0];
    in->line = shown->line;
    for (size_t i = 1; i < count && shown->of.state != MEASURED_OK; i++)
        shown = times[i].of.state == MEASURED_OK ? &times[i] : shown;
    struct result r = {.problem = shown->of.problem, .device = shown->of.device};
    text_copy(r.kernel, sizeof(r.kernel), shown->of.kernel);
    r.head = (struct measurement){.state = shown->of.state,
                                  .max_error = NAN,
                                  .tolerance = NAN,
                                  .regime = shown->of.regime,
                                  .detail = shown->of.detail};
    for (size_t i = 0; i < count; i++) {
        in->report.samples += times[i].count;
        in->report.failures += times[i].of.state != MEASURED_OK;
    }
    if (r.head.state == MEASURED_OK)
        put_samples(&r.head, &in->run.arena, times, count);
    return import_result(in, &r, err);
}

// A hash over the rows of a run. It identifies the run if a file holds several.
static uint64_t hash_times(const struct import *in)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < in->times_count; i++) {
        const struct foreign_times *t = &in->times[i];
        hash = hash_text(hash, t->of.kernel);
        hash = hash_bytes(hash, (const char *)t->times_ns, t->count * sizeof(*t->times_ns));
    }
    return hash;
}

int foreign_end(struct import *in, struct error *err)
{
    char hash[17], uid[STORE_UID_TEXT];
    const struct run *run = &in->run;
    if (in->times_count == 0)
        return 0;
    tell_apart(in);
    in->hash = in->hash ? in->hash : hash_times(in);
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)in->hash);
    const char *identity[] = {in->tool, run->head.id, hash, in->source->device};
    import_uid(uid, identity, ARRAY_COUNT(identity));
    if (import_begin(in, uid, err))
        return -1;
    int status = 0;
    for (size_t from = 0, to; status == 0 && from < in->times_count; from = to) {
        for (to = from + 1; to < in->times_count && same_series(&in->times[from], &in->times[to]);)
            to++;
        status = save_series(in, &in->times[from], to - from, err);
    }
    return status;
}
