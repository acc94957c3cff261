// SPDX-License-Identifier: Apache-2.0
//
// The policy: a table that says how each key's value reaches its field; then the whole policy is
// read, checked, and queried.
#include "ci/settings/policy.h"

#include "ci/settings/metric.h"
#include "model/config.h"
#include "model/gate/gate.h"
#include "model/result.h"
#include "runner/build/build.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- parsing values that are more than a word or a number; `text` NULL: the key has none ----

// Parses "0.3%", "0.3 %" or 0.003. -1: it is none of these.
static int fraction_parse(double *out, const char *text)
{
    char number[40];
    double value, scale = 1;
    if (!text || !text_copy(number, sizeof(number), text))
        return -1;
    char *percent = strchr(number, '%');
    if (percent && !percent[1]) {
        scale = 0.01;
        *percent = '\0';
        while (percent > number && percent[-1] == ' ')
            *--percent = '\0';
    }
    if (parse_double(&value, number))
        return -1;
    *out = value * scale;
    return 0;
}

// Parses a weight above 0 and a problem: "0.35 64x7168x2048:e4m3-bf16".
static int mix_part_parse(struct policy_mix_part *out, const char *text, struct error *err)
{
    struct policy_mix_part part;
    char weight[32];
    const size_t length = strcspn(text ? text : "", " \t");
    const bool fits = snprintf(weight, sizeof(weight), "%.*s", (int)length, text ? text : "") <
                      (int)sizeof(weight);
    if (!text || !fits || parse_double(&part.weight, weight) ||
        !(part.weight > 0 && part.weight <= 1e9))
        return error_set(err,
                         "needs a weight above 0 and a problem, such as 0.35 64x7168x2048:bf16");
    if (problem_parse(&part.problem, text + length + strspn(text + length, " \t"), err))
        return -1;
    *out = part;
    return 0;
}

// Why a text is no address for links, NULL when it is one: http or https, at most one %s, which
// stands for a commit's id, and no character with a meaning in a page or a comment.
static const char *address_fault(const char *text)
{
    const char *url = text ? text : "";
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    const char *place = strstr(url, "%s");
    if (!scheme || !url[scheme] || url[scheme] == '/')
        return "needs an address that begins with https:// or http://";
    for (const char *c = url; *c; c++) {
        if (*c <= ' ' || *c >= 127 || strchr("\"'<>\\^`{|}()", *c))
            return "has a character that no address has; write it as %XX";
    }
    return place && strstr(place + 2, "%s") ? "has more than one %s" : NULL;
}

// Why a text is no VARIABLE=VALUE that a toolchain may set, NULL when it is one. A toolchain may
// not set variables that plumb itself sets for builds (PATH, HOME, PLUMB_... and so on).
static const char *setting_fault(const char *text)
{
    static const char *const ours[] = {
        "PATH=", "HOME=", "TMPDIR=", "LC_ALL=", "PLUMB_", "SOURCE_DATE_EPOCH="};
    const size_t name = text ? strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789_")
                             : 0;
    if (!name || text[name] != '=' || (*text >= '0' && *text <= '9'))
        return "needs VARIABLE=VALUE, such as NVCC_APPEND_FLAGS=-maxrregcount=64";
    for (size_t i = 0; i < ARRAY_COUNT(ours); i++) {
        if (strncmp(text, ours[i], strlen(ours[i])) == 0)
            return "is set by plumb for every build (a toolchain's prefix comes first in PATH)";
    }
    return NULL;
}

// Why a text is no name of a toolchain, NULL when it is one. Reports, keys and command lines use
// such a name unchanged.
static const char *toolchain_name_fault(const char *name)
{
    if (!toolchain_name_sound(name))
        return "a toolchain's name has at most 39 letters, digits and ._+-";
    return strcmp(name, TOOLCHAIN_DEFAULT) == 0 ? "that is what [build] alone is called" : NULL;
}

// ---- finding a named section's item, or adding it ----

// The struct that a section's keys fill.
enum owner {
    OWN_POLICY,
    OWN_TOOLCHAIN,
    OWN_DEVICE,
    OWN_SET,
    OWN_KERNEL,
    OWN_LIBRARY,
    OWN_MIX,
    OWN_CAPTURE,
    OWN_METRIC,
    OWN_NOTHING
};

// Adds a zeroed item to an array of the arena and returns it. `items` is the address of the array's
// pointer.
static void *policy_grow(struct arena *arena, void *items, size_t *count, size_t size)
{
    char *grown = arena_alloc(arena, (*count + 1) * size);
    void *old;
    memcpy(&old, items, sizeof(old));
    if (*count)
        memcpy(grown, old, *count * size);
    memcpy(items, &grown, sizeof(grown));
    return grown + (*count)++ * size;
}

// Finds an item by its name or adds one. Every named item begins with its name, so one search
// serves all kinds.
static void *named_item(struct policy *p, void *items, size_t *count, size_t size, const char *name,
                        bool *made)
{
    char *at;
    memcpy(&at, items, sizeof(at));
    for (size_t i = 0; i < *count; i++, at += size) {
        const char *held;
        memcpy(&held, at, sizeof(held));
        if (strcmp(held, name) == 0)
            return at;
    }
    *made = true;
    at = policy_grow(&p->arena, items, count, size);
    const char *copy = arena_strdup(&p->arena, name);
    memcpy(at, &copy, sizeof(copy));
    return at;
}

// The struct that the section [owner "name"] fills; it is made if it does not exist. A section
// without a name fills the policy itself.
static void *policy_owner(struct policy *p, enum owner owner, const char *name)
{
    bool made = false;
    if (owner == OWN_TOOLCHAIN)
        return named_item(p, &p->toolchains, &p->toolchain_count, sizeof(*p->toolchains), name,
                          &made);
    if (owner == OWN_SET)
        return named_item(p, &p->sets, &p->set_count, sizeof(*p->sets), name, &made);
    if (owner == OWN_KERNEL)
        return named_item(p, &p->kernels, &p->kernel_count, sizeof(*p->kernels), name, &made);
    if (owner == OWN_MIX)
        return named_item(p, &p->mixes, &p->mix_count, sizeof(*p->mixes), name, &made);
    if (owner == OWN_CAPTURE)
        return named_item(p, &p->captures, &p->capture_count, sizeof(*p->captures), name, &made);
    if (owner == OWN_METRIC) {
        struct policy_metric *metric =
            named_item(p, &p->metrics, &p->metric_count, sizeof(*p->metrics), name, &made);
        if (made) {
            metric->margin = metric->least = -1;
            metric->builds = 3;
        }
        return metric;
    }
    if (owner == OWN_LIBRARY)
        return named_item(p, &p->libraries, &p->library_count, sizeof(*p->libraries), name, &made);
    if (owner == OWN_DEVICE) {
        struct policy_device *device =
            named_item(p, &p->devices, &p->device_count, sizeof(*p->devices), name, &made);
        if (made) {
            device->kind = "host";
            device->required = true;
        }
        return device;
    }
    return p;
}

