// SPDX-License-Identifier: Apache-2.0
//
// One table says what a plan may hold: section, key, how it is read, and where it goes.
#include "model/plan/plan_read.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 512, FILE_NAME = 200, FUNCTION_NAME = 4000 };

struct key;
typedef int key_reader(void *field, const struct key *key, const struct plan_reader *r);

struct key {
    const char *section, *key;
    key_reader *read;
    size_t offset; // in what the section is about
    uint32_t most; // of a list
};

// ---- how they are read ----

static int read_name(void *field, const struct key *key, const struct plan_reader *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *text = plan_text(r);
    (void)key;
    return *text && strspn(text, letters) == strlen(text) && !strchr("_.-", *text) &&
                   text_copy(field, RECORD_NAME, text)
               ? 0
               : plan_refuse(r, "is at most 200 of a-z, 0-9, _, . and -, the last three not first");
}

static int read_text(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    *(const char **)field = arena_strdup(&r->plan->arena, plan_text(r));
    return 0;
}

static int read_letters(void *field, const char *marks, size_t most, const struct plan_reader *r)
{
    const char *text = plan_text(r);
    for (size_t i = 0; text[i]; i++) {
        const bool letter =
            (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (i == most || (!letter && !digit && !strchr(marks, text[i])))
            return plan_refuse(r, "'%.60s' has more than letters, digits and %s", text, marks);
    }
    if (!*text || *text == '.')
        return plan_refuse(r, "needs a name");
    return read_text(field, NULL, r);
}

static int read_file(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return read_letters(field, "_.+-", FILE_NAME, r);
}

static int read_function(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return read_letters(field, "_.$", FUNCTION_NAME, r);
}

static int read_dtype(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return dtype_parse(field, plan_text(r))
               ? plan_refuse(r, "'%.40s' is no element type", plan_text(r))
               : 0;
}

static int read_layout(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (strcmp(layout_name((enum layout)i), plan_text(r)) == 0) {
            *(enum layout *)field = (enum layout)i;
            return 0;
        }
    }
    return plan_refuse(r, "is tn, nn, nt or tt");
}

static int read_epilogue(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    for (int i = 0; i < EPILOGUE_COUNT; i++) {
        if (strcmp(epilogue_name((enum epilogue)i), plan_text(r)) == 0) {
            *(enum epilogue *)field = (enum epilogue)i;
            return 0;
        }
    }
    return plan_refuse(r, "there is no epilogue '%.40s'", plan_text(r));
}

static int read_bool(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return config_bool(field, r->entry->value) ? plan_refuse(r, "is true or false") : 0;
}

static int read_tile(void *field, const struct key *key, const struct plan_reader *r)
{
    struct traits *traits = field;
    int m, n, k, end = 0;
    (void)key;
    if (sscanf(plan_text(r), "%5dx%5dx%5d%n", &m, &n, &k, &end) != 3 || plan_text(r)[end] ||
        m < 1 || n < 1 || k < 1)
        return plan_refuse(r, "is MxNxK, such as 128x256x64");
    traits->tile_m = m;
    traits->tile_n = n;
    traits->tile_k = k;
    return 0;
}

static int read_number(int64_t *out, int64_t min, int64_t max, const struct plan_reader *r)
{
    if (config_int(out, r->entry->value) || *out < min || *out > max)
        return plan_refuse(r, "needs a whole number from %lld to %lld", (long long)min,
                           (long long)max);
    return 0;
}

static int read_trait(void *field, const struct key *key, const struct plan_reader *r)
{
    int64_t number;
    (void)key;
    if (read_number(&number, -1, INT32_MAX, r))
        return -1;
    *(int32_t *)field = (int32_t)number;
    return 0;
}

static int read_formula(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return plan_read_formula(field, r, plan_text(r));
}

static int read_list(void *field, const struct key *key, const struct plan_reader *r)
{
    return plan_read_list(field, key->most, r);
}

static int read_place(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return plan_read_place(field, r, plan_text(r));
}

static int read_element(void *field, const struct key *key, const struct plan_reader *r)
{
    (void)key;
    return record_map_type_parse(field, plan_text(r))
               ? plan_refuse(r, "'%.40s' is no element type of a tensormap", plan_text(r))
               : 0;
}

// None or a number; record_map_check() says which there are.
static int read_bytes(void *field, const struct key *key, const struct plan_reader *r)
{
    int64_t number = 0;
    (void)key;
    if (strcmp(plan_text(r), "none") != 0 && read_number(&number, 0, 256, r))
        return -1;
    *(uint32_t *)field = (uint32_t)number;
    return 0;
}

static int read_fill(void *field, const struct key *key, const struct plan_reader *r)
{
    const bool nan = strcmp(plan_text(r), "nan") == 0;
    (void)key;
    *(bool *)field = nan;
    return nan || strcmp(plan_text(r), "zero") == 0 ? 0 : plan_refuse(r, "is zero or nan");
}

