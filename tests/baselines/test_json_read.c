// SPDX-License-Identifier: Apache-2.0
//
// JSON lines: what is written reads back, and what is no JSON is refused.
#include "baselines/fields.h"
#include "model/buffer.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// From an exact-size copy, so that a sanitizer sees any step beyond the end.
static int parse(const struct node **out, const char *text, size_t length, struct arena *arena,
                 struct error *err)
{
    char *heap = xcalloc(length, 1);
    memcpy(heap, text, length);
    int status = node_parse(out, heap, length, "f:1", arena, err);
    free(heap);
    return status;
}

TEST(values_are_read)
{
    struct arena arena = {0};
    struct error err = {0};
    const struct node *node;
    static const char text[] = " {\"a\" : [1, -2.5e-3 ,true,null], \"b\":{},\"c\":\"x\\u00e4\\ud83d"
                               "\\ude00\\n\\\"\", \"d\":false , \"e\":9223372036854775807,"
                               "\"f\":7} \r\n";
    if (parse(&node, text, strlen(text), &arena, &err))
        fail_msg("%s", err.text);
    const struct node *list = node_member(node, "a");
    assert_int_equal(list->type, NODE_ARRAY);
    assert_int_equal(list->count, 4);
    assert_true(node_value(list->children) == 1);
    assert_true(node_value(list->children->next) == -0.0025);
    assert_string_equal(list->children->next->text, "-0.0025");
    assert_int_equal(node_member(node, "b")->type, NODE_OBJECT);
    assert_string_equal(node_text(node, "c", ""), "x\xc3\xa4\xf0\x9f\x98\x80\n\"");
    assert_false(node_bool(node, "d", true));
    assert_true(node_int(node, "e", 0) == INT64_MAX);
    assert_int_equal(node_int(node, "c", -3), -3);
    assert_true(isnan(node_real(node, "none", NAN)));
    assert_null(node_member(list, "x"));
    arena_free(&arena);
}

// By its first string, in the text as it was; what holds none is nowhere.
TEST(a_value_knows_where_it_stands)
{
    static const char text[] = "{\n \"a\" : [ { \"b\":1 } , [\n\"x\\n\", 2], 7 ]\n}";
    struct arena arena = {0};
    struct error err;
    const struct node *root;
    assert_int_equal(node_parse_lines(&root, text, strlen(text), "f", NULL, &arena, &err), 0);
    const struct node *list = node_member(root, "a"), *first = list->children;
    assert_int_equal(node_offset(root, list), strstr(text, "a\"") - text);
    assert_int_equal(node_offset(root, first), strstr(text, "b\"") - text);
    assert_int_equal(node_offset(root, first->next), strchr(text, 'x') - text);
    assert_int_equal(node_offset(root, first->next->next), 0);
    arena_free(&arena);
}

TEST(what_is_not_json_is_refused)
{
    static const char *const texts[] = {
        "",
        "{",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "nul",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800\\ndc00\"",
        "\"\\ud800\\\\udc00\"",
        "\"\\ud800xudc00\"",
        "\"\x01\"",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "1 2",
        "NaN",
        "Infinity",
        "[1]]",
        "\"a\nb\"",
        "{\"a\":1,\"a\":1}",
        "{\"a\\u0000\":1}",
        "9223372036854775808",
        "1e400",
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct arena arena = {0};
        struct error err = {0};
        const struct node *node;
        if (parse(&node, texts[i], strlen(texts[i]), &arena, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        assert_true(strncmp(err.text, "f:1: not JSON at byte ", 22) == 0);
        for (const char *c = err.text; *c; c++)
            assert_in_range(*c, 0x20, 0x7e); // nothing of what was read
        arena_free(&arena);
    }
    struct arena arena = {0};
    struct error err = {0};
    const struct node *node;
    char deep[200000];
    memset(deep, '[', sizeof(deep));
    assert_int_equal(parse(&node, deep, sizeof(deep), &arena, &err), -1);
    memset(deep + NODE_DEPTH, ']', NODE_DEPTH);
    assert_int_equal(parse(&node, deep, 2 * NODE_DEPTH, &arena, &err), 0);
    memset(deep, '[', NODE_DEPTH + 1);
    memset(deep + NODE_DEPTH + 1, ']', NODE_DEPTH + 1);
    assert_int_equal(parse(&node, deep, 2 * NODE_DEPTH + 2, &arena, &err), -1);
    assert_int_equal(parse(&node, "\"a\0b\"", 5, &arena, &err), -1);
    arena_free(&arena);
}

TEST(texts_are_written_so_that_they_read_back)
{
    static const char *const texts[] = {"", "plain", "\"\\/\b\f\n\r\t\x01\x7f",
                                        "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct arena arena = {0};
        struct error err = {0};
        const struct node *node;
        struct buffer written = {0};
        json_text(&(struct json){.out = &written}, NULL, texts[i]);
        assert_int_equal(parse(&node, written.bytes, written.length, &arena, &err), 0);
        assert_string_equal(node->text, texts[i]);
        buffer_free(&written);
        arena_free(&arena);
    }
}

TEST(reals_read_back_to_the_same_bits)
{
    uint64_t seed = 4;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = draw_bits(&seed);
        double value;
        memcpy(&value, &bits, sizeof(value));
        struct buffer written = {0};
        json_number(&(struct json){.out = &written}, NULL, value);
        if (isfinite(value))
            assert_true(strtod(written.bytes, NULL) == value);
        else
            assert_string_equal(written.bytes, "null");
        buffer_free(&written);
    }
}

TEST(mutated_text_never_crashes_the_reader)
{
    static const char good[] = "{\"run\":{\"a\":[1,2.5e3,-0.1,null,true],\"b\":\"x\\u00e4\\n\\\"\","
                               "\"c\":{\"d\":{}}},\"e\":\"\xc3\xa4\"}";
    uint64_t seed = 6;
    size_t accepted = 0;
    for (int round = 0; round < 30000; round++) {
        struct arena arena = {0};
        struct error err = {0};
        const struct node *node;
        char bad[sizeof(good)];
        size_t length = strlen(good) - draw_bits(&seed) % 4;
        memcpy(bad, good, sizeof(good));
        for (uint64_t flips = draw_bits(&seed) % 4; flips > 0; flips--) {
            size_t at = draw_bits(&seed) % length, from = draw_bits(&seed) % length;
            bad[at] = draw_bits(&seed) % 2 ? bad[from] : (char)draw_bits(&seed);
        }
        accepted += parse(&node, bad, length, &arena, &err) == 0;
        arena_free(&arena);
    }
    assert_true(accepted > 1000 && accepted < 29000);
}