double metric_margin(const struct policy_metric *metric)
{
    return metric->margin >= 0 ? metric->margin : metric->metric->margin;
}

double metric_least(const struct policy_metric *metric)
{
    // If a policy gives only a margin for a figure that never varies, then only that margin counts.
    const bool steady =
        metric->metric->of == METRIC_OF_LIBRARY || metric->metric->of == METRIC_OF_CODE;
    return metric->least >= 0              ? metric->least
           : steady && metric->margin >= 0 ? 0
                                           : metric->metric->least;
}

// ---- keys ----

// One table says what the policy may contain: section, key, type, destination and range. Most of it
// is made from the lists of policy.h.

enum type {
    TYPE_TEXT,
    TYPE_TEXTS, // struct { const char **; size_t }; the key may be repeated
    TYPE_COUNT, // uint32_t
    TYPE_INDEX, // int
    TYPE_SECONDS,
    TYPE_BYTES,
    TYPE_SEED,
    TYPE_FRACTION,  // "0.3%", "0.3 %" or 0.003
    TYPE_TOLERANCE, // the same, or "type": CAPTURE_BY_TYPE
    TYPE_AMOUNT,    // 1.5, or a whole number with k, m or g
    TYPE_BOOL,
    TYPE_CHOICE, // bool: false for the first word, true for the second
    TYPE_WORD,   // the word itself, one of two
    TYPE_SANDBOX,
    TYPE_PROBLEMS,
    TYPE_PARTS,
    TYPE_SETTINGS, // like TYPE_TEXTS, each VARIABLE=VALUE
    TYPE_URL,      // http or https, one %s at most
    TYPE_REGIMES,  // names of regimes: uint32_t, one bit for each
    TYPE_LOOKS,    // the same, or "none": POLICY_NO_LOOKS
    TYPE_SLURM,    // a value that sbatch accepts
    TYPE_HEADER    // the section's header line
};

