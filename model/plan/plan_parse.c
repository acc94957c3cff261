// SPDX-License-Identifier: Apache-2.0
//
// Reads a plan in two passes: names first, so that a launch may stand above what it uses, then what
// they stand for. [let] alone goes by the order of the text. At the end it is held together.
#include "model/plan/plan_read.h"

#include <stdio.h>
#include <string.h>

enum { SECTIONS_MAX = 64 };

const char *plan_text(const struct plan_reader *r)
{
    return r->entry->value ? r->entry->value : "";
}

int plan_refuse(const struct plan_reader *r, const char *format, ...)
{
    struct error what;
    va_list list;
    va_start(list, format);
    vsnprintf(what.text, sizeof(what.text), format, list);
    va_end(list);
    const struct config_entry *e = r->entry;
    return error_set(r->err, "%.200s:%u: [%.40s]%s%.40s: %.640s", r->plan->label, e->line,
                     e->section, *e->key ? " " : "", e->key, what.text);
}

// ---- names ----

static bool is_name(const char *text, const char *letters)
{
    return *text && strspn(text, letters) == strlen(text) && strlen(text) <= 40;
}

static int new_value(struct plan_reader *r)
{
    static const char *const taken[] = {"ceil_div", "round_up", "min", "max"};
    struct launch_plan *plan = r->plan;
    const char *name = r->entry->key;
    bool twice = false;
    for (size_t i = 0; i < r->names.count; i++)
        twice |= strcmp(plan->value_names[i], name) == 0;
    for (size_t i = 0; i < ARRAY_COUNT(taken); i++)
        twice |= strcmp(taken[i], name) == 0;
    if (twice)
        return plan_refuse(r, "this name is taken");
    if (!is_name(name, "abcdefghijklmnopqrstuvwxyz0123456789"))
        return plan_refuse(r, "a value's name is at most 40 letters and digits");
    if (plan->let_count == SECTIONS_MAX)
        return plan_refuse(r, "more than %d values", SECTIONS_MAX);
    if (plan_read_formula(&plan->lets[plan->let_count], r, plan_text(r)))
        return -1;
    plan->value_names[r->names.count++] = arena_strdup(&plan->arena, name);
    plan->let_count++;
    return 0;
}

// [section "NAME"]: one that none of its kind has.
static int check_name(const struct plan_reader *r, const char *const *first, size_t stride,
                      size_t count)
{
    const char *name = r->entry->subsection;
    if (!is_name(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
        return plan_refuse(r, "needs a name of letters, digits and _: [%s \"name\"]",
                           r->entry->section);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(*(const char *const *)((const char *)first + i * stride), name) == 0)
            return plan_refuse(r, "there are two called %s", name);
    }
    return count < SECTIONS_MAX ? 0 : plan_refuse(r, "more than %d of them", SECTIONS_MAX);
}

// What a [section] is about, made when its name is read first.
static int new_section(const struct plan_reader *r)
{
    struct launch_plan *p = r->plan;
    const struct config_entry *e = r->entry;
    const char *name = arena_strdup(&p->arena, e->subsection);
    const bool is_memset = strcmp(e->section, "memset") == 0;
    enum record_buffer buffer;
    if (strcmp(e->section, "scratch") == 0) {
        if (record_buffer_parse(&buffer, name) == 0 || strcmp(name, "null") == 0)
            return plan_refuse(r, "%s is the name of another place", name);
        if (check_name(r, &p->scratches[0].name, sizeof(*p->scratches), p->scratch_count))
            return -1;
        p->scratches[p->scratch_count++] = (struct plan_scratch){.name = name, .line = e->line};
    } else if (strcmp(e->section, "tensormap") == 0) {
        if (check_name(r, &p->maps[0].name, sizeof(*p->maps), p->map_count))
            return -1;
        p->maps[p->map_count++] = (struct plan_map){
            .name = name, .line = e->line, .type = RECORD_MAP_TYPES, .promote = 128};
    } else if (is_memset || strcmp(e->section, "launch") == 0) {
        if (check_name(r, &p->launches[0].name, sizeof(*p->launches), p->launch_count))
            return -1;
        p->launches[p->launch_count++] =
            (struct plan_launch){.name = name, .line = e->line, .is_memset = is_memset};
    } else if (strcmp(e->section, "kernel") != 0 && strcmp(e->section, "let") != 0) {
        return plan_refuse(r, "there are kernel, let, scratch, tensormap, memset and launch");
    } else if (*e->subsection) {
        return plan_refuse(r, "has no name");
    }
    return 0;
}

