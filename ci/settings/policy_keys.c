// SPDX-License-Identifier: Apache-2.0
//
// One table says what the policy may hold: section, key, type, where it goes, and its range. A new
// key is one line of the table and one field.
#include "ci/settings/policy_keys.h"
#include "ci/settings/policy_owners.h"
#include "ci/settings/policy_values.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum type {
    TYPE_TEXT,
    TYPE_TEXTS, // struct { const char **; size_t } in a row; the key may repeat
    TYPE_COUNT, // uint32_t
    TYPE_INDEX, // int
    TYPE_SECONDS,
    TYPE_BYTES,
    TYPE_SEED,
    TYPE_FRACTION, // "0.3%", "0.3 %" or 0.003
    TYPE_BOOL,
    TYPE_CHOICE, // bool: false for the first word, true for the second
    TYPE_WORD,   // the word itself, one of two
    TYPE_SANDBOX,
    TYPE_PROBLEMS,
    TYPE_PARTS,
    TYPE_SETTINGS, // as TYPE_TEXTS, each VARIABLE=VALUE
    TYPE_URL,      // http or https, one %s at most
    TYPE_SLURM,    // what sbatch takes
    TYPE_HEADER    // the section's own line
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
    {"toolchain", "", OWN_TOOLCHAIN, TYPE_HEADER, 0, 0, 0, {0}},
    {"toolchain", "set", OWN_TOOLCHAIN, TYPE_SETTINGS, AT(policy_toolchain, settings), 0, 0, {0}},
    {"toolchain", "prefix", OWN_TOOLCHAIN, TYPE_TEXT, AT(policy_toolchain, prefix), 0, 0, {0}},
    {"toolchain",
     "container",
     OWN_TOOLCHAIN,
     TYPE_TEXT,
     AT(policy_toolchain, container),
     0,
     0,
     {0}},
    {"device", "", OWN_DEVICE, TYPE_HEADER, 0, 0, 0, {0}},
    {"device", "kind", OWN_DEVICE, TYPE_WORD, AT(policy_device, kind), 0, 0, {"host", "cuda"}},
    {"device", "index", OWN_DEVICE, TYPE_INDEX, AT(policy_device, index), 0, 1023, {0}},
    {"device", "units", OWN_DEVICE, TYPE_COUNT, AT(policy_device, units), 1, UNITS_MOST, {0}},
    {"device", "profile", OWN_DEVICE, TYPE_TEXT, AT(policy_device, profile), 0, 0, {0}},
    {"device", "exact", OWN_DEVICE, TYPE_BOOL, AT(policy_device, exact), 0, 0, {0}},
    {"device", "required", OWN_DEVICE, TYPE_BOOL, AT(policy_device, required), 0, 0, {0}},
    {"problems", "", OWN_SET, TYPE_HEADER, 0, 0, 0, {0}},
    {"problems", "problem", OWN_SET, TYPE_PROBLEMS, 0, 0, 0, {0}},
    {"kernel", "", OWN_KERNEL, TYPE_HEADER, 0, 0, 0, {0}},
    {"kernel", "problems", OWN_KERNEL, TYPE_TEXTS, AT(policy_kernel, sets), 0, 0, {0}},
    {"kernel", "device", OWN_KERNEL, TYPE_TEXTS, AT(policy_kernel, devices), 0, 0, {0}},
    {"kernel", "control", OWN_KERNEL, TYPE_BOOL, AT(policy_kernel, control), 0, 0, {0}},
    {"kernel", "skip", OWN_KERNEL, TYPE_BOOL, AT(policy_kernel, skip), 0, 0, {0}},
    {"kernel",
     "trust",
     OWN_KERNEL,
     TYPE_CHOICE,
     AT(policy_kernel, device_code),
     0,
     0,
     {"library", "device-code"}},
    {"kernel", "margin", OWN_KERNEL, TYPE_FRACTION, AT(policy_kernel, margin), 1e-4, 1, {0}},
    {"kernel", "max-pairs", OWN_KERNEL, TYPE_COUNT, AT(policy_kernel, max_pairs), 16, 1e5, {0}},
    {"library", "", OWN_LIBRARY, TYPE_HEADER, 0, 0, 0, {0}},
    {"library", "skip", OWN_LIBRARY, TYPE_BOOL, AT(policy_library, skip), 0, 0, {0}},
    {"mix", "", OWN_MIX, TYPE_HEADER, 0, 0, 0, {0}},
    {"mix", "problem", OWN_MIX, TYPE_PARTS, 0, 0, 0, {0}},
    {"mix", "kernel", OWN_MIX, TYPE_TEXT, AT(policy_mix, kernel), 0, 0, {0}},
    {"mix", "margin", OWN_MIX, TYPE_FRACTION, AT(policy_mix, margin), 1e-4, 1, {0}},
    {"gate", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"gate", "margin", OWN_POLICY, TYPE_FRACTION, AT(policy, gate.margin), 1e-4, 1, {0}},
    {"gate", "alpha", OWN_POLICY, TYPE_FRACTION, AT(policy, gate.alpha), 1e-12, 0.5, {0}},
    {"gate", "max-pairs", OWN_POLICY, TYPE_COUNT, AT(policy, gate.max_pairs), 16, 1e5, {0}},
    {"gate", "processes", OWN_POLICY, TYPE_COUNT, AT(policy, gate.processes), 1, 8, {0}},
    {"gate", "seconds", OWN_POLICY, TYPE_COUNT, AT(policy, gate.seconds), 1, 86400, {0}},
    {"gate", "self-test", OWN_POLICY, TYPE_COUNT, AT(policy, gate.self_test), 0, 1000, {0}},
    {"gate",
     "undecided",
     OWN_POLICY,
     TYPE_CHOICE,
     AT(policy, gate.undecided_passes),
     0,
     0,
     {"fail", "pass"}},
    {"gate",
     "removed",
     OWN_POLICY,
     TYPE_CHOICE,
     AT(policy, gate.removed_allowed),
     0,
     0,
     {"fail", "allow"}},
    {"gate",
     "accept",
     OWN_POLICY,
     TYPE_CHOICE,
     AT(policy, gate.accept_base),
     0,
     0,
     {"head", "base"}},
    {"gate", "static", OWN_POLICY, TYPE_CHOICE, AT(policy, gate.static_off), 0, 0, {"auto", "off"}},
    {"measure", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"measure", "samples", OWN_POLICY, TYPE_COUNT, AT(policy, samples), 3, 1e5, {0}},
    {"measure", "timeout", OWN_POLICY, TYPE_SECONDS, AT(policy, timeout_s), 1, 86400, {0}},
    {"measure", "model", OWN_POLICY, TYPE_TEXT, AT(policy, model), 0, 0, {0}},
    {"measure", "bias", OWN_POLICY, TYPE_TEXT, AT(policy, bias), 0, 0, {0}},
    {"measure", "seed", OWN_POLICY, TYPE_SEED, AT(policy, seed_given), 0, 0, {0}},
    {"history", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"history", "link", OWN_POLICY, TYPE_WORD, AT(policy, link), 0, 0, {"off", "on"}},
    {"history", "search", OWN_POLICY, TYPE_COUNT, AT(policy, search_s), 0, 86400, {0}},
    {"history", "sick", OWN_POLICY, TYPE_FRACTION, AT(policy, sick), 0, 10, {0}},
    {"report", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"report", "commit-url", OWN_POLICY, TYPE_URL, AT(policy, commit_url), 0, 0, {0}},
    {"report", "site-url", OWN_POLICY, TYPE_URL, AT(policy, site_url), 0, 0, {0}},
    {"fleet", "", OWN_NOTHING, TYPE_HEADER, 0, 0, 0, {0}},
    {"fleet", "tasks", OWN_POLICY, TYPE_COUNT, AT(policy, fleet.tasks), 1, 1e5, {0}},
    {"fleet", "partition", OWN_POLICY, TYPE_SLURM, AT(policy, fleet.partition), 0, 0, {0}},
    {"fleet", "gres", OWN_POLICY, TYPE_SLURM, AT(policy, fleet.gres), 0, 0, {0}},
    {"fleet", "time", OWN_POLICY, TYPE_SLURM, AT(policy, fleet.time), 0, 0, {0}},
    {"fleet", "account", OWN_POLICY, TYPE_SLURM, AT(policy, fleet.account), 0, 0, {0}},
