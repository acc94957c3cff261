// SPDX-License-Identifier: Apache-2.0
//
// Reads a plan in two passes: names first, so that a launch may stand above what it uses, then what
// they stand for. [let] alone goes by the order of the text. At the end it is held together.

#include "model/config.h"
#include "model/plan/plan.h"

#include <stdio.h>
#include <string.h>

struct plan_reader {
    struct launch_plan *plan;
    const struct config_entry *entry; // that is being read
    struct expression_names names;    // that a formula may use here
    struct error *err;
};

// The entry's value, "" when it has none.
static const char *plan_text(const struct plan_reader *r)
{
    return r->entry->value ? r->entry->value : "";
}

// -1 with "LABEL:LINE: [SECTION] KEY: TEXT".
static int plan_refuse(const struct plan_reader *r, const char *format, ...) PRINTF_LIKE(2, 3);
static int plan_refuse(const struct plan_reader *r, const char *format, ...)
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

// ---- what stands behind a key ----
//
// Reads what stands behind a plan's keys: formulas and lists of them, places in memory, and values
// of parameters. What has a name is found by it.

static const char buffer_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

// What the formula says of itself follows file, line and key.
static int place_error(const struct plan_reader *r, const struct error *why)
{
    return plan_refuse(r, "%.600s", why->text);
}

static int plan_read_formula(struct plan_formula *out, const struct plan_reader *r,
                             const char *text)
{
    struct error why;
    if (expression_parse(&out->value, text, &r->names, &r->plan->arena, &why))
        return place_error(r, &why);
    out->line = r->entry->line;
    return 0;
}

static int plan_read_list(struct plan_formula *out, size_t most, const struct plan_reader *r)
{
    const struct expression *found[RECORD_MAP_DIMS];
    struct error why;
    size_t count = 0;
    if (expression_parse_list(found, &count, most, plan_text(r), &r->names, &r->plan->arena, &why))
        return place_error(r, &why);
    for (size_t i = 0; i < count; i++)
        out[i] = (struct plan_formula){found[i], r->entry->line};
    return 0;
}

// The word that `text` begins with, cut off from it: *rest points behind it and the blanks.
static bool first_word(char out[RECORD_NAME], const char **rest, const char *text)
{
    const size_t length = strspn(text, buffer_letters);
    if (!length || length >= RECORD_NAME)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    *rest = text + length + strspn(text + length, " \t");
    return true;
}

static int plan_read_place(struct plan_place *out, const struct plan_reader *r, const char *text)
{
    struct plan_place place = {.kind = PLAN_NULL};
    char name[RECORD_NAME];
    const char *rest;
    if (!first_word(name, &rest, text))
        return plan_refuse(r, "'%.60s' begins with no place", text);
    if (strcmp(name, "null") == 0) {
        *out = place;
        return *rest ? plan_refuse(r, "'%.60s' behind null", rest) : 0;
    }
    place.kind = PLAN_SCRATCH;
    while (place.scratch < r->plan->scratch_count &&
           strcmp(r->plan->scratches[place.scratch].name, name) != 0)
        place.scratch++;
    if (place.scratch == r->plan->scratch_count) {
        place.kind = PLAN_BUFFER;
        if (record_buffer_parse(&place.buffer, name) || place.buffer == RECORD_WORKSPACE ||
            record_buffer_is_form(place.buffer))
            return plan_refuse(r, "%s is neither a, b, c, scale_a, scale_b, null nor a [scratch]",
                               name);
    }
    if (*rest && *rest != '+')
        return plan_refuse(r, "'%.60s': after a place stands + and a number of bytes", rest);
    if (*rest && plan_read_formula(&place.offset, r, rest + 1))
        return -1;
    *out = place;
    return 0;
}

static int find_map(size_t *out, const struct plan_reader *r, const char *name)
{
    for (size_t i = 0; i < r->plan->map_count; i++) {
        if (strcmp(r->plan->maps[i].name, name) == 0) {
            *out = i;
            return 0;
        }
    }
    return plan_refuse(r, "there is no [tensormap \"%.60s\"]", name);
}