static int read_names(struct plan_reader *r, const struct config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        r->entry = &config->entries[i];
        const bool let = strcmp(r->entry->section, "let") == 0;
        if (*r->entry->key ? let && new_value(r) : new_section(r))
            return -1;
    }
    return 0;
}

// ---- contents ----

#define FIND(list, count, entry)                                                                   \
    for (size_t i = 0; i < (count); i++) {                                                         \
        if (strcmp((list)[i].name, (entry)->subsection) == 0)                                      \
            return &(list)[i];                                                                     \
    }

// Which of the things made by new_section() the entry is about.
static void *object_of(struct launch_plan *plan, const struct config_entry *entry)
{
    if (strcmp(entry->section, "scratch") == 0) {
        FIND(plan->scratches, plan->scratch_count, entry);
    } else if (strcmp(entry->section, "tensormap") == 0) {
        FIND(plan->maps, plan->map_count, entry);
    } else if (strcmp(entry->section, "kernel") != 0) {
        FIND(plan->launches, plan->launch_count, entry);
    }
    return plan;
}

// A key that stands twice would hide one of the two; only parameters and fields are lists.
static bool stands_twice(const struct config *config, size_t index)
{
    const struct config_entry *e = &config->entries[index];
    if (strcmp(e->key, "parameter") == 0 || strcmp(e->key, "field") == 0)
        return false;
    for (size_t i = 0; i < index; i++) {
        const struct config_entry *o = &config->entries[i];
        if (strcmp(o->section, e->section) == 0 && strcmp(o->subsection, e->subsection) == 0 &&
            strcmp(o->key, e->key) == 0)
            return true;
    }
    return false;
}

static int read_contents(struct plan_reader *r, const struct config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        r->entry = &config->entries[i];
        if (!*r->entry->key || strcmp(r->entry->section, "let") == 0)
            continue;
        if (stands_twice(config, i))
            return plan_refuse(r, "stands twice");
        if (plan_read_key(object_of(r->plan, r->entry), r))
            return -1;
    }
    return 0;
}

// ---- the whole ----

static size_t formula_count(const struct plan_formula *list, size_t most)
{
    size_t count = 0;
    while (count < most && list[count].value)
        count++;
    return count;
}

static int lacks(const struct launch_plan *plan, uint32_t line, const char *section,
                 const char *name, const char *what, struct error *err)
{
    return error_set(err, "%.200s:%u: [%s \"%s\"] needs %s", plan->label, line, section, name,
                     what);
}

static int check_map(const struct launch_plan *plan, const struct plan_map *m, struct error *err)
{
    const size_t rank = formula_count(m->dims, RECORD_MAP_DIMS);
    if (m->type == RECORD_MAP_TYPES || m->place.kind == PLAN_NOWHERE || m->place.kind == PLAN_NULL)
        return lacks(plan, m->line, "tensormap", m->name, "a type and a place", err);
    if (!rank || formula_count(m->box, RECORD_MAP_DIMS) != rank ||
        formula_count(m->strides, RECORD_MAP_DIMS) != rank - 1)
        return lacks(plan, m->line, "tensormap", m->name,
                     "dims, a box of as many, and one stride fewer", err);
    const size_t elements = formula_count(m->elements, RECORD_MAP_DIMS);
    if (elements && elements != rank)
        return lacks(plan, m->line, "tensormap", m->name, "as many elements as dims", err);
    return 0;
}

static int check_launch(const struct launch_plan *plan, const struct plan_launch *l,
                        struct error *err)
{
    if (l->is_memset && (!l->count.value || l->place.kind == PLAN_NOWHERE))
        return lacks(plan, l->line, "memset", l->name, "a place and a count", err);
    if (!l->is_memset && (!l->cubin || !l->entry || !l->grid[0].value || !l->block[0].value))
        return lacks(plan, l->line, "launch", l->name, "cubin, entry, grid and block", err);
    return 0;
}