#undef AT
};

struct reading {
    struct policy *policy;
    const struct config_entry *entry;
    const struct key *key;
    const char *label;
};

static int refuse(const struct reading *r, struct error *err, const char *why)
{
    const struct config_entry *e = r->entry;
    return error_set(err, "%s:%u: %s.%s = %.80s: %s", r->label, e->line, e->section, e->key,
                     e->value ? e->value : "", why);
}

// ---- values ----

static int read_number(int64_t *out, const struct reading *r, struct error *err)
{
    char why[80];
    snprintf(why, sizeof(why), "needs a whole number from %.0f to %.0f", r->key->min, r->key->max);
    if (config_int(out, r->entry->value) || (double)*out < r->key->min ||
        (double)*out > r->key->max)
        return refuse(r, err, why);
    return 0;
}

static int read_fraction(double *out, const struct reading *r, struct error *err)
{
    char why[80];
    double value;
    snprintf(why, sizeof(why), "needs a number from %g%% to %g%%, such as 0.3%%", r->key->min * 100,
             r->key->max * 100);
    if (fraction_parse(&value, r->entry->value) || !(value >= r->key->min && value <= r->key->max))
        return refuse(r, err, why);
    *out = value;
    return 0;
}

static int read_word(const struct reading *r, struct error *err)
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

