// SPDX-License-Identifier: Apache-2.0
//
// From a plan and a problem to launches. Scratch lies one piece after the other in the workspace,
// each from a boundary of its own; what of it must be zero is set before the first launch, every
// time, and that is timed as well. Addresses are left open, as a record has them.
#include "model/plan/plan.h"

#include <string.h>

enum { POINTER_BYTES = 8 };

// A record being made from a plan.
struct making {
    const struct launch_plan *plan;
    const struct problem *problem;
    int64_t *values;          // that formulas may name
    uint64_t *scratch_offset; // of each, in the workspace
    struct record record;
    struct arena *arena;
    struct error *err;
};

static const int64_t bytes_most = INT64_MAX / 8, align_default = 256;

enum { ALIGN_MOST = 512, SHARED_MOST = 1 << 20 };

// -1 with "LABEL:LINE: WHAT: WHY for PROBLEM".
static int plan_wrong(const struct making *m, uint32_t line, const char *what, const char *why)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, m->problem);
    return error_set(m->err, "%.200s:%u: %s: %.500s for %s", m->plan->label, line, what, why,
                     problem);
}

// A formula that is not there has the value `otherwise`.
static int plan_number(int64_t *out, const struct making *m, const struct plan_formula *formula,
                       int64_t otherwise, int64_t min, int64_t max, const char *what)
{
    struct error why;
    *out = otherwise;
    if (!formula->value)
        return 0;
    if (expression_value(out, formula->value, m->values, &why))
        return plan_wrong(m, formula->line, what, why.text);
    if (*out >= min && *out <= max)
        return 0;
    error_set(&why, "is %lld and must be %lld to %lld", (long long)*out, (long long)min,
              (long long)max);
    return plan_wrong(m, formula->line, what, why.text);
}