static const struct key {
    const char *section, *key; // key "": the section's header
    enum owner owner;
    enum type type;
    size_t offset;
    double min, max;
    const char *words[2];
} keys[] = {
#define AT(type, member) offsetof(struct type, member)
#define ROW(section, owner, thing, within, type, member, key, kind, min, max, no, yes, ...)        \
    {section, key, owner, TYPE_##kind, AT(thing, within member), min, max, {no, yes}},
    {"build", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"build", "input", OWN_POLICY, TYPE_TEXTS, AT(policy, recipe.inputs), 0, 0, {0}},
    {"build", "without", OWN_POLICY, TYPE_TEXTS, AT(policy, recipe.without), 0, 0, {0}},
    {"build", "command", OWN_POLICY, TYPE_TEXT, AT(policy, recipe.command), 0, 0, {0}},
    {"build", "output", OWN_POLICY, TYPE_TEXT, AT(policy, recipe.outputs), 0, 0, {0}},
    {"build", "timeout", OWN_POLICY, TYPE_SECONDS, AT(policy, recipe.timeout_s), 1, 86400, {0}},
    {"build", "memory", OWN_POLICY, TYPE_BYTES, AT(policy, recipe.memory_bytes), 1e6, 1e15, {0}},
    {"build", "disk", OWN_POLICY, TYPE_BYTES, AT(policy, recipe.disk_bytes), 1e6, 1e15, {0}},
    {"build", "sandbox", OWN_POLICY, TYPE_SANDBOX, AT(policy, sandbox), 0, 0, {0}},
    {"build", "overlay", OWN_POLICY, TYPE_TEXT, AT(policy, overlay), 0, 0, {0}},
    {"build", "pass", OWN_POLICY, TYPE_TEXTS, AT(policy, recipe.environment), 0, 0, {0}},
    {"device", "", OWN_DEVICE, TYPE_HEADER, 0, 0, 0, {0}},
    {"problems", "", OWN_SET, TYPE_HEADER, 0, 0, 0, {0}},
    {"problems", "problem", OWN_SET, TYPE_PROBLEMS, 0, 0, 0, {0}},
    {"kernel", "", OWN_KERNEL, TYPE_HEADER, 0, 0, 0, {0}},
    {"kernel", "problems", OWN_KERNEL, TYPE_TEXTS, AT(policy_kernel, sets), 0, 0, {0}},
    {"kernel", "device", OWN_KERNEL, TYPE_TEXTS, AT(policy_kernel, devices), 0, 0, {0}},
    {"capture", "", OWN_CAPTURE, TYPE_HEADER, 0, 0, 0, {0}},
    {"library", "", OWN_LIBRARY, TYPE_HEADER, 0, 0, 0, {0}},
    {"mix", "", OWN_MIX, TYPE_HEADER, 0, 0, 0, {0}},
    {"mix", "problem", OWN_MIX, TYPE_PARTS, 0, 0, 0, {0}},
    {"metric", "", OWN_METRIC, TYPE_HEADER, 0, 0, 0, {0}},
    {"toolchain", "", OWN_TOOLCHAIN, TYPE_HEADER, 0, 0, 0, {0}},
    {"toolchain", "set", OWN_TOOLCHAIN, TYPE_SETTINGS, AT(policy_toolchain, settings), 0, 0, {0}},
    {"gate", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"measure", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"history", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"report", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"fleet", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
// clang-format off
#define X(...) ROW("device", OWN_DEVICE, policy_device, , __VA_ARGS__, )
    POLICY_DEVICE(X)
#undef X
#define X(...) ROW("problems", OWN_SET, policy_set, , __VA_ARGS__, )
    POLICY_SET(X)
#undef X
#define X(...) ROW("kernel", OWN_KERNEL, policy_kernel, , __VA_ARGS__, )
    POLICY_KERNEL(X)
#undef X
#define X(...) ROW("capture", OWN_CAPTURE, policy_capture, , __VA_ARGS__, )
    POLICY_CAPTURE(X)
#undef X
#define X(...) ROW("library", OWN_LIBRARY, policy_library, , __VA_ARGS__, )
    POLICY_LIBRARY(X)
#undef X
#define X(...) ROW("mix", OWN_MIX, policy_mix, , __VA_ARGS__, )
    POLICY_MIX(X)
#undef X
#define X(...) ROW("metric", OWN_METRIC, policy_metric, , __VA_ARGS__, )
    POLICY_METRIC(X)
#undef X
#define X(...) ROW("toolchain", OWN_TOOLCHAIN, policy_toolchain, , __VA_ARGS__, )
    POLICY_TOOLCHAIN(X)
#undef X
#define X(...) ROW("gate", OWN_POLICY, policy, gate., __VA_ARGS__, )
    POLICY_GATE(X)
#undef X
#define X(...) ROW("measure", OWN_POLICY, policy, , __VA_ARGS__, )
    POLICY_MEASURE(X)
#undef X
#define X(...) ROW("history", OWN_POLICY, policy, , __VA_ARGS__, )
    POLICY_HISTORY(X)
#undef X
#define X(...) ROW("report", OWN_POLICY, policy, , __VA_ARGS__, )
    POLICY_REPORT(X)
#undef X
#define X(...) ROW("fleet", OWN_POLICY, policy, fleet., __VA_ARGS__, )
    POLICY_FLEET(X)
#undef X
// clang-format on
#undef ROW
#undef AT
};

struct policy_reading {
    struct policy *policy;
    const struct config_entry *entry;
    const struct key *key;
    const char *label;
};

static int refuse(const struct policy_reading *r, struct error *err, const char *why)
{
    const struct config_entry *e = r->entry;
    return error_set(err, "%s:%u: %s.%s = %.80s: %s", r->label, e->line, e->section, e->key,
                     e->value ? e->value : "", why);
}

// ---- values ----

static int read_number(int64_t *out, const struct policy_reading *r, struct error *err)
{
    static const double large = 1 << 20;
    char why[120];
    snprintf(why, sizeof(why), "needs a whole number from %.0f to %.0f%s", r->key->min, r->key->max,
             r->key->max > large ? "; k, m and g behind it are 1024 and its powers" : "");
    if (config_int(out, r->entry->value) || (double)*out < r->key->min ||
        (double)*out > r->key->max)
        return refuse(r, err, why);
    return 0;
}

// Whether a margin without a % sign could be meant in two ways. 0.003 can only mean 0.3 %, because
// no margin is as small as 0.003 %. But 0.3 may be meant as 0.3 %, and would be 30 %.
static bool has_two_readings(const struct policy_reading *r, double value)
{
    static const double least_percent = 0.01; // for the keys above
    return strcmp(r->key->key, "margin") == 0 && !strchr(r->entry->value, '%') &&
           value >= least_percent;
}

static int read_fraction(double *out, const struct policy_reading *r, struct error *err)
{
    char why[100];
    double value;
    snprintf(why, sizeof(why), "needs a number from %g%% to %g%%, such as 0.3%%", r->key->min * 100,
             r->key->max * 100);
    if (fraction_parse(&value, r->entry->value) || !(value >= r->key->min && value <= r->key->max))
        return refuse(r, err, why);
    if (has_two_readings(r, value)) {
        snprintf(why, sizeof(why), "is %g %% or %g %%; write %g%% or %g%%", value, value * 100,
                 value, value * 100);
        return refuse(r, err, why);
    }
    *out = value;
    return 0;
}

static int read_tolerance(double *out, const struct policy_reading *r, struct error *err)
{
    if (r->entry->value && strcmp(r->entry->value, "type") == 0) {
        *out = CAPTURE_BY_TYPE;
        return 0;
    }
    return fraction_parse(out, r->entry->value)
               ? refuse(r, err, "is type, or a number from 0% to 100%, such as 0.3%")
               : read_fraction(out, r, err);
}

static int read_amount(double *out, const struct policy_reading *r, struct error *err)
{
    char why[80];
    int64_t whole;
    double value = NAN;
    if (r->entry->value && config_int(&whole, r->entry->value) == 0)
        value = (double)whole;
    else if (!r->entry->value || parse_double(&value, r->entry->value))
        value = NAN;
    snprintf(why, sizeof(why), "needs a number from %g to %g", r->key->min, r->key->max);
    if (!(value >= r->key->min && value <= r->key->max))
        return refuse(r, err, why);
    *out = value;
    return 0;
}

static int read_word(const struct policy_reading *r, struct error *err)
{
    const char *value = r->entry->value ? r->entry->value : "";
    for (int i = 0; i < 2; i++) {
        if (strcmp(value, r->key->words[i]) == 0)
            return i;
    }
    char why[80];
    snprintf(why, sizeof(why), "is either %s or %s", r->key->words[0], r->key->words[1]);
    return refuse(r, err, why);
}

static int read_problem(struct policy_set *set, const struct policy_reading *r, struct error *err)
{
    struct problem problem;
    struct error why;
    if (problem_parse(&problem, r->entry->value ? r->entry->value : "", &why))
        return error_set(err, "%s:%u: %s", r->label, r->entry->line, why.text);
    struct problem *slot =
        policy_grow(&r->policy->arena, &set->problems, &set->count, sizeof(*set->problems));
    *slot = problem;
    return 0;
}

static int read_part(struct policy_mix *mix, const struct policy_reading *r, struct error *err)
{
    struct policy_mix_part part;
    struct error why;
    if (mix_part_parse(&part, r->entry->value, &why))
        return refuse(r, err, why.text);
    for (size_t i = 0; i < mix->count; i++) {
        if (problem_equal(&mix->parts[i].problem, &part.problem))
            return refuse(r, err, "the problem is in this mix already");
    }
    struct policy_mix_part *slot =
        policy_grow(&r->policy->arena, &mix->parts, &mix->count, sizeof(*mix->parts));
    *slot = part;
    return 0;
}

static int read_regimes(uint32_t *out, const struct policy_reading *r, struct error *err)
{
    static const char between[] = " \t,";
    const bool looks = r->key->type == TYPE_LOOKS;
    const char *at = r->entry->value ? r->entry->value : "";
    for (at += strspn(at, between); *at; at += strspn(at, between)) {
        const size_t length = strcspn(at, between);
        char word[16];
        enum regime regime;
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (looks && strcasecmp(word, "none") == 0)
            *out |= POLICY_NO_LOOKS;
        else if (length >= sizeof(word) || regime_parse(&regime, word))
            return refuse(r, err,
                          looks ? "is none, or of stream, isolated, dirty, warm, activations, cold"
                                : "is stream, isolated, dirty, warm, activations or cold");
        else
            *out |= 1u << regime;
        at += length;
    }
    return *out ? 0 : refuse(r, err, "names no regime");
}

static int read_text(const char **out, const struct policy_reading *r, struct error *err)
{
    if (!r->entry->value || !*r->entry->value)
        return refuse(r, err, "needs a value");
    *out = arena_strdup(&r->policy->arena, r->entry->value);
    return 0;
}

static int read_url(const char **out, const struct policy_reading *r, struct error *err)
{
    const char *why = address_fault(r->entry->value);
    return why ? refuse(r, err, why) : read_text(out, r, err);
}

// Reads a value for sbatch: "gpu,big", "gpu:h200:1", "2-00:30:00".
static int read_slurm(const char **out, const struct policy_reading *r, struct error *err)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *value = r->entry->value ? r->entry->value : "";
    for (const char *c = value; *c; c++) {
        if (!strchr(most, *c) && (c == value || !strchr("-:,.+=*", *c)))
            return refuse(r, err, "needs a word as sbatch takes it, such as gpu:1");
    }
    return read_text(out, r, err);
}

static int read_texts(void *field, const struct policy_reading *r, struct error *err)
{
    const char *text = NULL;
    if (read_text(&text, r, err))
        return -1;
    size_t *count = (size_t *)(void *)((char *)field + sizeof(void *));
    const char **slot = policy_grow(&r->policy->arena, field, count, sizeof(text));
    *slot = text;
    return 0;
}

static int read_setting(void *field, const struct policy_reading *r, struct error *err)
{
    const char *why = setting_fault(r->entry->value);
    return why ? refuse(r, err, why) : read_texts(field, r, err);
}

static int read_whole(void *field, const struct policy_reading *r, struct error *err)
{
    int64_t number;
    if (read_number(&number, r, err))
        return -1;
    switch (r->key->type) {
    case TYPE_COUNT:
        *(uint32_t *)field = (uint32_t)number;
        return 0;
    case TYPE_INDEX:
        *(int *)field = (int)number;
        return 0;
    case TYPE_BYTES:
        *(uint64_t *)field = (uint64_t)number;
        return 0;
    default:
        *(double *)field = (double)number;
        return 0;
    }
}

static int read_value(void *field, const struct policy_reading *r, struct error *err)
{
    int word;
    int64_t seed;
    switch (r->key->type) {
    case TYPE_HEADER:
        return 0;
    case TYPE_TEXT:
        return read_text(field, r, err);
    case TYPE_TEXTS:
        return read_texts(field, r, err);
    case TYPE_SETTINGS:
        return read_setting(field, r, err);
    case TYPE_COUNT:
    case TYPE_INDEX:
    case TYPE_BYTES:
    case TYPE_SECONDS:
        return read_whole(field, r, err);
    case TYPE_SEED:
        if (config_int(&seed, r->entry->value) || seed < 0)
            return refuse(r, err, "needs a whole number, 0 or more");
        *(bool *)field = true;
        return 0;
    case TYPE_TOLERANCE:
        return read_tolerance(field, r, err);
    case TYPE_FRACTION:
        return read_fraction(field, r, err);
    case TYPE_AMOUNT:
        return read_amount(field, r, err);
    case TYPE_BOOL:
        return config_bool(field, r->entry->value) ? refuse(r, err, "needs true or false") : 0;
    case TYPE_CHOICE:
    case TYPE_WORD:
        if ((word = read_word(r, err)) < 0)
            return -1;
        if (r->key->type == TYPE_CHOICE)
            *(bool *)field = word == 1;
        else
            *(const char **)field = r->key->words[word];
        return 0;
    case TYPE_SANDBOX:
        if (!r->entry->value || sandbox_mode_parse(field, r->entry->value))
            return refuse(r, err, "is auto, require or off");
        return 0;
    case TYPE_REGIMES:
    case TYPE_LOOKS:
        return read_regimes(field, r, err);
    case TYPE_SLURM:
        return read_slurm(field, r, err);
    case TYPE_URL:
        return read_url(field, r, err);
    case TYPE_PROBLEMS:
        return read_problem(field, r, err);
    case TYPE_PARTS:
        return read_part(field, r, err);
    }
    return 0;
}

static int unknown(const struct policy_reading *r, struct error *err)
{
    const struct config_entry *e = r->entry;
    bool section_known = false;
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        section_known |= strcmp(keys[i].section, e->section) == 0;
    if (!section_known)
        return error_set(err,
                         "%s:%u: unknown section [%.40s]; there are build, toolchain, device, "
                         "problems, kernel, capture, library, mix, metric, gate, measure, history, "
                         "report and fleet",
                         r->label, e->line, e->section);
    return error_set(err,
                     "%s:%u: unknown key %.40s in [%.40s]; `plumb init --print` shows all keys",
                     r->label, e->line, e->key, e->section);
}

// Puts one entry into the policy; unknown keys and bad values are errors with label:line.
static int policy_read_entry(struct policy *policy, const struct config_entry *entry,
                             const char *label, struct error *err)
{
    struct policy_reading reading = {policy, entry, NULL, label}, *r = &reading;
    const struct config_entry *e = entry;
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (strcmp(keys[i].section, e->section) || strcmp(keys[i].key, e->key))
            continue;
        r->key = &keys[i];
        bool named = r->key->owner != OWN_POLICY && r->key->owner != OWN_NOTHING;
        if (named && !*e->subsection)
            return error_set(err, "%s:%u: [%s] needs a name: [%s \"...\"]", r->label, e->line,
                             e->section, e->section);
        return read_value(
            (char *)policy_owner(policy, r->key->owner, e->subsection) + r->key->offset, r, err);
    }
    return unknown(r, err);
}

