// SPDX-License-Identifier: Apache-2.0
//
// Writes plans for kernels of Triton. C = A B^T is assumed, as layout TN has it: A is m rows of k,
// B is n rows of k.
#include "ci/plan/skeleton.h"

#include "baselines/json_read.h"
#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/record/record.h"
#include "model/traits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Triton's cache ----

// Reads Triton's metadata, as its launcher does (triton/backends/nvidia/driver.py), and the
// function's line of its MLIR.

// ---- the metadata ----

// Triton counts the element types of descriptors as the device does, the driver in another way.
static uint32_t map_type(int64_t type)
{
    static const uint32_t moved[] = {
        [8] = RECORD_MAP_FP32_FTZ, [9] = RECORD_MAP_FP64, [10] = RECORD_MAP_BF16};
    return type >= 8 && type <= 10 ? moved[type] : (uint32_t)type;
}

static int read_map(struct triton_map *out, const struct node *node)
{
    const int64_t type = node_int(node, "elem_type", -1), swizzle = node_int(node, "swizzle", -1);
    const struct node *block = node_member(node, "block_size");
    if (type < 0 || type >= RECORD_MAP_TYPES || swizzle < 0 || swizzle > 3 || !block ||
        block->type != NODE_ARRAY || block->count < 1 || block->count > RECORD_MAP_DIMS)
        return -1;
    *out = (struct triton_map){.type = map_type(type),
                               .swizzle = swizzle ? 16U << swizzle : 0,
                               .rank = (uint32_t)block->count};
    // The last dimension of Triton is the first of a descriptor.
    uint32_t at = out->rank;
    for (const struct node *side = block->children; side; side = side->next) {
        const double box = node_value(side);
        if (!(box >= 1 && box <= 256))
            return -1;
        out->box[--at] = (uint32_t)box;
    }
    return 0;
}

static int read_maps(struct triton_entry *e, const struct node *list)
{
    const bool none = !list || list->type == NODE_NULL;
    if (!none && (list->type != NODE_ARRAY || list->count > TRITON_PARAMETERS))
        return -1;
    for (const struct node *node = none ? NULL : list->children; node; node = node->next) {
        if (read_map(&e->maps[e->map_count++], node))
            return -1;
    }
    return 0;
}

static bool is_function(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    return *name && *name != '.' && strspn(name, allowed) == strlen(name);
}

static int take_metadata(struct triton_entry *e, const struct node *node, const char *label,
                         struct error *err)
{
    static const int64_t most = 1 << 30;
    const char *name = node_text(node, "name", "");
    const char *backend = node_text(node_member(node, "target"), "backend", "");
    if (strcmp(backend, "cuda") != 0)
        return error_set(err, "%s: no metadata of Triton for CUDA (target.backend is '%.20s')",
                         label, backend);
    if (!is_function(name) || !text_copy(e->name, sizeof(e->name), name))
        return error_set(err, "%s: '%.60s' is no function's name", label, name);
    const char *version = node_text(node, "triton_version", "?");
    snprintf(e->version, sizeof(e->version), "%.*s",
             (int)strspn(version, "abcdefghijklmnopqrstuvwxyz0123456789.+-"), version);
    e->warps = node_int(node, "num_warps", 0);
    e->ctas = node_int(node, "num_ctas", 1);
    e->stages = node_int(node, "num_stages", 0);
    e->shared = node_int(node, "shared", -1);
    e->scratch_bytes = node_int(node, "global_scratch_size", 0);
    e->scratch_align = node_int(node, "global_scratch_align", 1);
    e->profile_bytes = node_int(node, "profile_scratch_size", 0);
    e->profile_align = node_int(node, "profile_scratch_align", 1);
    e->cooperative = node_bool(node, "launch_cooperative_grid", false);
    e->programmatic = node_bool(node, "launch_pdl", false);
    if (e->warps < 1 || e->warps > 32 || e->ctas < 1 || e->ctas > 16 || e->shared < 0 ||
        e->shared > most || e->stages < 0 || e->stages > 1000 || e->scratch_bytes < 0 ||
        e->scratch_bytes > most || e->scratch_align < 1 || e->scratch_align > 512 ||
        e->profile_bytes < 0 || e->profile_bytes > most || e->profile_align < 1 ||
        e->profile_align > 512)
        return error_set(err, "%s: a number of %s is missing or out of range", label, e->name);
    if (read_maps(e, node_member(node, "tensordesc_meta")))
        return error_set(err, "%s: tensordesc_meta of %s cannot be understood", label, e->name);
    return 0;
}

