// SPDX-License-Identifier: Apache-2.0
//
// JSON from outside, by jansson: its values become nodes in an arena, so that what is read lives as
// long as what is made of it, and jansson is asked for nothing afterwards.
//
// jansson refuses what RFC 8259 does not allow, and a name that an object has twice, a NUL in a
// string, and numbers beyond int64 and double. It nests up to 2048 deep; less is allowed here.
#include "baselines/json_read.h"

#include "model/base.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const enum node_type types[] = {
    [JSON_OBJECT] = NODE_OBJECT,  [JSON_ARRAY] = NODE_ARRAY, [JSON_STRING] = NODE_TEXT,
    [JSON_INTEGER] = NODE_NUMBER, [JSON_REAL] = NODE_NUMBER, [JSON_TRUE] = NODE_TRUE,
    [JSON_FALSE] = NODE_FALSE,    [JSON_NULL] = NODE_NULL,
};

static const char *text_of(json_t *json, struct arena *arena)
{
    char number[NUMBER_TEXT];
    if (json_is_string(json))
        return arena_strndup(arena, json_string_value(json), json_string_length(json));
    if (json_is_integer(json))
        return arena_printf(arena, "%" PRId64, (int64_t)json_integer_value(json));
    if (!json_is_real(json))
        return NULL;
    number_text(number, json_real_value(json));
    return arena_strdup(arena, number);
}

static int convert(struct node *out, json_t *json, int depth, struct arena *arena);

static int add_child(struct node *out, struct node ***link, const char *name, json_t *json,
                     int depth, struct arena *arena)
{
    struct node *child = arena_alloc(arena, sizeof(*child));
    child->name = arena_strdup(arena, name);
    **link = child;
    *link = &child->next;
    out->count++;
    return convert(child, json, depth + 1, arena);
}

// -1: nested too deep.
static int convert(struct node *out, json_t *json, int depth, struct arena *arena)
{
    struct node **link = &out->children;
    const char *name;
    json_t *value;
    size_t i;
    out->type = types[json_typeof(json)];
    out->text = text_of(json, arena);
    if (depth == NODE_DEPTH)
        return -1;
    json_array_foreach(json, i, value)
    {
        if (add_child(out, &link, NULL, value, depth, arena))
            return -1;
    }
    json_object_foreach(json, name, value)
    {
        if (add_child(out, &link, name, value, depth, arena))
            return -1;
    }
    return 0;
}

// `lines`: `where` does not name the line yet.
static int parse(const struct node **out, const char *text, size_t length, const char *where,
                 bool lines, struct arena *arena, struct error *err)
{
    json_error_t why;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    char line[24] = "";
    if (lines)
        snprintf(line, sizeof(line), ":%d", json || why.line < 1 ? 1 : why.line);
    if (!json) // what follows "near" are bytes of the text, which may be anything
        return error_set(err, "%s%s: not JSON at byte %d: %.*s", where, line, why.position,
                         (int)(strstr(why.text, " near ") ? strstr(why.text, " near ") - why.text
                                                          : (ptrdiff_t)strlen(why.text)),
                         why.text);
    struct node *node = arena_alloc(arena, sizeof(*node));
    int status = convert(node, json, 0, arena);
    json_decref(json);
    if (status)
        return error_set(err, "%s%s: not JSON at byte 0: nested more than %d deep", where, line,
                         NODE_DEPTH);
    *out = node;
    return 0;
}

int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err)
{
    return parse(out, text, length, where, false, arena, err);
}

int node_parse_lines(const struct node **out, const char *text, size_t length, const char *where,
                     struct arena *arena, struct error *err)
{
    return parse(out, text, length, where, true, arena, err);
}

const struct node *node_member(const struct node *object, const char *name)
{
    if (!object || object->type != NODE_OBJECT)
        return NULL;
    for (const struct node *child = object->children; child; child = child->next) {
        if (strcmp(child->name, name) == 0)
            return child;
    }
    return NULL;
}

const char *node_text(const struct node *object, const char *name, const char *missing)
{
    const struct node *node = node_member(object, name);
    return node && node->type == NODE_TEXT ? node->text : missing;
}

double node_value(const struct node *node)
{
    double value;
    bool number = node && node->type == NODE_NUMBER && parse_double(&value, node->text) == 0;
    return number ? value : NAN;
}

double node_real(const struct node *object, const char *name, double missing)
{
    double value = node_value(node_member(object, name));
    return isnan(value) ? missing : value;
}

bool node_bool(const struct node *object, const char *name, bool missing)
{
    const struct node *node = node_member(object, name);
    if (!node || (node->type != NODE_TRUE && node->type != NODE_FALSE))
        return missing;
    return node->type == NODE_TRUE;
}

int64_t node_int(const struct node *object, const char *name, int64_t missing)
{
    int64_t value;
    const struct node *node = node_member(object, name);
    bool number = node && node->type == NODE_NUMBER && parse_int64(&value, node->text) == 0;
    return number ? value : missing;
}