// Whether an entry may occur twice: lists and section headers may, other keys may not.
static bool policy_may_repeat(const struct config_entry *e)
{
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (!strcmp(keys[i].section, e->section) && !strcmp(keys[i].key, e->key))
            return keys[i].type == TYPE_HEADER || keys[i].type == TYPE_TEXTS ||
                   keys[i].type == TYPE_PROBLEMS || keys[i].type == TYPE_SETTINGS ||
                   keys[i].type == TYPE_PARTS || keys[i].type == TYPE_REGIMES ||
                   keys[i].type == TYPE_LOOKS;
    }
    return true; // it is unknown, which policy_read_entry() reports
}

// Refuses the same key twice in one section, which is a mistake unless it is a list.
static int check_repeats(const struct config_file *config, struct error *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *a = &config->entries[i];
        if (policy_may_repeat(a))
            continue;
        for (size_t j = i + 1; j < config->count; j++) {
            const struct config_entry *b = &config->entries[j];
            if (!strcmp(a->section, b->section) && !strcmp(a->subsection, b->subsection) &&
                !strcmp(a->key, b->key))
                return error_set(err, "%s:%u: %s.%s is given twice, first on line %u",
                                 config->label, b->line, b->section, b->key, a->line);
        }
    }
    return 0;
}

// ---- the whole policy ----

static void set_defaults(struct policy *policy)
{
    policy->recipe.outputs = "*.so";
    policy->recipe.timeout_s = 600;
    policy->sandbox = SANDBOX_UNSAID;
    policy->gate = (struct policy_gate){.alpha = gate_defaults.alpha,
                                        .max_pairs = gate_defaults.max_pairs,
                                        .processes = gate_defaults.processes,
                                        .seconds = 600,
                                        .self_test = 3};
    policy->fleet.tasks = 8;
    policy->samples = 24;
    policy->timeout_s = 60;
    policy->search_s = 300;
    policy->sick = POLICY_SICK;
    policy->model = "sol";
}

