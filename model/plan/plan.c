// SPDX-License-Identifier: Apache-2.0
//
// Plans: the formulas in them, the text of one, and the record that it makes of a problem.
#include "model/plan/plan.h"

#include "model/base.h"
#include "model/config.h"

#include <stdio.h>
#include <string.h>

// ==== formulas ====
//
// A formula is computed while it is read. The right side of an operator is read by a nested call,
// and so is the text in brackets. LEVELS limits how deeply these calls are nested.

enum { PLAN_THREE = 3 };

enum { LEVELS = 64 };

struct formula_reader {
    const char *text, *at;
    const int64_t *values; // NULL: the formula is only checked
    uint32_t level;
    struct error *err;
};

static int refuse(const struct formula_reader *r, const char *what)
{
    if (*r->at)
        return error_set(r->err, "'%.100s': %s at '%.20s'", r->text, what, r->at);
    return error_set(r->err, "'%.100s': %s at its end", r->text, what);
}

// Skips blanks and then the symbol, if it follows. Returns whether it did.
static bool take(struct formula_reader *r, const char *symbol)
{
    const size_t length = strlen(symbol);
    r->at += strspn(r->at, " \t");
    if (strncmp(r->at, symbol, length) != 0)
        return false;
    r->at += length;
    return true;
}

// The operators, with how strongly they bind, and the functions, which do not bind.
struct sign {
    const char *text;
    int strength;
    enum { AND, EQUAL, LEAST, AT_MOST, AT_LEAST, ADD, SUBTRACT, MULTIPLY, DIVIDE, REST, CEIL } what;
};

enum { WEAKEST = 1, STRONGEST = 6 };

static const struct sign signs[] = {{"&&", WEAKEST, AND}, {"==", 2, EQUAL}, {"<=", 3, AT_MOST},
                                    {">=", 3, AT_LEAST},  {"+", 4, ADD},    {"-", 4, SUBTRACT},
                                    {"*", 5, MULTIPLY},   {"/", 5, DIVIDE}, {"%", 5, REST}},
                         functions[] = {{"ceil_div", 0, CEIL}, {"min", 0, LEAST}};

static int work_out(int64_t *out, const struct formula_reader *r, const struct sign *sign,
                    int64_t a, int64_t b)
{
    bool overflow = false;
    if (!r->values)
        return 0;
    switch (sign->what) {
    case AND:
        *out = a && b;
        break;
    case EQUAL:
        *out = a == b;
        break;
    case AT_MOST:
        *out = a <= b;
        break;
    case AT_LEAST:
        *out = a >= b;
        break;
    case LEAST:
        *out = a < b ? a : b;
        break;
    case ADD:
        overflow = __builtin_add_overflow(a, b, out);
        break;
    case SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, out);
        break;
    case MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, out);
        break;
    default:
        if (b < 1)
            return error_set(r->err, "'%.100s': a division by less than 1", r->text);
        *out = sign->what == REST ? a % b : a / b + (sign->what == CEIL && a % b > 0);
    }
    return overflow ? error_set(r->err, "'%.100s': a number beyond 64 bits", r->text) : 0;
}

static int read_signs(struct formula_reader *r, int64_t *out, int strength);

static int read_number_or_name(struct formula_reader *r, int64_t *out)
{
    static const char *const names[PLAN_INPUTS] = {"m", "n", "k", "batch", "sms"};
    char word[24] = "";
    const size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (!length || length >= sizeof(word))
        return refuse(r, length ? "a word that is too long" : "a value is missing");
    memcpy(word, r->at, length);
    *out = 0;
    if (*word >= '0' && *word <= '9') {
        int64_t number;
        if (parse_int64(&number, word))
            return refuse(r, "no whole number of 64 bits");
        *out = r->values ? number : 0;
        r->at += length;
        return 0;
    }
    for (size_t i = 0; i < PLAN_INPUTS; i++) {
        if (strcmp(word, names[i]) == 0) {
            *out = r->values ? r->values[i] : 0;
            r->at += length;
            return 0;
        }
    }
    return error_set(r->err, "'%.100s': nothing is called %s", r->text, word);
}