static int add_value(struct plan_launch *launch, uint32_t parameter, const struct plan_reader *r)
{
    if (launch->value_count == VALUES_MAX)
        return plan_refuse(r, "more than %d values", VALUES_MAX);
    if (!launch->values)
        launch->values = arena_alloc(&r->plan->arena, VALUES_MAX * sizeof(*launch->values));
    if (plan_read_value(&launch->values[launch->value_count], parameter, r))
        return -1;
    launch->value_count++;
    return 0;
}

static int read_parameter(void *field, const struct key *key, const struct plan_reader *r)
{
    struct plan_launch *launch = field;
    (void)key;
    return add_value(launch, launch->parameter_count++, r);
}

static int read_field(void *field, const struct key *key, const struct plan_reader *r)
{
    struct plan_launch *launch = field;
    (void)key;
    return launch->parameter_count ? add_value(launch, launch->parameter_count - 1, r)
                                   : plan_refuse(r, "there is no parameter above it");
}

// ---- what there is ----

static const struct key keys[] = {
#define AT(type, member) offsetof(struct type, member)
    {"kernel", "name", read_name, AT(launch_plan, name), 0},
    {"kernel", "summary", read_text, AT(launch_plan, summary), 0},
    {"kernel", "in", read_dtype, AT(launch_plan, traits.in), 0},
    {"kernel", "out", read_dtype, AT(launch_plan, traits.out), 0},
    {"kernel", "acc", read_dtype, AT(launch_plan, traits.acc), 0},
    {"kernel", "layout", read_layout, AT(launch_plan, layout), 0},
    {"kernel", "epilogue", read_epilogue, AT(launch_plan, epilogue), 0},
    {"kernel", "batched", read_bool, AT(launch_plan, batched), 0},
    {"kernel", "supports", read_formula, AT(launch_plan, supports), 0},
    {"kernel", "tile", read_tile, AT(launch_plan, traits), 0},
#define X(name) {"kernel", #name, read_trait, AT(launch_plan, traits.name), 0},
    TRAITS(X)
#undef X
        {"scratch", "bytes", read_formula, AT(plan_scratch, bytes), 0},
    {"scratch", "align", read_formula, AT(plan_scratch, align), 0},
    {"scratch", "zero", read_bool, AT(plan_scratch, zero), 0},
    {"tensormap", "place", read_place, AT(plan_map, place), 0},
    {"tensormap", "type", read_element, AT(plan_map, type), 0},
    {"tensormap", "dims", read_list, AT(plan_map, dims), RECORD_MAP_DIMS},
    {"tensormap", "strides", read_list, AT(plan_map, strides), RECORD_MAP_DIMS - 1},
    {"tensormap", "box", read_list, AT(plan_map, box), RECORD_MAP_DIMS},
    {"tensormap", "elements", read_list, AT(plan_map, elements), RECORD_MAP_DIMS},
    {"tensormap", "swizzle", read_bytes, AT(plan_map, swizzle), 0},
    {"tensormap", "interleave", read_bytes, AT(plan_map, interleave), 0},
    {"tensormap", "promote", read_bytes, AT(plan_map, promote), 0},
    {"tensormap", "fill", read_fill, AT(plan_map, fill_nan), 0},
    {"memset", "place", read_place, AT(plan_launch, place), 0},
    {"memset", "value", read_formula, AT(plan_launch, value), 0},
    {"memset", "element", read_formula, AT(plan_launch, element), 0},
    {"memset", "count", read_formula, AT(plan_launch, count), 0},
    {"memset", "when", read_formula, AT(plan_launch, when), 0},
    {"launch", "cubin", read_file, AT(plan_launch, cubin), 0},
    {"launch", "entry", read_function, AT(plan_launch, entry), 0},
    {"launch", "grid", read_list, AT(plan_launch, grid), PLAN_THREE},
    {"launch", "block", read_list, AT(plan_launch, block), PLAN_THREE},
    {"launch", "cluster", read_list, AT(plan_launch, cluster), PLAN_THREE},
    {"launch", "shared", read_formula, AT(plan_launch, shared), 0},
    {"launch", "carveout", read_formula, AT(plan_launch, carveout), 0},
    {"launch", "when", read_formula, AT(plan_launch, when), 0},
    {"launch", "cooperative", read_bool, AT(plan_launch, cooperative), 0},
    {"launch", "programmatic", read_bool, AT(plan_launch, programmatic), 0},
    {"launch", "parameter", read_parameter, 0, 0},
    {"launch", "field", read_field, 0, 0},
#undef AT
};

// A trait's name has _ where a key has -.
static bool is_key(const char *written, const char *key)
{
    while (*key && (*written == *key || (*written == '-' && *key == '_'))) {
        written++;
        key++;
    }
    return *key == *written;
}

int plan_read_key(void *object, const struct plan_reader *r)
{
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (strcmp(keys[i].section, r->entry->section) == 0 && is_key(r->entry->key, keys[i].key))
            return keys[i].read((char *)object + keys[i].offset, &keys[i], r);
    }
    return plan_refuse(r, "there is no such key");
}