int triton_read_json(struct triton_entry *out, const char *json, size_t length, const char *label,
                     struct error *err)
{
    struct triton_entry entry = {0};
    struct arena arena = {0};
    const struct node *node;
    const int status = node_parse(&node, json, length, label, &arena, err) ||
                               take_metadata(&entry, node, label, err)
                           ? -1
                           : 0;
    arena_free(&arena);
    if (status == 0)
        *out = entry;
    return status;
}

// ---- the function's line ----

// Up to the comma or bracket that ends it, over whatever is in brackets or quotes.
static size_t argument_length(const char *text)
{
    size_t depth = 0, i = 0;
    for (bool quoted = false; text[i] && text[i] != '\n'; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (strchr("(<{[", text[i]))
            depth++;
        else if (depth == 0 && strchr(",)", text[i]))
            break;
        else if (strchr(")>}]", text[i]) && depth)
            depth--;
    }
    return i;
}

static void copy_word(char out[TRITON_TEXT], const char *from)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t length = strspn(from, letters);
    snprintf(out, TRITON_TEXT, "%.*s", (int)length, from);
}

// "tensor<128x64xbf16>": the rank and the element.
static void read_block(struct triton_parameter *p, const char *text)
{
    while (*text >= '0' && *text <= '9') {
        text += strspn(text, "0123456789");
        if (*text++ != 'x')
            return;
        p->rank++;
    }
    copy_word(p->element, text);
}

// "%a: !tt.ptr<bf16> {tt.divisibility = 16 : i32} loc("a"(#loc))"
static int read_argument(struct triton_parameter *p, const char *text)
{
    static const char pointer[] = "!tt.ptr<", block[] = "!tt.tensordesc<tensor<",
                      divisibility[] = "tt.divisibility = ";
    const char *type = strstr(text, ": "), *name = strstr(text, "loc(\"");
    *p = (struct triton_parameter){.divisible = 1, .type = TRITON_OTHER};
    if (*text != '%' || !type)
        return -1;
    // MLIR numbers what has one name; the source's is in loc().
    copy_word(p->name, name ? name + 5 : text + 1);
    type += 2;
    if (strncmp(type, pointer, sizeof(pointer) - 1) == 0) {
        p->type = TRITON_POINTER;
        copy_word(p->element, type + sizeof(pointer) - 1);
    } else if (strncmp(type, block, sizeof(block) - 1) == 0) {
        p->type = TRITON_TENSORDESC;
        read_block(p, type + sizeof(block) - 1);
    } else if (*type == 'i' || *type == 'f') {
        p->type = *type == 'i' ? TRITON_INTEGER : TRITON_FLOAT;
        p->bits = (uint32_t)strtoul(type + 1, NULL, 10);
    }
    const char *multiple = strstr(text, divisibility);
    const long value = multiple ? strtol(multiple + sizeof(divisibility) - 1, NULL, 10) : 1;
    p->divisible = value >= 1 && value <= 4096 ? value : 1;
    return 0;
}

// "... : tensor<128x64xbf16> * tensor<64x256xbf16> -> tensor<128x256xf32>"
static void read_product(struct triton_entry *e, const char *ir)
{
    const char *dot = strstr(ir, "= tt.dot ");
    const size_t line = dot ? strcspn(dot, "\n") : 0;
    const char *left = dot ? memmem(dot, line, ": tensor<", 9) : NULL;
    int m, k, k_too, n, end = 0;
    if (!left || sscanf(left, ": tensor<%5dx%5dx%*[a-zA-Z0-9]> * tensor<%5dx%5dx%n", &m, &k, &k_too,
                        &n, &end) != 4)
        return;
    if (!end || k != k_too || m < 1 || n < 1 || k < 1)
        return;
    e->tile[0] = m;
    e->tile[1] = n;
    e->tile[2] = k;
    e->tf32 = memmem(dot, line, "inputPrecision = tf32", 21) != NULL;
}