static int read_value(struct formula_reader *r, int64_t *out)
{
    static const struct sign negative = {"-", STRONGEST, SUBTRACT};
    int64_t first, second;
    if (take(r, "-"))
        return read_signs(r, &second, STRONGEST) || work_out(out, r, &negative, 0, second) ? -1 : 0;
    if (take(r, "("))
        return read_signs(r, out, WEAKEST) ? -1 : take(r, ")") ? 0 : refuse(r, "a ) is missing");
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (!take(r, functions[i].text))
            continue;
        if (!take(r, "("))
            return refuse(r, "a ( is missing");
        if (read_signs(r, &first, WEAKEST))
            return -1;
        if (!take(r, ","))
            return refuse(r, "a second value is missing");
        if (read_signs(r, &second, WEAKEST))
            return -1;
        return take(r, ")") ? work_out(out, r, &functions[i], first, second)
                            : refuse(r, "a ) is missing");
    }
    return read_number_or_name(r, out);
}

// The operator that follows, if it binds at least so strongly.
static const struct sign *next_sign(struct formula_reader *r, int strength)
{
    for (size_t i = 0; i < ARRAY_COUNT(signs); i++) {
        if (signs[i].strength >= strength && take(r, signs[i].text))
            return &signs[i];
    }
    return NULL;
}

// Reads a value, and the operators after it that bind at least so strongly, from left to right.
static int read_signs(struct formula_reader *r, int64_t *out, int strength)
{
    const struct sign *sign;
    int64_t second;
    *out = 0;
    if (++r->level > LEVELS)
        return refuse(r, "more than 64 levels");
    if (read_value(r, out))
        return -1;
    while ((sign = next_sign(r, strength)) != NULL) {
        if (read_signs(r, &second, sign->strength + 1) || work_out(out, r, sign, *out, second))
            return -1;
    }
    r->level--;
    return 0;
}

int plan_formulas(int64_t *out, size_t *count, size_t most, const char *text,
                  const int64_t values[PLAN_INPUTS], struct error *err)
{
    struct formula_reader r = {.text = text, .at = text, .values = values, .err = err};
    size_t found = 0;
    do {
        if (found == most)
            return error_set(err, "'%.100s': %zu %s at most", text, most,
                             plural(most, "value", "values"));
        if (read_signs(&r, &out[found], WEAKEST))
            return -1;
        found++;
    } while (take(&r, ","));
    if (*r.at)
        return refuse(&r, "an operator is missing");
    *count = found;
    return 0;
}

// ==== a plan's text ====
//
// Reads a plan from its first line to its last; so a tensormap must stand above the launches that
// take it. Then the whole plan is checked.

struct plan_reader {
    struct launch_plan *plan;
    const struct config_entry *entry; // the entry that is being read
    void *object;                     // the struct that its section fills
    struct error *err;
};

// The value of the entry; "" if it has none.
static const char *plan_text(const struct plan_reader *r)
{
    return r->entry->value ? r->entry->value : "";
}

// Writes an error "LABEL:LINE: [SECTION] KEY: TEXT" and returns -1.
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

// ---- values of keys ----
//
// Reads the values of a plan's keys: formulas and lists of them, places in memory, and parameters.
// A name in a value is looked up.

static const char buffer_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

// Reads at most `most` formulas. They are only checked here, and computed later for each problem.
static int plan_read_formulas(struct plan_formula *out, size_t most, const struct plan_reader *r,
                              const char *text)
{
    int64_t nothing[RECORD_MAP_DIMS];
    size_t count;
    struct error why;
    if (plan_formulas(nothing, &count, most, text, NULL, &why))
        return plan_refuse(r, "%.600s", why.text);
    *out = (struct plan_formula){arena_strdup(&r->plan->arena, text), count, r->entry->line};
    return 0;
}

// Takes the first word off `text`. *rest points to the text after it, without blanks.
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
    place.kind = PLAN_BUFFER;
    if (record_buffer_parse(&place.buffer, name) || place.buffer > RECORD_C)
        return plan_refuse(r, "%s is neither a, b, c nor null", name);
    if (*rest && *rest != '+')
        return plan_refuse(r, "'%.60s': after a place stands + and a number of bytes", rest);
    if (*rest && plan_read_formulas(&place.offset, 1, r, rest + 1))
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
    return plan_refuse(r, "there is no [tensormap \"%.60s\"] above", name);
}