static int check_whole(const struct launch_plan *plan, struct error *err)
{
    size_t kernels = 0;
    for (size_t i = 0; i < plan->launch_count; i++) {
        if (check_launch(plan, &plan->launches[i], err))
            return -1;
        kernels += !plan->launches[i].is_memset;
    }
    for (size_t i = 0; i < plan->map_count; i++) {
        if (check_map(plan, &plan->maps[i], err))
            return -1;
    }
    for (size_t i = 0; i < plan->scratch_count; i++) {
        const struct plan_scratch *s = &plan->scratches[i];
        if (!s->bytes.value)
            return lacks(plan, s->line, "scratch", s->name, "bytes", err);
    }
    if (!*plan->name || !kernels)
        return error_set(err, "%.200s: a plan needs a [kernel] with a name, and a [launch]",
                         plan->label);
    return 0;
}

// A formula's value where that is the same for every problem, else 0.
static int32_t constant_of(const struct plan_formula *formula)
{
    struct error none;
    int64_t value;
    if (!formula->value || !expression_constant(formula->value) ||
        expression_value(&value, formula->value, NULL, &none) || value < 0 || value > INT32_MAX)
        return 0;
    return (int32_t)value;
}

// What launches say of the kernel need not be said again.
static void fill_traits(struct launch_plan *plan)
{
    struct traits *t = &plan->traits;
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct plan_launch *l = &plan->launches[i];
        if (l->is_memset)
            continue;
        int32_t threads = 1;
        for (int d = 0; d < PLAN_THREE && l->block[d].value; d++) {
            const int32_t side = constant_of(&l->block[d]);
            threads = side <= 1024 && threads <= 1024 ? threads * side : 0;
        }
        if (!t->threads && threads <= 1024)
            t->threads = threads;
        if (!t->smem_bytes)
            t->smem_bytes = constant_of(&l->shared);
        if (!t->cluster_m)
            t->cluster_m = l->cluster[0].value ? constant_of(&l->cluster[0]) : 1;
        if (!t->cluster_n)
            t->cluster_n = l->cluster[1].value ? constant_of(&l->cluster[1]) : 1;
        return;
    }
}

static void make_room(struct launch_plan *plan)
{
    static const char *const inputs[PLAN_INPUTS] = {"m", "n", "k", "batch", "sms"};
    plan->value_names =
        arena_alloc(&plan->arena, (PLAN_INPUTS + SECTIONS_MAX) * sizeof(*plan->value_names));
    memcpy(plan->value_names, inputs, sizeof(inputs));
    plan->lets = arena_alloc(&plan->arena, SECTIONS_MAX * sizeof(*plan->lets));
    plan->scratches = arena_alloc(&plan->arena, SECTIONS_MAX * sizeof(*plan->scratches));
    plan->maps = arena_alloc(&plan->arena, SECTIONS_MAX * sizeof(*plan->maps));
    plan->launches = arena_alloc(&plan->arena, SECTIONS_MAX * sizeof(*plan->launches));
}

int plan_parse(struct launch_plan *out, const char *text, size_t size, const char *label,
               struct error *err)
{
    struct config config;
    if (config_parse(&config, text, size, label, err))
        return -1;
    struct launch_plan plan = {.summary = "",
                               .layout = LAYOUT_TN,
                               .traits = {.in = DTYPE_BF16, .out = DTYPE_BF16, .acc = DTYPE_FP32}};
    plan.label = arena_strdup(&plan.arena, label);
    make_room(&plan);
    struct plan_reader r = {
        .plan = &plan, .names = {(const char *const *)plan.value_names, PLAN_INPUTS}, .err = err};
    int status =
        read_names(&r, &config) || read_contents(&r, &config) || check_whole(&plan, err) ? -1 : 0;
    config_free(&config);
    if (status) {
        arena_free(&plan.arena);
        return -1;
    }
    fill_traits(&plan);
    *out = plan;
    return 0;
}

void plan_free(struct launch_plan *plan)
{
    arena_free(&plan->arena);
    *plan = (struct launch_plan){0};
}