int triton_read_ir(struct triton_entry *entry, const char *ir, const char *label, struct error *err)
{
    char *begin = xprintf("tt.func public @%s(", entry->name);
    const char *at = strstr(ir, begin);
    at = at ? at + strlen(begin) : NULL;
    free(begin);
    if (!at)
        return error_set(err, "%s: there is no function %.200s", label, entry->name);
    while (*at && *at != ')') {
        const size_t length = argument_length(at);
        char *argument = xprintf("%.*s", (int)(length < 4096 ? length : 4096), at);
        struct triton_parameter *p = &entry->parameters[entry->parameter_count];
        const int status =
            entry->parameter_count == TRITON_PARAMETERS ? -1 : read_argument(p, argument);
        free(argument);
        if (status)
            return error_set(err, "%s: parameter %u of %.200s cannot be understood", label,
                             entry->parameter_count, entry->name);
        entry->parameter_count++;
        at += length;
        at += *at == ',' ? 1 + strspn(at + 1, " ") : 0;
    }
    entry->persistent = strstr(ir, "tt.get_num_programs") != NULL;
    read_product(entry, ir);
    return 0;
}

static const char todo[] = "  # TODO: a guess";

// ---- guesses ----

// What a matrix's rows and columns are; the columns lie side by side.
static const struct operand {
    char letter;
    const char *rows, *columns;
} operands[] = {{'a', "m", "k"}, {'b', "n", "k"}, {'c', "m", "n"}};

// "a", "A_ptr", "a_desc": by the first letter, if the name has no other word for it.
static const struct operand *operand_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(operands); i++) {
        if (tolower((unsigned char)name[0]) == operands[i].letter && (!name[1] || name[1] == '_'))
            return &operands[i];
    }
    return NULL;
}

// m, n, k, lda, stride_am, ...; NULL: nothing comes to mind.
static const char *integer_of(const char *name)
{
    static const char *const known[][2] = {
        {"m", "m"},         {"n", "n"},         {"k", "k"},         {"lda", "k"},
        {"ldb", "k"},       {"ldc", "n"},       {"stride_am", "k"}, {"stride_ak", "1"},
        {"stride_bn", "k"}, {"stride_bk", "1"}, {"stride_cm", "n"}, {"stride_cn", "1"},
        {"num_sms", "sms"}, {"batch", "batch"}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strcasecmp(known[i][0], name) == 0)
            return known[i][1];
    }
    return NULL;
}

static const char *dtype_of(const char *element, bool tf32)
{
    static const char *const known[][2] = {
        {"bf16", "bf16"}, {"f16", "fp16"}, {"f8E4M3FN", "e4m3"}, {"f8E5M2", "e5m2"}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strcmp(known[i][0], element) == 0)
            return known[i][1];
    }
    return strcmp(element, "f32") ? NULL : tf32 ? "tf32" : "fp32";
}

static const char *element_of(const struct triton_entry *e, char letter)
{
    for (uint32_t i = 0; i < e->parameter_count; i++) {
        const struct operand *operand = operand_of(e->parameters[i].name);
        if (operand && operand->letter == letter && *e->parameters[i].element)
            return e->parameters[i].element;
    }
    return "";
}

// ---- sections ----

static void put_dtype(struct buffer *out, const char *key, const char *element, bool tf32)
{
    const char *dtype = dtype_of(element, tf32);
    buffer_printf(out, "\t%s = %s%s\n", key, dtype ? dtype : "bf16", dtype ? "" : todo);
}

// Triton compiles for what it has seen: a multiple of 16 stays one.
static void put_supports(struct buffer *out, const struct triton_entry *e)
{
    bool begun = false;
    for (uint32_t i = 0; i < e->parameter_count; i++) {
        const struct triton_parameter *p = &e->parameters[i];
        const char *value = p->type == TRITON_INTEGER ? integer_of(p->name) : NULL;
        if (!value || p->divisible == 1 || !strchr("mnk", *value))
            continue;
        buffer_printf(out, "%s%s %% %lld == 0", begun ? " && " : "\tsupports = ", value,
                      (long long)p->divisible);
        begun = true;
    }
    buffer_puts(out, begun ? "\n" : "\t# supports = m % 16 == 0\n");
}

static void put_kernel(struct buffer *out, const struct triton_entry *e)
{
    const int32_t *tile = e->tile;
    buffer_puts(out, "[kernel]\n\tname = ");
    for (const char *c = e->name; *c && c - e->name < KERNEL_NAME_TEXT - 1; c++) {
        const char lower = (char)tolower((unsigned char)*c);
        if (c == e->name && !isalnum((unsigned char)*c))
            buffer_puts(out, "k");
        else
            buffer_printf(out, "%c", lower == '_' || lower == '$' ? '-' : lower);
    }
    buffer_printf(out, "\n\tsummary = %s of Triton %s\n", e->persistent ? "persistent" : "plain",
                  e->version);
    put_dtype(out, "in", element_of(e, 'a'), e->tf32);
    put_dtype(out, "out", element_of(e, 'c'), false);
    buffer_puts(out, "\tacc = fp32\n\tlayout = tn\n");
    if (tile[0])
        buffer_printf(out, "\ttile = %dx%dx%d\n", tile[0], tile[1], tile[2]);
    else
        buffer_printf(out, "\ttile = 128x128x64%s\n", todo);
    buffer_printf(out, "\tstages = %lld\n\tpersistent = %d\n", (long long)e->stages, e->persistent);
    put_supports(out, e);
}