static int plan_read_value(struct plan_value *out, const struct plan_reader *r)
{
    static const struct {
        const char *name;
        enum plan_type type;
    } types[] = {{"pointer", PLAN_POINTER}, {"int8", PLAN_INT8},          {"int16", PLAN_INT16},
                 {"int32", PLAN_INT32},     {"int64", PLAN_INT64},        {"float", PLAN_FLOAT},
                 {"double", PLAN_DOUBLE},   {"tensormap", PLAN_TENSORMAP}};
    struct plan_value value = {0};
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
        status = plan_read_formulas(&value.number, 1, r, rest);
    }
    if (status == 0)
        *out = value;
    return status;
}

// ---- the keys ----
//
// A table of the keys that a plan may have: section, key, how the value is read, and where
// it is stored.

enum { VALUES_MAX = 512, FILE_NAME = 200, FUNCTION_NAME = 4000 };

struct plan_key;

typedef int key_reader(void *field, const struct plan_key *key, const struct plan_reader *r);

struct plan_key {
    const char *section, *key;
    key_reader *read;
    size_t offset; // in the struct that the section fills
    uint32_t most; // most elements of a list
};

// ---- readers of values ----

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
    if (read_number(&number, SPLIT_SPREAD, INT32_MAX, r))
        return -1;
    *(int32_t *)field = (int32_t)number;
    return 0;
}

static int read_list(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    return plan_read_formulas(field, key->most, r, plan_text(r));
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

// Reads "none" or a number; record_map_check() checks whether the number is allowed.
static int read_bytes(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    int64_t number = 0;
    (void)key;
    if (strcmp(plan_text(r), "none") != 0 && read_number(&number, 0, 256, r))
        return -1;
    *(uint32_t *)field = (uint32_t)number;
    return 0;
}

static int read_parameter(void *field, const struct plan_key *key, const struct plan_reader *r)
{
    struct plan_launch *launch = field;
    (void)key;
    if (launch->parameter_count == VALUES_MAX)
        return plan_refuse(r, "more than %d parameters", VALUES_MAX);
    if (!launch->parameters)
        launch->parameters = arena_alloc(&r->plan->arena, VALUES_MAX * sizeof(*launch->parameters));
    return plan_read_value(&launch->parameters[launch->parameter_count++], r);
}

// ---- the table ----

static const struct plan_key keys[] = {
#define AT(type, member) offsetof(struct type, member)
    {"kernel", "name", read_name, AT(launch_plan, name), 0},
    {"kernel", "summary", read_text, AT(launch_plan, summary), 0},
    {"kernel", "in", read_dtype, AT(launch_plan, traits.in), 0},
    {"kernel", "out", read_dtype, AT(launch_plan, traits.out), 0},
    {"kernel", "acc", read_dtype, AT(launch_plan, traits.acc), 0},
    {"kernel", "layout", read_layout, AT(launch_plan, layout), 0},
    {"kernel", "batched", read_bool, AT(launch_plan, batched), 0},
    {"kernel", "supports", read_list, AT(launch_plan, supports), 1},
    {"kernel", "tile", read_tile, AT(launch_plan, traits), 0},
#define X(name) {"kernel", #name, read_trait, AT(launch_plan, traits.name), 0},
    TRAITS(X)
#undef X
        {"tensormap", "place", read_place, AT(plan_map, place), 0},
    {"tensormap", "type", read_element, AT(plan_map, type), 0},
    {"tensormap", "dims", read_list, AT(plan_map, dims), RECORD_MAP_DIMS},
    {"tensormap", "strides", read_list, AT(plan_map, strides), RECORD_MAP_DIMS - 1},
    {"tensormap", "box", read_list, AT(plan_map, box), RECORD_MAP_DIMS},
    {"tensormap", "swizzle", read_bytes, AT(plan_map, swizzle), 0},
    {"tensormap", "promote", read_bytes, AT(plan_map, promote), 0},
    {"launch", "cubin", read_file, AT(plan_launch, cubin), 0},
    {"launch", "entry", read_function, AT(plan_launch, entry), 0},
    {"launch", "grid", read_list, AT(plan_launch, grid), PLAN_THREE},
    {"launch", "block", read_list, AT(plan_launch, block), PLAN_THREE},
    {"launch", "cluster", read_list, AT(plan_launch, cluster), PLAN_THREE},
    {"launch", "shared", read_list, AT(plan_launch, shared), 1},
    {"launch", "parameter", read_parameter, 0, 0},
#undef AT
};

// Compares a written key with a trait's name, which has _ where a key has -.
static bool is_key(const char *written, const char *key)
{
    while (*key && (*written == *key || (*written == '-' && *key == '_'))) {
        written++;
        key++;
    }
    return *key == *written;
}

// Stores the entry's value in the struct that its section fills.
static int plan_read_key(const struct plan_reader *r)
{
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (strcmp(keys[i].section, r->entry->section) == 0 && is_key(r->entry->key, keys[i].key))
            return keys[i].read((char *)r->object + keys[i].offset, &keys[i], r);
    }
    return plan_refuse(r, "there is no such key");
}