static bool device_named(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->device_count; i++) {
        if (strcmp(policy->devices[i].name, name) == 0)
            return true;
    }
    return false;
}

// Whether some set has the problem, in any regime. *near: a problem there that has the same sizes,
// or NULL.
static bool in_some_set(const struct problem **near, const struct policy *p,
                        const struct problem *problem)
{
    const struct problem wanted = problem_in(problem, REGIME_COLD);
    *near = NULL;
    for (size_t s = 0; s < p->set_count; s++) {
        for (size_t i = 0; i < p->sets[s].count; i++) {
            const struct problem *there = &p->sets[s].problems[i];
            const struct problem work = problem_in(there, REGIME_COLD);
            if (problem_equal(&work, &wanted))
                return true;
            if (work.m == wanted.m && work.n == wanted.n && work.k == wanted.k)
                *near = there;
        }
    }
    return false;
}

static int refuse_mix(const struct policy *p, const struct policy_mix *mix, size_t part,
                      const struct problem *near, struct error *err)
{
    char own[PROBLEM_TEXT], other[PROBLEM_TEXT] = "";
    problem_format(own, &mix->parts[part].problem);
    if (near)
        problem_format(other, near);
    return error_set(err,
                     "%s: [mix \"%.60s\"]: its problem %zu, %s, is in no [problems] section, so "
                     "nothing measures it%s%s%s",
                     p->label, mix->name, part + 1, own, near ? "; " : "", other,
                     near ? " is there" : "");
}

static int check_toolchains(const struct policy *p, struct error *err)
{
    for (size_t i = 0; i < p->toolchain_count; i++) {
        const struct policy_toolchain *t = &p->toolchains[i];
        const char *fault = toolchain_name_fault(t->name);
        if (!fault && t->prefix && (t->prefix[0] != '/' || strstr(t->prefix, "/..")))
            fault = "its prefix is an absolute folder, without ..";
        if (!fault && t->container && !container_name_sound(t->container))
            fault = "its container is an image's name, such as docker.io/nvidia/cuda:13.0.1-devel";
        if (fault)
            return error_set(err, "%s: [toolchain \"%.60s\"]: %s", p->label, t->name, fault);
    }
    return 0;
}

// Finds the kind of each metric by its name.
static int find_metrics(struct policy *p, struct error *err)
{
    for (size_t i = 0; i < p->metric_count; i++) {
        struct policy_metric *m = &p->metrics[i];
        const char *what = m->what ? m->what : m->name;
        m->metric = metric_find(what);
        if (strlen(m->name) > 60 || strpbrk(m->name, " \t:*?"))
            return error_set(err,
                             "%s: [metric \"%.60s\"]: its name is a word of at most 60 letters",
                             p->label, m->name);
        if (!m->metric)
            return error_set(err, "%s: [metric \"%.60s\"]: what = %.40s is no metric; there are %s",
                             p->label, m->name, what, metric_words(&p->arena));
        if (m->metric->of == METRIC_OF_BUILD && m->kernel)
            return error_set(err,
                             "%s: [metric \"%.60s\"]: %s is of a whole build, and of no kernel; "
                             "leave `kernel` out",
                             p->label, m->name, what);
    }
    return 0;
}

// ---- captures ----

static int refuse_capture(const struct policy *p, const struct policy_capture *c, const char *why,
                          struct error *err)
{
    return error_set(err, "%s: [capture \"%.60s\"]: %s", p->label, c->name, why);
}

static bool is_capture_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t length = strlen(name);
    return length && length <= 63 && strspn(name, allowed) == length && !strchr("_.-", name[0]);
}

enum { RULES_OF_A_CAPTURE = 2 };

// Makes of a capture a set with its problem, and the rules for its name and for the names of its
// further shapes, NAME.2.
static int add_capture(struct policy_kernel rules[RULES_OF_A_CAPTURE], struct policy *p,
                       const struct policy_capture *c, struct error *err)
{
    struct problem problem;
    struct error why;
    if (!is_capture_name(c->name))
        return refuse_capture(p, c, "its name is of a-z, 0-9, _.- and at most 63 long", err);
    if (!c->command)
        return refuse_capture(p, c, "it has no command to run", err);
    if (!c->kernel == !c->range)
        return refuse_capture(p, c, "name its kernel or its range, one of both", err);
    if (problem_parse_named(&problem, c->problem ? c->problem : "capture=1:fp32", &why))
        return refuse_capture(p, c, why.text, err);
    if (policy_set_find(p, c->name))
        return refuse_capture(p, c, "a [problems] section has this name", err);
    struct policy_set *set = policy_grow(&p->arena, &p->sets, &p->set_count, sizeof(*p->sets));
    *set = (struct policy_set){.name = c->name,
                               .problems = arena_copy(&p->arena, &problem, sizeof(problem)),
                               .count = c->problem ? 1 : 0}; // otherwise a build tells the problem
    rules[0] = (struct policy_kernel){.pattern = c->name,
                                      .sets = arena_copy(&p->arena, &c->name, sizeof(c->name)),
                                      .set_count = 1,
                                      .device_code = true,
                                      .regimes = c->regimes,
                                      .margin = c->margin};
    rules[1] = rules[0];
    rules[1].pattern = arena_printf(&p->arena, "%s.[0-9]*", c->name);
    return 0;
}

// Makes the rules of all captures, which come before the rules with patterns.
static int add_captures(struct policy *p, struct error *err)
{
    const size_t count = RULES_OF_A_CAPTURE * p->capture_count;
    struct policy_kernel *rules =
        arena_alloc(&p->arena, (count + p->kernel_count + 1) * sizeof(*rules));
    for (size_t i = 0; i < p->capture_count; i++) {
        if (add_capture(&rules[RULES_OF_A_CAPTURE * i], p, &p->captures[i], err))
            return -1;
    }
    if (p->kernel_count)
        memcpy(rules + count, p->kernels, p->kernel_count * sizeof(*rules));
    p->kernels = rules;
    p->kernel_count += count;
    return 0;
}

// Names the place where the section of this pattern has this key with this value: label:line, or
// only the label if the section has no such entry.
static const char *place_of(struct policy *p, const struct config_file *config, const char *pattern,
                            const char *key, const char *name)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *e = &config->entries[i];
        if (!strcmp(e->section, "kernel") && !strcmp(e->subsection, pattern) &&
            !strcmp(e->key, key) && e->value && !strcmp(e->value, name))
            return arena_printf(&p->arena, "%s:%u", p->label, e->line);
    }
    return p->label;
}

