// SPDX-License-Identifier: Apache-2.0
//
// A launch's parameters as bytes, with the addresses and TMA descriptors that are still open.
#include "model/plan/plan_make.h"

#include <string.h>

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

// Where the device code wants them, or one after the other.
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

int plan_put_parameters(struct record_launch *out, const struct making *m,
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