enum { SECTIONS_MAX = 64 };

// ---- names ----

static bool is_name(const char *text, const char *letters)
{
    return *text && strspn(text, letters) == strlen(text) && strlen(text) <= 40;
}

// Checks [section "NAME"]: the name must be new among sections of its kind.
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

// Begins a section: makes the struct that it fills.
static int new_section(struct plan_reader *r)
{
    struct launch_plan *p = r->plan;
    const struct config_entry *e = r->entry;
    const char *name = arena_strdup(&p->arena, e->subsection);
    if (strcmp(e->section, "tensormap") == 0) {
        if (check_name(r, &p->maps[0].name, sizeof(*p->maps), p->map_count))
            return -1;
        r->object = &p->maps[p->map_count++];
        *(struct plan_map *)r->object = (struct plan_map){
            .name = name, .line = e->line, .type = RECORD_MAP_TYPES, .promote = 128};
    } else if (strcmp(e->section, "launch") == 0) {
        if (check_name(r, &p->launches[0].name, sizeof(*p->launches), p->launch_count))
            return -1;
        r->object = &p->launches[p->launch_count++];
        *(struct plan_launch *)r->object = (struct plan_launch){.name = name, .line = e->line};
    } else if (strcmp(e->section, "let") == 0) {
        return plan_refuse(r, "is gone: write each formula where its name stands");
    } else if (strcmp(e->section, "kernel") != 0) {
        return plan_refuse(r, "there are kernel, tensormap and launch");
    } else if (*e->subsection) {
        return plan_refuse(r, "has no name");
    } else {
        r->object = p;
        p->line = e->line;
    }
    return 0;
}

// Whether a key stands twice in a section, where one would hide the other; only `parameter` may.
static bool stands_twice(const struct config_file *config, size_t index)
{
    const struct config_entry *e = &config->entries[index];
    if (strcmp(e->key, "parameter") == 0)
        return false;
    for (size_t i = 0; i < index; i++) {
        const struct config_entry *o = &config->entries[i];
        if (strcmp(o->section, e->section) == 0 && strcmp(o->subsection, e->subsection) == 0 &&
            strcmp(o->key, e->key) == 0)
            return true;
    }
    return false;
}

static int read_entries(struct plan_reader *r, const struct config_file *config)
{
    for (size_t i = 0; i < config->count; i++) {
        r->entry = &config->entries[i];
        if (!*r->entry->key) {
            if (new_section(r))
                return -1;
            continue;
        }
        if (stands_twice(config, i))
            return plan_refuse(r, "stands twice");
        if (plan_read_key(r))
            return -1;
    }
    return 0;
}

// ---- the whole ----

static int lacks(const struct launch_plan *plan, uint32_t line, const char *section,
                 const char *name, const char *what, struct error *err)
{
    return error_set(err, "%.200s:%u: [%s \"%s\"] needs %s", plan->label, line, section, name,
                     what);
}

