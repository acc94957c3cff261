// SPDX-License-Identifier: Apache-2.0
//
// From a plan and a problem to launches. Addresses are left open, as a record has them.
#include "model/plan/plan.h"

#include <string.h>

enum { POINTER_BYTES = 8 };

// A record being made from a plan.
struct making {
    const struct launch_plan *plan;
    const struct problem *problem;
    int64_t *values; // that formulas may name
    struct record record;
    struct arena *arena;
    struct error *err;
};

static const int64_t bytes_most = INT64_MAX / 8;

enum { SHARED_MOST = 1 << 20 };

// -1 with "LABEL:LINE: WHAT: WHY for PROBLEM".
static int plan_wrong(const struct making *m, uint32_t line, const char *what, const char *why)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, m->problem);
    return error_set(m->err, "%.200s:%u: %s: %.500s for %s", m->plan->label, line, what, why,
                     problem);
}

// Works out the formulas, and holds each to its range: `most` of them, or one for all.
static int plan_numbers(int64_t *out, const struct making *m, const struct plan_formula *formula,
                        int64_t min, const int64_t *most, const char *what)
{
    const struct expression_names names = {(const char *const *)m->plan->value_names, m->values,
                                           formula->names};
    struct error why;
    size_t count;
    if (expression_values(out, NULL, &count, formula->count, formula->text, &names, &why))
        return plan_wrong(m, formula->line, what, why.text);
    for (size_t i = 0; i < count; i++) {
        if (out[i] >= min && out[i] <= most[i])
            continue;
        error_set(&why, "is %lld and must be %lld to %lld", (long long)out[i], (long long)min,
                  (long long)most[i]);
        return plan_wrong(m, formula->line, what, why.text);
    }
    return 0;
}

// One that is not there has the value `otherwise`.
static int plan_number(int64_t *out, const struct making *m, const struct plan_formula *formula,
                       int64_t otherwise, int64_t min, int64_t max, const char *what)
{
    *out = otherwise;
    return formula->text ? plan_numbers(out, m, formula, min, &max, what) : 0;
}

static int begin(struct making *m, const struct launch_plan *plan, const struct problem *problem,
                 int64_t sms, struct arena *arena, struct error *err)
{
    const int64_t inputs[PLAN_INPUTS] = {[PLAN_M] = problem->m,
                                         [PLAN_N] = problem->n,
                                         [PLAN_K] = problem->k,
                                         [PLAN_BATCH] = problem->batch,
                                         [PLAN_SMS] = sms};
    *m = (struct making){.plan = plan, .problem = problem, .arena = arena, .err = err};
    m->values = arena_alloc(arena, (PLAN_INPUTS + plan->let_count) * sizeof(*m->values));
    memcpy(m->values, inputs, sizeof(inputs));
    for (size_t i = 0; i < plan->let_count; i++) {
        if (plan_number(&m->values[PLAN_INPUTS + i], m, &plan->lets[i], 0, INT64_MIN, INT64_MAX,
                        plan->value_names[PLAN_INPUTS + i]))
            return -1;
    }
    return 0;
}

static int supports(bool *yes, const struct making *m)
{
    const struct launch_plan *plan = m->plan;
    const struct problem *p = m->problem;
    int64_t value;
    *yes = problem_is_plain(p) && p->in == plan->traits.in && p->out == plan->traits.out &&
           p->layout == plan->layout && p->epilogue == EPILOGUE_NONE &&
           (p->batch == 1 || plan->batched);
    if (*yes && plan_number(&value, m, &plan->supports, 1, INT64_MIN, INT64_MAX, "supports"))
        return -1;
    *yes = *yes && value;
    return 0;
}

int plan_supports(bool *yes, const struct launch_plan *plan, const struct problem *problem,
                  int64_t sms, struct error *err)
{
    struct making m;
    struct arena arena = {0};
    const int status = begin(&m, plan, problem, sms, &arena, err) || supports(yes, &m) ? -1 : 0;
    arena_free(&arena);
    return status;
}

// ---- parameters ----
//
// A launch's parameters as bytes, with the addresses and TMA descriptors that are still open.

// CUDA programming guide, 12.1 and later; and what a record's line holds of one parameter.
enum { PARAMETERS_BYTES = 32764, PARAMETER_MAX = 7000 };

static uint32_t size_of(enum plan_type type)
{
    static const uint32_t sizes[] = {[PLAN_POINTER] = POINTER_BYTES,
                                     [PLAN_INT8] = 1,
                                     [PLAN_INT16] = 2,
                                     [PLAN_INT32] = 4,
                                     [PLAN_INT64] = 8,
                                     [PLAN_FLOAT] = 4,
                                     [PLAN_DOUBLE] = 8,
                                     [PLAN_TENSORMAP] = RECORD_MAP_BYTES};
    return sizes[type];
}