static int check_references(struct policy *p, const struct config_file *config, struct error *err)
{
    if (!p->recipe.command && !p->capture_count)
        return error_set(err, "%s: no build.command: how do your kernels become libraries?",
                         p->label);
    if (!p->device_count)
        return error_set(
            err,
            "%s: no [device \"...\"] section; a GPU's is [device \"gpu\"] with kind = cuda, the "
            "CPU's [device \"host\"] with kind = host",
            p->label);
    if (!p->kernel_count)
        return error_set(err, "%s: no [kernel \"...\"] section", p->label);
    for (size_t i = 0; i < p->mix_count; i++) {
        if (!p->mixes[i].count)
            return error_set(err, "%s: [mix \"%.60s\"] has no problem", p->label, p->mixes[i].name);
        for (size_t j = 0; j < p->mixes[i].count; j++) {
            const struct problem *near;
            if (!in_some_set(&near, p, &p->mixes[i].parts[j].problem))
                return refuse_mix(p, &p->mixes[i], j, near, err);
        }
    }
    for (size_t i = 0; i < p->kernel_count; i++) {
        const struct policy_kernel *k = &p->kernels[i];
        if (!k->set_count && !k->skip)
            return error_set(err, "%s: [kernel \"%.60s\"] names no problems", p->label, k->pattern);
        for (size_t j = 0; j < k->set_count; j++) {
            const struct policy_set *set = policy_set_find(p, k->sets[j]);
            if (!set || !set->problems) // the problem of a capture may not be known yet
                return error_set(err, "%s: [kernel \"%.60s\"]: there is no [problems \"%.60s\"]",
                                 place_of(p, config, k->pattern, "problems", k->sets[j]),
                                 k->pattern, k->sets[j]);
        }
        for (size_t j = 0; j < k->device_count; j++) {
            if (!device_named(p, k->devices[j]))
                return error_set(err, "%s: [kernel \"%.60s\"]: there is no [device \"%.60s\"]",
                                 place_of(p, config, k->pattern, "device", k->devices[j]),
                                 k->pattern, k->devices[j]);
        }
    }
    return 0;
}

int policy_parse(struct policy *out, const char *text, size_t size, const char *label,
                 struct error *err)
{
    struct policy policy = {0};
    struct config_file config = {0};
    if (config_parse(&config, text, size, label, err))
        return -1;
    int status = -1;
    set_defaults(&policy);
    policy.label = arena_strdup(&policy.arena, label);
    policy.text = arena_strndup(&policy.arena, text, size);
    if (check_repeats(&config, err))
        goto done;
    for (size_t i = 0; i < config.count; i++) {
        if (policy_read_entry(&policy, &config.entries[i], label, err))
            goto done;
    }
    if (add_captures(&policy, err) || find_metrics(&policy, err) ||
        check_toolchains(&policy, err) || check_references(&policy, &config, err))
        goto done;
    *out = policy;
    status = 0;
done:
    config_free(&config);
    if (status)
        policy_free(&policy);
    return status;
}

int policy_load(struct policy *out, const char *path, struct error *err)
{
    struct stat st;
    char *text = NULL;
    int status = -1;
    // Opening a pipe would wait otherwise.
    const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = opened < 0 ? NULL : fdopen(opened, "rb");
    if (!file)
        return error_set(err, "%s: %s; %s", path, strerror(errno),
                         errno == ENOENT ? "`plumb init` writes one" : "make it readable");
    if (fstat(fileno(file), &st) || !S_ISREG(st.st_mode)) {
        error_set(err, "%s: not a regular file; a policy is a file as `plumb init` writes", path);
        goto done;
    }
    const size_t limit = 1 << 20;
    text = xcalloc(1, limit + 1);
    size_t size = fread(text, 1, limit + 1, file);
    if (ferror(file) || size > limit) {
        error_set(err, "%s: %s", path, size > limit ? "larger than 1 MiB" : strerror(errno));
        goto done;
    }
    status = policy_parse(out, text, size, path, err);
done:
    fclose(file);
    free(text);
    return status;
}

void policy_free(struct policy *policy)
{
    arena_free(&policy->arena);
    memset(policy, 0, sizeof(*policy));
}

// ---- the stricter of two policies ----

enum { JOINED_MOST = 1 << 16 }; // sections of kernels or libraries

static bool passes(const struct policy *policy, const char *name)
{
    for (size_t i = 0; policy && i < policy->recipe.environment_count; i++) {
        if (strcmp(policy->recipe.environment[i], name) == 0)
            return true;
    }
    return false;
}

// Gives a toolchain the container that the trusted branch names for it, or marks its own as
// foreign: an image on this machine may hold secrets, and a build could carry them out in a
// library. True: the trusted branch does not name the toolchain's container.
static bool confine_toolchain(struct policy_toolchain *t, const struct policy *trusted)
{
    const struct policy_toolchain *known = trusted ? policy_toolchain_find(trusted, t->name) : NULL;
    const bool same =
        t->container && known && known->container && strcmp(known->container, t->container) == 0;
    if (t->container && known && known->container)
        t->container = known->container;
    else
        t->foreign = t->container;
    return t->container && !same;
}

static bool has_problem(const struct policy_set *set, const struct problem *problem)
{
    for (size_t i = 0; i < set->count; i++) {
        if (problem_equal(&set->problems[i], problem))
            return true;
    }
    return false;
}

// The value after the named regimes: the usual regime of the device's kind.
enum { REGIME_USUAL = REGIMES };

static uint32_t join_regimes(uint32_t ours, uint32_t trusted)
{
    const uint32_t usual = 1u << REGIME_USUAL;
    return ours == trusted ? ours : (ours ? ours : usual) | (trusted ? trusted : usual);
}

// Joins sets of one name; the result has the problems of both.
static void join_sets(struct policy *policy, const struct policy *trusted)
{
    for (size_t i = 0; i < trusted->set_count; i++) {
        const struct policy_set *theirs = &trusted->sets[i];
        const bool both = policy_set_find(policy, theirs->name) != NULL;
        struct policy_set *set = policy_owner(policy, OWN_SET, theirs->name);
        if (!both)
            set->regimes = theirs->regimes;
        else if (set->regimes != theirs->regimes)
            set->regimes = join_regimes(set->regimes ? set->regimes : policy->gate.regimes,
                                        theirs->regimes ? theirs->regimes : trusted->gate.regimes);
        for (size_t j = 0; j < theirs->count; j++) {
            if (has_problem(set, &theirs->problems[j]))
                continue;
            struct problem *added =
                policy_grow(&policy->arena, &set->problems, &set->count, sizeof(*added));
            *added = theirs->problems[j];
        }
    }
}