static int check_map(const struct launch_plan *plan, const struct plan_map *m, struct error *err)
{
    const size_t rank = m->dims.count;
    if (m->type == RECORD_MAP_TYPES || m->place.kind != PLAN_BUFFER)
        return lacks(plan, m->line, "tensormap", m->name, "a type and a place", err);
    if (!rank || m->box.count != rank || m->strides.count != rank - 1)
        return lacks(plan, m->line, "tensormap", m->name,
                     "dims, a box of as many, and one stride fewer", err);
    return 0;
}

static int check_whole(const struct launch_plan *plan, struct error *err)
{
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct plan_launch *l = &plan->launches[i];
        if (!l->cubin || !l->entry || !l->grid.text || !l->block.text)
            return lacks(plan, l->line, "launch", l->name, "cubin, entry, grid and block", err);
    }
    for (size_t i = 0; i < plan->map_count; i++) {
        if (check_map(plan, &plan->maps[i], err))
            return -1;
    }
    if (!*plan->name || !plan->launch_count)
        return error_set(err, "%.200s: a plan needs a [kernel] with a name, and a [launch]",
                         plan->label);
    return 0;
}

// The values of formulas without names, which are the same for every problem; 0 for others, and
// `otherwise` for a formula that is missing.
static void constants_of(int32_t out[PLAN_THREE], const struct plan_formula *formula,
                         int32_t otherwise)
{
    static const int64_t none[PLAN_INPUTS] = {0};
    int64_t values[PLAN_THREE];
    size_t count = 0;
    struct error err;
    const bool given = formula->text != NULL;
    const bool known = given && !strpbrk(formula->text, "abcdefghijklmnopqrstuvwxyz") &&
                       plan_formulas(values, &count, PLAN_THREE, formula->text, none, &err) == 0;
    for (size_t i = 0; i < PLAN_THREE; i++) {
        out[i] = given && !known ? 0 : otherwise;
        if (i < count)
            out[i] = values[i] >= 0 && values[i] <= INT32_MAX ? (int32_t)values[i] : 0;
    }
}

// Takes traits that launches state already, so that [kernel] need not repeat them.
static void fill_traits(struct launch_plan *plan)
{
    struct traits *t = &plan->traits;
    const struct plan_launch *l = &plan->launches[0];
    int32_t block[PLAN_THREE], cluster[PLAN_THREE], shared[PLAN_THREE], threads = 1;
    constants_of(block, &l->block, 1);
    constants_of(cluster, &l->cluster, 1);
    constants_of(shared, &l->shared, 0);
    for (int d = 0; d < PLAN_THREE; d++)
        threads = block[d] <= 1024 && threads <= 1024 ? threads * block[d] : 0;
    t->threads = t->threads ? t->threads : threads <= 1024 ? threads : 0;
    t->smem_bytes = t->smem_bytes ? t->smem_bytes : shared[0];
    t->cluster_m = t->cluster_m ? t->cluster_m : cluster[0];
    t->cluster_n = t->cluster_n ? t->cluster_n : cluster[1];
}

int plan_parse(struct launch_plan *out, const char *text, size_t size, const char *label,
               struct error *err)
{
    struct config_file config;
    if (config_parse(&config, text, size, label, err))
        return -1;
    struct launch_plan plan = {.summary = "",
                               .layout = LAYOUT_TN,
                               .traits = {.in = DTYPE_BF16, .out = DTYPE_BF16, .acc = DTYPE_FP32}};
    plan.label = arena_strdup(&plan.arena, label);
    plan.maps = arena_alloc(&plan.arena, SECTIONS_MAX * sizeof(*plan.maps));
    plan.launches = arena_alloc(&plan.arena, SECTIONS_MAX * sizeof(*plan.launches));
    struct plan_reader r = {.plan = &plan, .err = err};
    const int status = read_entries(&r, &config) || check_whole(&plan, err) ? -1 : 0;
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

// ==== a plan's record of a problem ====
//
// Makes launches from a plan and a problem. Addresses stay open, as in every record.

enum { POINTER_BYTES = 8 };

// A record being made from a plan.
struct making {
    const struct launch_plan *plan;
    const struct problem *problem;
    int64_t values[PLAN_INPUTS]; // by the names that formulas may use
    struct record record;
    struct arena *arena;
    struct error *err;
};

static const int64_t bytes_most = INT64_MAX / 8;

enum { SHARED_MOST = 1 << 20 };

// Writes an error "LABEL:LINE: WHAT: WHY for PROBLEM" and returns -1.
static int plan_wrong(const struct making *m, uint32_t line, const char *what, const char *why)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, m->problem);
    return error_set(m->err, "%.200s:%u: %s: %.500s for %s", m->plan->label, line, what, why,
                     problem);
}