// Descriptors are asked for on 64 bytes, all else on its own size.
static uint32_t align_of(enum plan_type type)
{
    return type == PLAN_TENSORMAP ? 64 : size_of(type);
}

static uint32_t round_up(uint32_t at, uint32_t align)
{
    return (at + align - 1) / align * align;
}

int plan_check_entry(const struct launch_plan *plan, const struct plan_launch *l,
                     const struct plan_entry *entry, struct error *err)
{
    uint32_t end = 0;
    if (entry->count != l->parameter_count)
        return error_set(err, "%.200s:%u: %.200s has %u parameters, and this says %u", plan->label,
                         l->line, l->entry, entry->count, l->parameter_count);
    for (uint32_t p = 0; p < l->parameter_count; p++) {
        const struct record_parameter *have = &entry->parameters[p];
        const uint32_t bytes = size_of(l->parameters[p].type);
        if (have->bytes != bytes || have->offset < end)
            return error_set(err,
                             "%.200s:%u: %.200s: parameter %u has %u bytes at %u, and this says %u",
                             plan->label, l->line, l->entry, p, have->bytes, have->offset, bytes);
        end = have->offset + have->bytes;
    }
    return 0;
}

// Gives each parameter its offset: the one that the device code states, or else one after the
// other.
static int lay_out_parameters(struct record_launch *out, const struct making *m,
                              const struct plan_launch *l, const struct plan_entry *entry)
{
    uint32_t end = 0;
    if (entry && plan_check_entry(m->plan, l, entry, m->err))
        return -1;
    out->parameters = arena_alloc(m->arena, (l->parameter_count + 1) * sizeof(*out->parameters));
    for (uint32_t p = 0; p < l->parameter_count; p++) {
        const enum plan_type type = l->parameters[p].type;
        struct record_parameter *to = &out->parameters[p];
        *to = entry ? entry->parameters[p]
                    : (struct record_parameter){round_up(end, align_of(type)), size_of(type)};
        if (to->bytes > PARAMETER_MAX || to->offset > PARAMETERS_BYTES ||
            to->bytes > PARAMETERS_BYTES - to->offset)
            return plan_wrong(m, l->line, l->entry, "has more parameters than a launch can take");
        end = to->offset + to->bytes;
    }
    out->parameter_count = l->parameter_count;
    out->size = end;
    out->bytes = arena_alloc(m->arena, end + 1);
    out->addresses = arena_alloc(m->arena, (l->parameter_count + 1) * sizeof(*out->addresses));
    out->maps = arena_alloc(m->arena, (l->parameter_count + 1) * sizeof(*out->maps));
    return 0;
}

static int plan_find_place(enum record_buffer *buffer, uint64_t *offset, const struct making *m,
                           const struct plan_place *place)
{
    int64_t bytes;
    if (plan_number(&bytes, m, &place->offset, 0, 0, bytes_most, "offset"))
        return -1;
    *buffer = place->buffer;
    *offset = (uint64_t)bytes;
    return 0;
}

static int put_map(struct record_launch *out, const struct making *m, uint32_t at,
                   const struct plan_map *from)
{
    static const int64_t dims_most[RECORD_MAP_DIMS] = {(int64_t)1 << 32, (int64_t)1 << 32,
                                                       (int64_t)1 << 32, (int64_t)1 << 32,
                                                       (int64_t)1 << 32},
                         strides_most[RECORD_MAP_DIMS] = {(int64_t)1 << 40, (int64_t)1 << 40,
                                                          (int64_t)1 << 40, (int64_t)1 << 40},
                         box_most[RECORD_MAP_DIMS] = {256, 256, 256, 256, 256};
    struct record_map map = {.at = at,
                             .type = from->type,
                             .swizzle = from->swizzle,
                             .promote = from->promote,
                             .rank = (uint32_t)from->dims.count};
    int64_t dims[RECORD_MAP_DIMS], strides[RECORD_MAP_DIMS], box[RECORD_MAP_DIMS];
    struct error why;
    if (plan_find_place(&map.buffer, &map.offset, m, &from->place) ||
        plan_numbers(dims, m, &from->dims, 1, dims_most, "dims") ||
        (map.rank > 1 && plan_numbers(strides, m, &from->strides, 1, strides_most, "strides")) ||
        plan_numbers(box, m, &from->box, 1, box_most, "box"))
        return -1;
    for (uint32_t i = 0; i < map.rank; i++) {
        map.dims[i] = (uint64_t)dims[i];
        map.strides[i] = i ? (uint64_t)strides[i - 1] : 0;
        map.box[i] = (uint32_t)box[i];
        map.elements[i] = 1;
    }
    if (record_map_check(&map, &why))
        return plan_wrong(m, from->line, from->name, why.text);
    out->maps[out->map_count++] = map;
    return 0;
}