static int read_problem(struct policy_set *set, const struct reading *r, struct error *err)
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

static int read_part(struct policy_mix *mix, const struct reading *r, struct error *err)
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

static int read_text(const char **out, const struct reading *r, struct error *err)
{
    if (!r->entry->value || !*r->entry->value)
        return refuse(r, err, "needs a value");
    *out = arena_strdup(&r->policy->arena, r->entry->value);
    return 0;
}

static int read_url(const char **out, const struct reading *r, struct error *err)
{
    const char *why = address_fault(r->entry->value);
    return why ? refuse(r, err, why) : read_text(out, r, err);
}

// "gpu,big", "gpu:h200:1", "2-00:30:00".
static int read_slurm(const char **out, const struct reading *r, struct error *err)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *value = r->entry->value ? r->entry->value : "";
    for (const char *c = value; *c; c++) {
        if (!strchr(most, *c) && (c == value || !strchr("-:,.+=*", *c)))
            return refuse(r, err, "needs a word as sbatch takes it, such as gpu:1");
    }
    return read_text(out, r, err);
}

static int read_texts(void *field, const struct reading *r, struct error *err)
{
    const char *text = NULL;
    if (read_text(&text, r, err))
        return -1;
    size_t *count = (size_t *)(void *)((char *)field + sizeof(void *));
    const char **slot = policy_grow(&r->policy->arena, field, count, sizeof(text));
    *slot = text;
    return 0;
}

static int read_setting(void *field, const struct reading *r, struct error *err)
{
    const char *why = setting_fault(r->entry->value);
    return why ? refuse(r, err, why) : read_texts(field, r, err);
}

static int read_whole(void *field, const struct reading *r, struct error *err)
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

static int read_value(void *field, const struct reading *r, struct error *err)
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
    case TYPE_FRACTION:
        return read_fraction(field, r, err);
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

static int unknown(const struct reading *r, struct error *err)
{
    const struct config_entry *e = r->entry;
    bool section_known = false;
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        section_known |= strcmp(keys[i].section, e->section) == 0;
    if (!section_known)
        return error_set(err,
                         "%s:%u: unknown section [%.40s]; there are build, toolchain, device, "
                         "problems, kernel, library, mix, gate, measure, history, report and fleet",
                         r->label, e->line, e->section);
    return error_set(err,
                     "%s:%u: unknown key %.40s in [%.40s]; `plumb init --print` shows all keys",
                     r->label, e->line, e->key, e->section);
}

int policy_read_entry(struct policy *policy, const struct config_entry *entry, const char *label,
                      struct error *err)
{
    struct reading reading = {policy, entry, NULL, label}, *r = &reading;
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

bool policy_may_repeat(const struct config_entry *e)
{
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (!strcmp(keys[i].section, e->section) && !strcmp(keys[i].key, e->key))
            return keys[i].type == TYPE_HEADER || keys[i].type == TYPE_TEXTS ||
                   keys[i].type == TYPE_PROBLEMS || keys[i].type == TYPE_SETTINGS ||
                   keys[i].type == TYPE_PARTS;
    }
    return true; // unknown: read_entry says so
}
