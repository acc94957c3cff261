// SPDX-License-Identifier: Apache-2.0
//
// Reads `using` lines: which device kernel, and the types and layouts of A, B and C.
#include "ci/init/cutlass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Bounds what hostile sources cost: `using` lines that are read, how far one reaches, kernels.
enum { USINGS_MOST = 1000, VALUE_MOST = 4096, KERNELS_MOST = 32, DEPTH_MOST = 8, OPERANDS = 3 };

static const char *const devices[] = {
    [CUTLASS_GEMM] = "cutlass::gemm::device::Gemm",
    [CUTLASS_UNIVERSAL] = "cutlass::gemm::device::GemmUniversal",
    [CUTLASS_ADAPTER] = "cutlass::gemm::device::GemmUniversalAdapter",
};

// using NAME = VALUE;
struct using
{
    const char *name, *value; // the value without blanks and without `typename`
    const char *end;          // in the text
};
struct source {
    const char *text;
    struct using items[USINGS_MOST];
    size_t count;
};

static bool in_word(int c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *squeezed(const char *at, size_t length, struct arena *arena)
{
    static const char word[] = "typename";
    char *out = arena_alloc(arena, length + 1);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isspace((unsigned char)at[i]))
            out[used++] = at[i];
        else if (used == strlen(word) && memcmp(out, word, used) == 0)
            used = 0;
    }
    out[used] = '\0';
    return out;
}

static void read_usings(struct source *out, const char *text, struct arena *arena)
{
    static const char word[] = "using";
    out->text = text;
    out->count = 0;
    for (const char *at = text; out->count < USINGS_MOST && (at = strstr(at, word));) {
        const bool begins = at == text || !in_word(at[-1]);
        const char *name = at += strlen(word);
        const size_t to_value = strcspn(name, "=;{}");
        if (!begins || !isspace((unsigned char)*name) || name[to_value] != '=')
            continue;
        const char *value = name + to_value + 1;
        const size_t length = strcspn(value, ";");
        if (length > VALUE_MOST || to_value > VALUE_MOST)
            continue;
        out->items[out->count++] = (struct using){.name = squeezed(name, to_value, arena),
                                                  .value = squeezed(value, length, arena),
                                                  .end = value + length};
        at = value + length;
    }
}

// What the name stands for in the end.
static const char *resolve(const struct source *source, const char *name)
{
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        size_t i = 0;
        while (i < source->count && strcmp(source->items[i].name, name) != 0)
            i++;
        if (i == source->count)
            break;
        name = source->items[i].value;
    }
    return name;
}

// Argument number `index` of NAME<...>; NULL: there are fewer.
static const char *argument(const char *value, size_t index, struct arena *arena)
{
    const char *begin = strchr(value, '<');
    int depth = 0;
    for (const char *at = begin ? ++begin : ""; *at && depth >= 0; at++) {
        if (depth == 0 && (*at == ',' || *at == '>')) {
            if (index-- == 0)
                return arena_strndup(arena, begin, (size_t)(at - begin));
            begin = at + 1;
        }
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
    }
    return NULL;
}

static const char *last_part(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static const char *element_type(const char *spelled, bool tensor)
{
    static const char *const types[][2] = {
        {"double", "FP64"}, {"half_t", "FP16"}, {"bfloat16_t", "BF16"}, {"tfloat32_t", "TF32"}};
    if (strcmp(spelled, "float") == 0) // tensor cores multiply it as TF32
        return tensor ? "TF32" : "FP32";
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(last_part(spelled), types[i][0]) == 0)
            return types[i][1];
    }
    return NULL;
}

// Type or layout of one operand: by its place among the arguments, or, where only a kernel is an
// argument, by the name that CUTLASS's own examples give it. "": not said.
static const char *said(const struct source *source, const struct using *kernel,
                        enum cutlass_device device, size_t operand, bool layout,
                        struct arena *arena)
{
    static const char *const names[OPERANDS + 1][2] = {{"ElementA", "LayoutA"},
                                                       {"ElementB", "LayoutB"},
                                                       {"ElementC", "LayoutC"},
                                                       {"ElementD", "LayoutD"}};
    if (device != CUTLASS_ADAPTER) {
        const char *name = argument(kernel->value, 2 * operand + layout, arena);
        return name ? resolve(source, name) : "";
    }
    const char *const *own = names[OPERANDS];
    if (operand == 2 && strcmp(resolve(source, own[layout]), own[layout]) != 0)
        return resolve(source, own[layout]);
    return resolve(source, names[operand][layout]);
}