// Computes the formulas and checks each result against its range. There is one range for each of
// `most` formulas, or one for all.
static int plan_numbers(int64_t *out, const struct making *m, const struct plan_formula *formula,
                        int64_t min, const int64_t *most, const char *what)
{
    struct error why;
    size_t count;
    if (plan_formulas(out, &count, formula->count, formula->text, m->values, &why))
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

// Computes one formula; `otherwise` is its value if the plan does not give it.
static int plan_number(int64_t *out, const struct making *m, const struct plan_formula *formula,
                       int64_t otherwise, int64_t min, int64_t max, const char *what)
{
    *out = otherwise;
    return formula->text ? plan_numbers(out, m, formula, min, &max, what) : 0;
}

static struct making making_of(const struct launch_plan *plan, const struct problem *problem,
                               int64_t sms, struct arena *arena, struct error *err)
{
    return (struct making){.plan = plan,
                           .problem = problem,
                           .values = {problem->m, problem->n, problem->k, problem->batch, sms},
                           .arena = arena,
                           .err = err};
}

// Finds the key of [kernel] that says no to the problem; NULL: none does.
static int find_objection(const char **out, const struct making *m)
{
    const struct launch_plan *plan = m->plan;
    const struct problem *p = m->problem;
    int64_t value;
    *out = !problem_is_plain(p) || p->epilogue != EPILOGUE_NONE ? "a plan does plain products"
           : p->in != plan->traits.in                           ? "in says no"
           : p->out != plan->traits.out                         ? "out says no"
           : p->layout != plan->layout                          ? "layout says no"
           : p->batch != 1 && !plan->batched                    ? "batched says no"
                                                                : NULL;
    if (!*out && plan_number(&value, m, &plan->supports, 1, INT64_MIN, INT64_MAX, "supports"))
        return -1;
    if (!*out && !value)
        *out = "supports says no";
    return 0;
}

int plan_supports(bool *yes, const struct launch_plan *plan, const struct problem *problem,
                  int64_t sms, struct error *err)
{
    const struct making m = making_of(plan, problem, sms, NULL, err);
    const char *objection;
    const int status = find_objection(&objection, &m);
    *yes = !objection;
    return status;
}

// ---- parameters ----
//
// Makes the bytes of a launch's parameters, with open addresses and TMA descriptors.

// The most bytes of all parameters (CUDA programming guide, 12.1 and later), and of one parameter
// in a record's line.
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

// The alignment of a parameter: 64 bytes for a descriptor, otherwise its own size.
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

// Gives each parameter an offset: the one that the device code states, or the next free one.
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
        return 0; // the parameter's bytes are zero already
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

// Fills in a launch's parameters, addresses and tensor maps. Without an `entry` the parameters are
// laid out like the members of a struct in C.
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

// Reads up to three dimensions; missing ones are 1.
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

static int refuse_problem(const struct making *m, const char *objection)
{
    char problem[PROBLEM_TEXT];
    const struct launch_plan *plan = m->plan;
    const bool by_formula = strncmp(objection, "supports", strlen("supports")) == 0;
    problem_format(problem, m->problem);
    return error_set(m->err, "%.200s:%u: %s does not do %s: %s", plan->label,
                     by_formula ? plan->supports.line : plan->line, plan->name, problem, objection);
}

static int make_all(struct making *m, const struct plan_entry *entries)
{
    const struct launch_plan *plan = m->plan;
    const char *objection;
    if (find_objection(&objection, m))
        return -1;
    if (objection)
        return refuse_problem(m, objection);
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
    struct making m = making_of(plan, problem, sms, arena, err);
    if (make_all(&m, entries))
        return -1;
    *out = m.record;
    return 0;
}