static int put_integer(unsigned char *to, const struct making *m, const struct plan_value *v)
{
    const uint32_t bytes = size_of(v->type);
    const int64_t most = bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * bytes - 1)) - 1;
    int64_t value;
    if (plan_number(&value, m, &v->number, 0, -most - 1, most, "parameter"))
        return -1;
    memcpy(to, &value, bytes); // little-endian, as the device is
    return 0;
}

static int put_pointer(struct record_launch *out, const struct making *m, uint32_t at,
                       const struct plan_value *v)
{
    struct record_address address = {.at = at};
    if (v->place.kind == PLAN_NULL)
        return 0; // the bytes are zero
    if (plan_find_place(&address.buffer, &address.offset, m, &v->place))
        return -1;
    out->addresses[out->address_count++] = address;
    return 0;
}

static int put_value(struct record_launch *out, const struct making *m, uint32_t at,
                     const struct plan_value *v)
{
    const float narrow = (float)v->real;
    switch (v->type) {
    case PLAN_POINTER:
        return put_pointer(out, m, at, v);
    case PLAN_TENSORMAP:
        return put_map(out, m, at, &m->plan->maps[v->map]);
    case PLAN_FLOAT:
        memcpy(out->bytes + at, &narrow, sizeof(narrow));
        return 0;
    case PLAN_DOUBLE:
        memcpy(out->bytes + at, &v->real, sizeof(v->real));
        return 0;
    default:
        return put_integer(out->bytes + at, m, v);
    }
}

// Parameters, addresses and maps of a launch. entry: NULL lays them out as C does it.
static int plan_put_parameters(struct record_launch *out, const struct making *m,
                               const struct plan_launch *launch, const struct plan_entry *entry)
{
    if (lay_out_parameters(out, m, launch, entry))
        return -1;
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        if (put_value(out, m, out->parameters[p].offset, &launch->parameters[p]))
            return -1;
    }
    return 0;
}

// ---- launches ----

// Up to three sides; those that are not there are 1.
static int take_three(uint32_t out[PLAN_THREE], const struct making *m,
                      const struct plan_formula *from, const int64_t most[PLAN_THREE],
                      const char *what)
{
    int64_t sides[PLAN_THREE] = {1, 1, 1};
    if (from->text && plan_numbers(sides, m, from, 1, most, what))
        return -1;
    for (int i = 0; i < PLAN_THREE; i++)
        out[i] = (uint32_t)sides[i];
    return 0;
}

static int make_launch(struct making *m, const struct plan_launch *l,
                       const struct plan_entry *entry)
{
    static const int64_t grid[] = {INT32_MAX, 65535, 65535}, block[] = {1024, 1024, 64},
                         cluster[] = {16, 16, 16};
    struct record_launch *out = &m->record.launches[m->record.launch_count++];
    int64_t shared;
    *out = (struct record_launch){.kind = RECORD_KERNEL, .carveout = -1};
    if (take_three(out->grid, m, &l->grid, grid, "grid") ||
        take_three(out->block, m, &l->block, block, "block") ||
        take_three(out->cluster, m, &l->cluster, cluster, "cluster") ||
        plan_number(&shared, m, &l->shared, 0, 0, SHARED_MOST, "shared") ||
        plan_put_parameters(out, m, l, entry))
        return -1;
    if (out->block[0] * out->block[1] * out->block[2] > 1024)
        return plan_wrong(m, l->line, "block", "has more than 1024 threads");
    for (int i = 0; i < PLAN_THREE; i++) {
        if (out->grid[i] % out->cluster[i])
            return plan_wrong(m, l->line, "grid", "is not a whole number of clusters");
    }
    if (out->cluster[0] * out->cluster[1] * out->cluster[2] > 16)
        return plan_wrong(m, l->line, "cluster", "has more than 16 blocks");
    out->shared_bytes = (uint32_t)shared;
    out->function = arena_strdup(m->arena, l->entry);
    return 0;
}

static int make_all(struct making *m, const struct plan_entry *entries)
{
    const struct launch_plan *plan = m->plan;
    bool yes;
    if (supports(&yes, m))
        return -1;
    if (!yes)
        return error_set(m->err, "%s does not do this problem", plan->name);
    m->record.problem = *m->problem;
    text_copy(m->record.kernel, sizeof(m->record.kernel), plan->name);
    m->record.launches = arena_alloc(m->arena, plan->launch_count * sizeof(*m->record.launches));
    for (size_t i = 0; i < plan->launch_count; i++) {
        if (make_launch(m, &plan->launches[i], entries ? &entries[i] : NULL))
            return -1;
    }
    return 0;
}

int plan_record(struct record *out, const struct launch_plan *plan, const struct problem *problem,
                int64_t sms, const struct plan_entry *entries, struct arena *arena,
                struct error *err)
{
    struct making m;
    if (begin(&m, plan, problem, sms, arena, err) || make_all(&m, entries))
        return -1;
    *out = m.record;
    return 0;
}