static bool sums_in_half(const struct source *source, const struct using *kernel,
                         enum cutlass_device device, struct arena *arena)
{
    const char *named = device == CUTLASS_ADAPTER ? "ElementAccumulator"
                                                  : argument(kernel->value, 2 * OPERANDS, arena);
    // Without one it is what C is of.
    const char *type =
        named ? resolve(source, named) : said(source, kernel, device, 2, false, arena);
    return strcmp(last_part(type), "half_t") == 0;
}

// The layout of the problems: which of A and B lie along K, where C by columns is its transpose.
static const char *layout_of(const bool rows[OPERANDS])
{
    const bool swap = !rows[2];
    const bool a = swap ? !rows[1] : rows[0], b = swap ? rows[0] : !rows[1];
    return a ? b ? "TN" : "NN" : b ? "TT" : "NT";
}

static bool understand(struct signature *s, const struct source *source, const struct using *kernel,
                       struct arena *arena)
{
    const bool tensor = strstr(source->text, "OpClassTensorOp");
    const char *types[OPERANDS] = {NULL};
    bool rows[OPERANDS];
    for (size_t i = 0; i < OPERANDS; i++) {
        const char *layout = last_part(said(source, kernel, s->device, i, true, arena));
        types[i] = element_type(said(source, kernel, s->device, i, false, arena), tensor && i < 2);
        rows[i] = strcmp(layout, "RowMajor") == 0;
        if (!types[i])
            s->why = "the element types of A, B and C are not read, or not taken (FP8, integers)";
        else if (!rows[i] && strcmp(layout, "ColumnMajor") != 0)
            s->why = "the layouts of A, B and C are not read";
    }
    if (!s->why && strcmp(types[0], types[1]) != 0)
        s->why = "A and B are of two types";
    if (!s->why && sums_in_half(source, kernel, s->device, arena))
        s->why = "its sums are kept in 16 bits, which the check of results takes for wrong";
    if (s->why)
        return false;
    s->in_type = types[0];
    s->out_type = types[2];
    s->layout = layout_of(rows);
    return true;
}

// Brackets that are open between the two places; `#if` branches may count double, so never below 0.
static int depth_after(const char *from, const char *to, int depth)
{
    for (; from < to; from++) {
        depth += *from == '{';
        depth -= *from == '}' && depth > 0;
    }
    return depth;
}

// foo/bar.cu -> bar; of several kernels in one source, bar-name.
static const char *called(const char *file, const char *alias, bool several, struct arena *arena)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const char *stem = arena_strndup(arena, base, strcspn(base, "."));
    return several ? arena_printf(arena, "%s-%s", stem, alias) : stem;
}

static enum cutlass_device device_of(const char *value)
{
    const size_t length = strcspn(value, "<");
    for (size_t d = CUTLASS_GEMM; d < ARRAY_COUNT(devices); d++) {
        if (strlen(devices[d]) == length && strncmp(value, devices[d], length) == 0)
            return (enum cutlass_device)d;
    }
    return CUTLASS_NONE;
}

void cutlass_find(struct signature_list *list, const char *file, const char *text,
                  struct arena *arena)
{
    const size_t before = list->count;
    char *plain = signatures_plain(text);
    struct source *source = xcalloc(1, sizeof(*source));
    const char *seen = plain;
    int depth = 0;
    read_usings(source, plain, arena);
    for (size_t i = 0; i < source->count && list->count < before + KERNELS_MOST; i++) {
        const struct using *u = &source->items[i];
        struct signature s = {.callee = CALLEE_CUTLASS, .file = file, .name = u->name};
        s.device = device_of(u->value);
        if (s.device == CUTLASS_NONE)
            continue;
        s.called = called(file, u->name, list->count > before, arena);
        depth = depth_after(seen, u->end, depth);
        seen = u->end;
        if (depth)
            s.why = "it is named inside of a function, a class or a namespace";
        s.understood = !s.why && understand(&s, source, u, arena);
        signatures_add(list, &s, arena);
    }
    free(source);
    free(plain);
}