static void put_values(struct buffer *out, const struct triton_entry *e)
{
    const int m = e->tile[0] ? e->tile[0] : 128, n = e->tile[1] ? e->tile[1] : 128;
    buffer_printf(out,
                  "\n[let]\n\t# What the caller writes in kernel[grid]%s.\n"
                  "\ttiles = ceil_div(m, %d) * ceil_div(n, %d)\n\tblocks = %s%s\n",
                  e->ctas > 1 ? ", times num_ctas" : "", m, n,
                  e->persistent ? "min(sms, tiles)" : "tiles", todo);
    if (e->ctas > 1)
        buffer_printf(out, "\tctas = %lld\n", (long long)e->ctas);
}

static void put_scratch(struct buffer *out, const char *name, int64_t bytes, int64_t align,
                        int64_t ctas)
{
    if (bytes)
        buffer_printf(out, "\n[scratch \"%s\"]\n\tbytes = %lld * blocks%s\n\talign = %lld\n", name,
                      (long long)bytes, ctas > 1 ? " * ctas" : "", (long long)align);
}

static void put_map(struct buffer *out, const struct triton_map *map, const char *name,
                    const char *bytes)
{
    const struct operand *operand = operand_of(name);
    const char *rows = operand ? operand->rows : "m", *columns = operand ? operand->columns : "k";
    const char *guess = operand && map->rank == 2 ? "" : todo;
    buffer_printf(out, "\n[tensormap \"%s\"]\n\tplace = %c%s\n\ttype = %s\n", name,
                  operand ? operand->letter : 'a', guess, record_map_type_name(map->type));
    buffer_printf(out, "\tdims = %s, %s%s\n\tstrides = %s * %s\n\tbox =", columns, rows, guess,
                  bytes, columns);
    for (uint32_t i = 0; i < map->rank; i++)
        buffer_printf(out, "%s%u", i ? ", " : " ", map->box[i]);
    buffer_printf(out, "\n\tswizzle = %u\n\tpromote = 128\n", map->swizzle);
}

static const char *element_bytes(uint32_t type)
{
    static const char *const sizes[RECORD_MAP_TYPES] = {"1", "2", "4", "4", "8", "8", "2",
                                                        "4", "8", "2", "4", "4", "4"};
    return type < RECORD_MAP_TYPES ? sizes[type] : "2";
}

static void put_maps(struct buffer *out, const struct triton_entry *e)
{
    uint32_t map = 0;
    for (uint32_t i = 0; i < e->parameter_count && map < e->map_count; i++) {
        const struct triton_parameter *p = &e->parameters[i];
        if (p->type != TRITON_TENSORDESC)
            continue;
        put_map(out, &e->maps[map], p->name, element_bytes(e->maps[map].type));
        map++;
    }
}

// ---- parameters ----

// After a descriptor come its sizes, then its strides in elements, the last of them 1.
static uint32_t put_descriptor(struct buffer *out, const struct triton_entry *e, uint32_t at)
{
    const struct triton_parameter *p = &e->parameters[at];
    const struct operand *operand = operand_of(p->name);
    const char *rows = operand ? operand->rows : "m", *columns = operand ? operand->columns : "k";
    uint32_t follow = 0;
    buffer_printf(out, "\tparameter = tensormap %s\n", p->name);
    while (at + 1 + follow < e->parameter_count && follow < 2 * p->rank &&
           e->parameters[at + 1 + follow].type == TRITON_INTEGER &&
           strcmp(e->parameters[at + 1 + follow].name, p->name) == 0)
        follow++;
    for (uint32_t i = 0; i < follow; i++) {
        const char *value = i % p->rank + 1 < p->rank ? (i < p->rank ? rows : columns)
                            : i < p->rank             ? columns
                                                      : "1";
        buffer_printf(out, "\tparameter = int%u %s%s\n", e->parameters[at + 1 + i].bits, value,
                      operand && p->rank == 2 ? "" : todo);
    }
    return 1 + follow;
}

