// SPDX-License-Identifier: Apache-2.0
//
// Reads Triton's metadata, as its launcher does (triton/backends/nvidia/driver.py), and the
// function's line of its MLIR.
#include "ci/plan/triton.h"

#include "baselines/json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