static void join_devices(struct policy *policy, const struct policy *trusted)
{
    for (size_t i = 0; i < trusted->device_count; i++) {
        const struct policy_device *theirs = &trusted->devices[i];
        const bool both = device_named(policy, theirs->name);
        struct policy_device *device = policy_owner(policy, OWN_DEVICE, theirs->name);
        const bool required = theirs->required || (both && device->required);
        *device = *theirs;
        device->required = required;
    }
}

// The margin that counts: the trusted one, or ours if that is smaller for any kernel. 0: chosen by
// the device and the time (gate_policy_default()).
static double join_margins(double ours, double trusted)
{
    const double least = trusted > 0 ? trusted : gate_policy_default("cuda", 1e6).margin / 2;
    return ours > 0 && ours < least ? ours : trusted;
}

static const char **join_names(size_t *count, const char **ours, size_t our_count,
                               const char **theirs, size_t their_count, struct arena *arena)
{
    const char **names = arena_alloc(arena, (our_count + their_count + 1) * sizeof(*names));
    *count = 0;
    for (size_t i = 0; i < our_count + their_count; i++) {
        const char *name = i < our_count ? ours[i] : theirs[i - our_count];
        bool known = false;
        for (size_t j = 0; j < *count; j++)
            known |= strcmp(names[j], name) == 0;
        if (!known)
            names[(*count)++] = name;
    }
    return names;
}

// The rule for kernels to which one rule of each policy applies.
static struct policy_kernel join_rules(const struct policy *policy, const struct policy_kernel *a,
                                       const struct policy *trusted, const struct policy_kernel *b,
                                       struct arena *arena)
{
    const double margin_a = a->margin > 0 ? a->margin : policy->gate.margin;
    const double margin_b = b->margin > 0 ? b->margin : trusted->gate.margin;
    struct policy_kernel rule = a->skip ? *b : *a;
    rule.pattern = a->pattern;
    rule.also = b->pattern;
    rule.control = b->control;
    rule.device_code = (!a->skip && a->device_code) || (!b->skip && b->device_code);
    rule.margin = a->skip ? margin_b : b->skip ? margin_a : join_margins(margin_a, margin_b);
    rule.max_pairs = a->max_pairs > b->max_pairs ? a->max_pairs : b->max_pairs;
    if (a->skip || b->skip)
        return rule;
    rule.regimes = join_regimes(a->regimes ? a->regimes : policy->gate.regimes,
                                b->regimes ? b->regimes : trusted->gate.regimes);
    rule.sets = join_names(&rule.set_count, a->sets, a->set_count, b->sets, b->set_count, arena);
    if (a->device_count && b->device_count)
        rule.devices = join_names(&rule.device_count, a->devices, a->device_count, b->devices,
                                  b->device_count, arena);
    else
        rule.device_count = 0;
    return rule;
}

static bool trusts_device_code(const struct policy *policy)
{
    for (size_t i = 0; i < policy->kernel_count; i++) {
        if (policy->kernels[i].device_code)
            return true;
    }
    return false;
}

// Joins the rules for kernels. In each policy a kernel's first matching rule counts. So the result
// has the pairs of rules, in the order of the first policy and then of the second, each for kernels
// that match both. Rules of kernels that only one policy has come last.
static void join_kernels(struct policy *policy, const struct policy *trusted)
{
    struct arena *arena = &policy->arena;
    const size_t most = (policy->kernel_count + 1) * (trusted->kernel_count + 1);
    const bool records = trusts_device_code(trusted);
    struct policy_kernel *joined = arena_alloc(arena, most * sizeof(*joined));
    size_t count = 0;
    for (size_t i = 0; i < policy->kernel_count; i++) {
        const struct policy_kernel *ours = &policy->kernels[i];
        bool covered = false; // the rest of the kernels that it is for
        for (size_t j = 0; j < trusted->kernel_count && !covered; j++) {
            const struct policy_kernel *theirs = &trusted->kernels[j];
            joined[count++] = join_rules(policy, ours, trusted, theirs, arena);
            covered = strcmp(theirs->pattern, ours->pattern) == 0;
        }
        if (covered)
            continue;
        joined[count] = *ours;
        joined[count].device_code |= records && !ours->skip;
        joined[count++].margin = join_margins(ours->margin > 0 ? ours->margin : policy->gate.margin,
                                              trusted->gate.margin);
    }
    for (size_t j = 0; j < trusted->kernel_count; j++) {
        joined[count] = trusted->kernels[j];
        if (!(joined[count].margin > 0))
            joined[count].margin = trusted->gate.margin;
        count++;
    }
    policy->kernels = joined;
    policy->kernel_count = count;
}

// Leaves a library out only if both policies do.
static void join_libraries(struct policy *policy, const struct policy *trusted)
{
    const size_t most = policy->library_count * trusted->library_count;
    struct policy_library *joined = arena_alloc(&policy->arena, (most + 1) * sizeof(*joined));
    size_t count = 0;
    for (size_t i = 0; i < policy->library_count; i++) {
        for (size_t j = 0; j < trusted->library_count; j++) {
            joined[count] = policy->libraries[i];
            joined[count].also = trusted->libraries[j].pattern;
            joined[count++].skip &= trusted->libraries[j].skip;
        }
    }
    policy->libraries = joined;
    policy->library_count = count;
}

static void join_mixes(struct policy *policy, const struct policy *trusted)
{
    for (size_t i = 0; i < trusted->mix_count; i++) {
        struct policy_mix *mix = policy_owner(policy, OWN_MIX, trusted->mixes[i].name);
        *mix = trusted->mixes[i];
    }
}

// A metric that both policies name is that of `trusted`, with the smaller of the two allowances.
static void join_metrics(struct policy *policy, const struct policy *trusted)
{
    for (size_t i = 0; i < trusted->metric_count; i++) {
        struct policy_metric *metric = policy_owner(policy, OWN_METRIC, trusted->metrics[i].name);
        const struct policy_metric ours = *metric;
        *metric = trusted->metrics[i];
        if (ours.metric != metric->metric || ours.higher != metric->higher)
            continue;
        metric->margin = fmin(metric_margin(&ours), metric_margin(metric));
        metric->least = fmin(metric_least(&ours), metric_least(metric));
    }
}

// A program that both policies capture is captured as `trusted` says.
static void join_captures(struct policy *policy, const struct policy *trusted)
{
    for (size_t i = 0; i < policy->capture_count; i++) {
        for (size_t j = 0; j < trusted->capture_count; j++) {
            if (strcmp(policy->captures[i].name, trusted->captures[j].name) == 0)
                policy->captures[i] = trusted->captures[j];
        }
    }
}