static void put_parameter(struct buffer *out, const struct triton_parameter *p)
{
    const struct operand *operand = operand_of(p->name);
    const char *value = integer_of(p->name);
    if (p->type == TRITON_POINTER && operand)
        buffer_printf(out, "\tparameter = pointer %c\n", operand->letter);
    else if (p->type == TRITON_POINTER)
        buffer_printf(out, "\tparameter = pointer null%s of %s\n", todo, p->name);
    else if (p->type == TRITON_INTEGER && value)
        buffer_printf(out, "\tparameter = int%u %s\n", p->bits, value);
    else if (p->type == TRITON_INTEGER)
        buffer_printf(out, "\tparameter = int%u 0%s of %s\n", p->bits < 8 ? 8 : p->bits, todo,
                      p->name);
    else
        buffer_printf(out, "\tparameter = %s 1%s of %s\n", p->bits == 64 ? "double" : "float", todo,
                      p->name);
}

static void put_launch(struct buffer *out, const struct triton_entry *e)
{
    buffer_printf(out,
                  "\n[launch \"matmul\"]\n\tcubin = %s.cubin\n\tentry = %s\n\tgrid = blocks%s\n",
                  e->name, e->name, e->ctas > 1 ? " * ctas" : "");
    buffer_printf(out, "\tblock = %lld\n", 32 * (long long)e->warps);
    if (e->ctas > 1)
        buffer_puts(out, "\tcluster = ctas\n");
    buffer_printf(out, "\tshared = %lld\n", (long long)e->shared);
    if (e->cooperative)
        buffer_puts(out, "\tcooperative = true\n");
    if (e->programmatic)
        buffer_puts(out, "\tprogrammatic = true\n");
    if (!e->parameter_count)
        buffer_puts(out, "\t# TODO: no .ttir lies beside it: one `parameter = pointer a`, `= int32 "
                         "m`, ... for each\n");
    for (uint32_t i = 0; i < e->parameter_count;) {
        if (e->parameters[i].type == TRITON_TENSORDESC) {
            i += put_descriptor(out, e, i);
            continue;
        }
        put_parameter(out, &e->parameters[i]);
        i++;
    }
    buffer_printf(out,
                  "\t# Triton's own: scratch in global memory, and a profiler's\n"
                  "\tparameter = pointer %s\n\tparameter = pointer %s\n",
                  e->scratch_bytes ? "scratch" : "null", e->profile_bytes ? "profile" : "null");
}

void skeleton_print(struct buffer *out, const struct triton_entry *e)
{
    buffer_printf(out,
                  "# A plan for %s: what `plumb plan --from` could tell from Triton's cache.\n"
                  "# Look at what says TODO, then: plumb plan check THIS.plan "
                  "4096x4096x4096:%s\n\n",
                  e->name,
                  dtype_of(element_of(e, 'a'), e->tf32) ? dtype_of(element_of(e, 'a'), e->tf32)
                                                        : "bf16");
    put_kernel(out, e);
    put_values(out, e);
    put_scratch(out, "scratch", e->scratch_bytes, e->scratch_align, e->ctas);
    put_scratch(out, "profile", e->profile_bytes, e->profile_align, e->ctas);
    put_maps(out, e);
    put_launch(out, e);
}

// ---- files ----

int skeleton_write(struct buffer *out, const char *json_path, struct error *err)
{
    struct triton_entry *entry = xcalloc(1, sizeof(*entry));
    const size_t length = strlen(json_path);
    char *text = NULL, *ir = NULL, *beside = NULL;
    size_t size;
    int status = -1;
    if (length < 6 || strcmp(json_path + length - 5, ".json") != 0) {
        error_set(err, "%s: is not the .json of an entry of Triton's cache", json_path);
        goto done;
    }
    beside = xprintf("%.*s.ttir", (int)(length - 5), json_path);
    if (text_file_read(&text, &size, json_path, err) ||
        triton_read_json(entry, text, size, json_path, err))
        goto done;
    if (access(beside, R_OK) == 0 &&
        (text_file_read(&ir, &size, beside, err) || triton_read_ir(entry, ir, beside, err)))
        goto done;
    skeleton_print(out, entry);
    status = 0;
done:
    free(beside);
    free(ir);
    free(text);
    free(entry);
    return status;
}