// A parameter's or a field's value; `parameter` is the one that it is in.
static int plan_read_value(struct plan_value *out, uint32_t parameter, const struct plan_reader *r)
{
    static const struct {
        const char *name;
        enum plan_type type;
    } types[] = {{"pointer", PLAN_POINTER}, {"int8", PLAN_INT8},          {"int16", PLAN_INT16},
                 {"int32", PLAN_INT32},     {"int64", PLAN_INT64},        {"float", PLAN_FLOAT},
                 {"double", PLAN_DOUBLE},   {"tensormap", PLAN_TENSORMAP}};
    struct plan_value value = {.line = r->entry->line, .parameter = parameter};
    char word[RECORD_NAME] = "";
    const char *rest = "";
    size_t type = 0;
    first_word(word, &rest, plan_text(r));
    while (type < ARRAY_COUNT(types) && strcmp(types[type].name, word) != 0)
        type++;
    if (type == ARRAY_COUNT(types))
        return plan_refuse(r,
                           "'%.60s' is not pointer, int8, int16, int32, int64, float, double or "
                           "tensormap and what it is",
                           plan_text(r));
    value.type = types[type].type;
    int status;
    switch (value.type) {
    case PLAN_POINTER:
        status = plan_read_place(&value.place, r, rest);
        break;
    case PLAN_FLOAT:
    case PLAN_DOUBLE:
        status = parse_double(&value.real, rest) ? plan_refuse(r, "'%.60s' is no number", rest) : 0;
        break;
    case PLAN_TENSORMAP:
        status = find_map(&value.map, r, rest);
        break;
    default:
        status = plan_read_formula(&value.number, r, rest);
    }
    if (status == 0)
        *out = value;
    return status;
}

// ---- the keys ----
//
// One table says what a plan may hold: section, key, how it is read, and where it goes.

enum { VALUES_MAX = 512, FILE_NAME = 200, FUNCTION_NAME = 4000 };

struct plan_key;

typedef int key_reader(void *field, const struct plan_key *key, const struct plan_reader *r);

struct plan_key {
    const char *section, *key;
    key_reader *read;
    size_t offset; // in what the section is about
    uint32_t most; // of a list
};

// ---- how they are read ----

static int read_name(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *text = plan_text(r);
    (void)key;
    return *text && strspn(text, letters) == strlen(text) && !strchr("_.-", *text) &&
                   text_copy(field, RECORD_NAME, text)
               ? 0
               : plan_refuse(r, "is at most 200 of a-z, 0-9, _, . and -, the last three not first");
}

static int read_text(void *field, const struct plan_key *key, const struct plan_reader *r)
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

static int read_file(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return read_letters(field, "_.+-", FILE_NAME, r);
}

static int read_function(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return read_letters(field, "_.$", FUNCTION_NAME, r);
}

static int read_dtype(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return dtype_parse(field, plan_text(r))
               ? plan_refuse(r, "'%.40s' is no element type", plan_text(r))
               : 0;
}

static int read_layout(void *field, const struct plan_key *key, const struct plan_reader *r)
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

static int read_epilogue(void *field, const struct plan_key *key, const struct plan_reader *r)
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

static int read_bool(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return config_bool(field, r->entry->value) ? plan_refuse(r, "is true or false") : 0;
}

static int read_tile(void *field, const struct plan_key *key, const struct plan_reader *r)
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

static int read_trait(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    int64_t number;
    (void)key;
    if (read_number(&number, -1, INT32_MAX, r))
        return -1;
    *(int32_t *)field = (int32_t)number;
    return 0;
}

static int read_formula(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return plan_read_formula(field, r, plan_text(r));
}

static int read_list(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    return plan_read_list(field, key->most, r);
}

static int read_place(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return plan_read_place(field, r, plan_text(r));
}

static int read_element(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    (void)key;
    return record_map_type_parse(field, plan_text(r))
               ? plan_refuse(r, "'%.40s' is no element type of a tensormap", plan_text(r))
               : 0;
}

// None or a number; record_map_check() says which there are.
static int read_bytes(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    int64_t number = 0;
    (void)key;
    if (strcmp(plan_text(r), "none") != 0 && read_number(&number, 0, 256, r))
        return -1;
    *(uint32_t *)field = (uint32_t)number;
    return 0;
}

static int read_fill(void *field, const struct plan_key *key, const struct plan_reader *r)
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

static int read_parameter(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    struct plan_launch *launch = field;
    (void)key;
    return add_value(launch, launch->parameter_count++, r);
}

static int read_field(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    struct plan_launch *launch = field;
    (void)key;
    return launch->parameter_count ? add_value(launch, launch->parameter_count - 1, r)
                                   : plan_refuse(r, "there is no parameter above it");
}

// ---- what there is ----

static const struct plan_key keys[] = {
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

// Reads the entry into what its section is about.
static int plan_read_key(void *object, const struct plan_reader *r)
{
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (strcmp(keys[i].section, r->entry->section) == 0 && is_key(r->entry->key, keys[i].key))
            return keys[i].read((char *)object + keys[i].offset, &keys[i], r);
    }
    return plan_refuse(r, "there is no such key");
}

enum { SECTIONS_MAX = 64 };

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

// The thing that the entry is about, one of those made by new_section().
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