#define JOIN_TRUSTED(ours, trusted) trusted
#define JOIN_LARGER(ours, trusted)  ((ours) > (trusted) ? (ours) : (trusted))
#define JOIN_BOTH(ours, trusted)    ((ours) && (trusted))
#define JOIN_EITHER(ours, trusted)  ((ours) || (trusted))
#define JOIN_MARGIN(ours, trusted)  join_margins(ours, trusted)
#define JOIN_REGIMES(ours, trusted) join_regimes(ours, trusted)

static void join_gates(struct policy_gate *gate, const struct policy_gate *trusted)
{
#define X(type, member, key, kind, min, max, no, yes, join)                                        \
    gate->member = JOIN_##join(gate->member, trusted->member);
    POLICY_GATE(X)
#undef X
}

static int join(struct policy *policy, const struct policy *trusted, struct error *err)
{
    if ((policy->kernel_count + 1) * (trusted->kernel_count + 1) > JOINED_MOST ||
        (policy->library_count + 1) * (trusted->library_count + 1) > JOINED_MOST)
        return error_set(err,
                         "%s: %zu [kernel] and %zu [library] sections, which count beside those of "
                         "%s: too many; write fewer, with wider globs",
                         policy->label, policy->kernel_count, policy->library_count,
                         trusted->label);
    join_sets(policy, trusted);
    join_devices(policy, trusted);
    join_kernels(policy, trusted); // uses the margins of both gates
    join_libraries(policy, trusted);
    join_captures(policy, trusted);
    join_mixes(policy, trusted);
    join_metrics(policy, trusted);
    join_gates(&policy->gate, &trusted->gate);
    recipe_confine(&policy->recipe, &trusted->recipe);
    policy->timeout_s = fmin(policy->timeout_s, trusted->timeout_s);
    policy->samples = trusted->samples;
    policy->search_s = trusted->search_s;
    policy->sick = trusted->sick;
    policy->fleet = trusted->fleet;
    return 0;
}

int policy_confine(bool *changed, struct policy *policy, const struct policy *trusted,
                   struct error *err)
{
    // "auto" allows a stranger's pull request to run without a sandbox if there is none.
    static const int strictness[] = {
        [SANDBOX_OFF] = 0, [SANDBOX_AUTO] = 1, [SANDBOX_UNSAID] = 2, [SANDBOX_REQUIRE] = 3};
    const enum sandbox_mode least = trusted ? trusted->sandbox : SANDBOX_UNSAID;
    *changed = trusted || strictness[policy->sandbox] < strictness[least];
    if (strictness[policy->sandbox] < strictness[least])
        policy->sandbox = least;
    struct recipe *recipe = &policy->recipe;
    const char **names =
        arena_alloc(&policy->arena, (recipe->environment_count + 1) * sizeof(*names));
    size_t kept = 0;
    for (size_t i = 0; i < recipe->environment_count; i++) {
        if (passes(trusted, recipe->environment[i]))
            names[kept++] = recipe->environment[i];
    }
    *changed |= kept < recipe->environment_count;
    recipe->environment = names;
    recipe->environment_count = kept;
    for (size_t i = 0; i < policy->toolchain_count; i++)
        *changed |= confine_toolchain(&policy->toolchains[i], trusted);
    // Reports lead their readers there.
    policy->commit_url = trusted ? trusted->commit_url : NULL;
    policy->site_url = trusted ? trusted->site_url : NULL;
    return trusted ? join(policy, trusted, err) : 0;
}

// ---- queries ----

static bool matches(const char *pattern, const char *also, const char *name)
{
    return fnmatch(pattern, name, 0) == 0 && (!also || fnmatch(also, name, 0) == 0);
}

static const struct policy_kernel *first_match(const struct policy *policy, const char *kernel)
{
    for (size_t i = 0; i < policy->kernel_count; i++) {
        if (matches(policy->kernels[i].pattern, policy->kernels[i].also, kernel))
            return &policy->kernels[i];
    }
    return NULL;
}

bool policy_captures_alone(const struct policy *policy)
{
    return policy->capture_count &&
           policy->kernel_count == RULES_OF_A_CAPTURE * policy->capture_count;
}

const struct policy_kernel *policy_rule(const struct policy *policy, const char *kernel,
                                        const struct policy_device *device)
{
    const struct policy_kernel *rule = first_match(policy, kernel);
    if (!rule || rule->skip)
        return NULL;
    for (size_t j = 0; j < rule->device_count; j++) {
        if (strcmp(rule->devices[j], device->name) == 0)
            return rule;
    }
    return rule->device_count ? NULL : rule;
}

const char *policy_kernel_owner(const struct policy *policy, const char *kernel)
{
    const struct policy_kernel *rule = first_match(policy, kernel);
    return rule ? rule->owner : NULL;
}

bool policy_skips(const struct policy *policy, const char *kernel)
{
    const struct policy_kernel *rule = first_match(policy, kernel);
    return rule && rule->skip;
}

bool policy_skips_library(const struct policy *policy, const char *library)
{
    const char *slash = strrchr(library, '/');
    for (size_t i = 0; i < policy->library_count; i++) {
        const struct policy_library *rule = &policy->libraries[i];
        if (matches(rule->pattern, rule->also, slash ? slash + 1 : library))
            return rule->skip;
    }
    return false;
}

const struct policy_toolchain *policy_toolchain_find(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->toolchain_count; i++) {
        if (strcmp(policy->toolchains[i].name, name) == 0)
            return &policy->toolchains[i];
    }
    return NULL;
}

const struct policy_set *policy_set_find(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->set_count; i++) {
        if (strcmp(policy->sets[i].name, name) == 0)
            return &policy->sets[i];
    }
    return NULL;
}

size_t policy_regimes(enum regime out[REGIMES], const struct policy *policy, const char *kind,
                      const struct policy_kernel *rule, const struct policy_set *set,
                      const struct problem *problem)
{
    uint32_t named = policy->gate.regimes;
    size_t count = 0;
    if (set && set->regimes)
        named = set->regimes;
    if (rule->regimes)
        named = rule->regimes;
    if (problem->regime_named)
        named = 1u << problem->regime;
    if (!named || named & 1u << REGIME_USUAL)
        named |= 1u << regime_usual(kind);
    for (int i = 0; i < REGIMES; i++) {
        if (named & 1u << i)
            out[count++] = (enum regime)i;
    }
    return count;
}

struct policy_gate policy_gate_for(const struct policy *policy, const struct policy_kernel *rule)
{
    struct policy_gate gate = policy->gate;
    if (rule->margin > 0)
        gate.margin = rule->margin;
    if (rule->max_pairs)
        gate.max_pairs = rule->max_pairs;
    return gate;
}