static int plan_small_number(uint32_t *out, const struct making *m,
                             const struct plan_formula *formula, uint32_t otherwise, int64_t min,
                             int64_t max, const char *what)
{
    int64_t value;
    if (plan_number(&value, m, formula, otherwise, min, max, what))
        return -1;
    *out = (uint32_t)value;
    return 0;
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
           p->layout == plan->layout && p->epilogue == plan->epilogue &&
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

// ---- memory ----

static int plan_find_place(enum record_buffer *buffer, uint64_t *offset, const struct making *m,
                           const struct plan_place *place)
{
    int64_t bytes;
    if (plan_number(&bytes, m, &place->offset, 0, 0, bytes_most, "offset"))
        return -1;
    *buffer = place->kind == PLAN_SCRATCH ? RECORD_WORKSPACE : place->buffer;
    *offset =
        (uint64_t)bytes + (place->kind == PLAN_SCRATCH ? m->scratch_offset[place->scratch] : 0);
    return 0;
}

static struct record_launch *new_launch(struct making *m, enum record_launch_kind kind)
{
    struct record_launch *launch = &m->record.launches[m->record.launch_count++];
    *launch = (struct record_launch){.kind = kind, .carveout = -1};
    return launch;
}

// A memset's one word says where it writes.
static void add_memset(struct making *m, enum record_buffer buffer, uint64_t offset, uint32_t value,
                       uint32_t element, uint64_t count)
{
    struct record_launch *launch = new_launch(m, RECORD_MEMSET);
    launch->value = value;
    launch->element_bytes = element;
    launch->width = count;
    launch->height = 1;
    launch->parameters = arena_alloc(m->arena, sizeof(*launch->parameters));
    launch->parameters[0] = (struct record_parameter){0, POINTER_BYTES};
    launch->parameter_count = 1;
    launch->size = POINTER_BYTES;
    launch->bytes = arena_alloc(m->arena, POINTER_BYTES);
    launch->addresses = arena_alloc(m->arena, sizeof(*launch->addresses));
    launch->addresses[0] = (struct record_address){0, buffer, offset};
    launch->address_count = 1;
}

static int lay_out_scratch(struct making *m)
{
    const struct launch_plan *plan = m->plan;
    int64_t end = 0;
    m->scratch_offset =
        arena_alloc(m->arena, (plan->scratch_count + 1) * sizeof(*m->scratch_offset));
    for (size_t i = 0; i < plan->scratch_count; i++) {
        const struct plan_scratch *s = &plan->scratches[i];
        int64_t bytes, align;
        if (plan_number(&bytes, m, &s->bytes, 0, 0, bytes_most, "bytes") ||
            plan_number(&align, m, &s->align, align_default, 1, ALIGN_MOST, "align"))
            return -1;
        const int64_t begin = (end + align - 1) / align * align;
        if (begin > bytes_most - bytes)
            return plan_wrong(m, s->line, "scratch", "is more than there can be");
        m->scratch_offset[i] = (uint64_t)begin;
        end = begin + bytes;
        if (s->zero && bytes)
            add_memset(m, RECORD_WORKSPACE, (uint64_t)begin, 0, 1, (uint64_t)bytes);
    }
    m->record.workspace_bytes = (uint64_t)end;
    return 0;
}

static int make_memset(struct making *m, const struct plan_launch *l)
{
    enum record_buffer buffer;
    uint64_t offset;
    uint32_t value, element;
    int64_t count;
    if (plan_find_place(&buffer, &offset, m, &l->place) ||
        plan_small_number(&value, m, &l->value, 0, 0, UINT32_MAX, "value") ||
        plan_small_number(&element, m, &l->element, 1, 1, 4, "element") ||
        plan_number(&count, m, &l->count, 0, 0, bytes_most, "count"))
        return -1;
    if (element == 3)
        return plan_wrong(m, l->line, "element", "is 3 and must be 1, 2 or 4");
    if (count)
        add_memset(m, buffer, offset, value, element, (uint64_t)count);
    return 0;
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

// A parameter is a struct of its values, laid out as C does it.
static struct record_parameter shape_of(const struct plan_launch *l, uint32_t parameter)
{
    uint32_t end = 0, align = 1;
    for (size_t i = 0; i < l->value_count; i++) {
        const struct plan_value *v = &l->values[i];
        if (v->parameter != parameter)
            continue;
        align = align_of(v->type) > align ? align_of(v->type) : align;
        end = round_up(end, align_of(v->type)) + size_of(v->type);
    }
    return (struct record_parameter){.offset = align, .bytes = round_up(end, align)};
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
        const uint32_t bytes = shape_of(l, p).bytes;
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
        const struct record_parameter shape = shape_of(l, p);
        struct record_parameter *to = &out->parameters[p];
        *to = entry ? entry->parameters[p]
                    : (struct record_parameter){round_up(end, shape.offset), shape.bytes};
        if (to->bytes > PARAMETER_MAX || to->offset > PARAMETERS_BYTES ||
            to->bytes > PARAMETERS_BYTES - to->offset)
            return plan_wrong(m, l->line, l->entry, "has more parameters than a launch can take");
        end = to->offset + to->bytes;
    }
    out->parameter_count = l->parameter_count;
    out->size = end;
    out->bytes = arena_alloc(m->arena, end + 1);
    out->addresses = arena_alloc(m->arena, (l->value_count + 1) * sizeof(*out->addresses));
    out->maps = arena_alloc(m->arena, (l->value_count + 1) * sizeof(*out->maps));
    return 0;
}

static int put_map(struct record_launch *out, const struct making *m, uint32_t at,
                   const struct plan_map *from)
{
    struct record_map map = {.at = at,
                             .type = from->type,
                             .interleave = from->interleave,
                             .swizzle = from->swizzle,
                             .promote = from->promote,
                             .fill_nan = from->fill_nan};
    struct error why;
    if (plan_find_place(&map.buffer, &map.offset, m, &from->place))
        return -1;
    for (uint32_t i = 0; i < RECORD_MAP_DIMS && from->dims[i].value; i++) {
        int64_t dim, stride = 0;
        map.rank++;
        if (plan_number(&dim, m, &from->dims[i], 0, 1, (int64_t)1 << 32, "dims") ||
            (i &&
             plan_number(&stride, m, &from->strides[i - 1], 0, 1, (int64_t)1 << 40, "strides")) ||
            plan_small_number(&map.box[i], m, &from->box[i], 0, 1, 256, "box") ||
            plan_small_number(&map.elements[i], m, &from->elements[i], 1, 1, 8, "elements"))
            return -1;
        map.dims[i] = (uint64_t)dim;
        map.strides[i] = (uint64_t)stride;
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
    // Scratch of no bytes has no address.
    if (address.buffer == RECORD_WORKSPACE && m->record.workspace_bytes == 0)
        return 0;
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
    uint32_t parameter = 0, at = 0;
    if (lay_out_parameters(out, m, launch, entry))
        return -1;
    for (size_t i = 0; i < launch->value_count; i++) {
        const struct plan_value *v = &launch->values[i];
        at = v->parameter == parameter ? round_up(at, align_of(v->type)) : 0;
        parameter = v->parameter;
        if (put_value(out, m, out->parameters[parameter].offset + at, v))
            return -1;
        at += size_of(v->type);
    }
    return 0;
}

// ---- launches ----

static int take_three(uint32_t out[PLAN_THREE], const struct making *m,
                      const struct plan_formula from[PLAN_THREE], const int64_t most[PLAN_THREE],
                      const char *what)
{
    for (int i = 0; i < PLAN_THREE; i++) {
        if (plan_small_number(&out[i], m, &from[i], 1, 1, most[i], what))
            return -1;
    }
    return 0;
}

static int make_launch(struct making *m, const struct plan_launch *l,
                       const struct plan_entry *entry)
{
    static const int64_t grid[] = {INT32_MAX, 65535, 65535}, block[] = {1024, 1024, 64},
                         cluster[] = {16, 16, 16};
    struct record_launch *out = new_launch(m, RECORD_KERNEL);
    int64_t carveout;
    if (take_three(out->grid, m, l->grid, grid, "grid") ||
        take_three(out->block, m, l->block, block, "block") ||
        take_three(out->cluster, m, l->cluster, cluster, "cluster") ||
        plan_small_number(&out->shared_bytes, m, &l->shared, 0, 0, SHARED_MOST, "shared") ||
        plan_number(&carveout, m, &l->carveout, -1, -1, 100, "carveout") ||
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
    out->function = arena_strdup(m->arena, l->entry);
    out->carveout = (int32_t)carveout;
    out->cooperative = l->cooperative;
    out->programmatic = l->programmatic && m->record.launch_count > 1;
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
    m->record.launches = arena_alloc(m->arena, (plan->scratch_count + plan->launch_count) *
                                                   sizeof(*m->record.launches));
    if (lay_out_scratch(m))
        return -1;
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct plan_launch *l = &plan->launches[i];
        int64_t when;
        if (plan_number(&when, m, &l->when, 1, INT64_MIN, INT64_MAX, "when"))
            return -1;
        if (when &&
            (l->is_memset ? make_memset(m, l) : make_launch(m, l, entries ? &entries[i] : NULL)))
            return -1;
    }
    return m->record.launch_count
               ? 0
               : error_set(m->err, "%.200s: no launch is left for this problem", plan->label);
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
