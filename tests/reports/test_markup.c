// SPDX-License-Identifier: Apache-2.0
//
// Text is made harmless, and markup stays well-formed whatever is put in.
#include "reports/text/clean.h"
#include "reports/text/markup.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <libxml/parser.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_cleaned(const char *text, const char *expected)
{
    struct buffer out = {0};
    clean_text(&out, text, CLEAN_LOG);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    buffer_free(&out);
}

TEST(clean_drops_terminal_escapes)
{
    assert_cleaned("\x1b[31;1mred\x1b[0m", "red");
    assert_cleaned("\x1b]0;title\x07rest", "rest");
    assert_cleaned("\x1b]8;;http://x\x1b\\link", "link");
    assert_cleaned("a\x1b[12", "a");
    assert_cleaned("a\x1b", "a");
    assert_cleaned("a\x1b]unfinished\nnext", "a\nnext");
}

TEST(clean_drops_control_bytes_and_keeps_lines)
{
    assert_cleaned("a\x01\x02\x7f\x08z", "az");
    assert_cleaned("a\tb\r\nc\rd\n", "a\tb\nc\nd\n");
    assert_cleaned("c1 \xc2\x9b 31m", "c1  31m");
}

TEST(clean_replaces_what_is_not_utf8)
{
    assert_cleaned("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82",
                   "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
    assert_cleaned("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
    assert_cleaned("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
    assert_cleaned("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_cleaned("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_cleaned("\xef\xbf\xbf", "\xef\xbf\xbd");
}

TEST(clean_replaces_bidirectional_controls)
{
    assert_cleaned("a\xe2\x80\xae"
                   "b\xe2\x81\xa6"
                   "c",
                   "a\xef\xbf\xbd"
                   "b\xef\xbf\xbd"
                   "c");
}

TEST(clean_line_has_no_newline)
{
    struct buffer out = {0};
    clean_line(&out, "a\nb\r\nc\td", CLEAN_LINE);
    assert_string_equal(out.bytes, "a b c d");
    buffer_free(&out);
}

TEST(clean_cuts_the_middle_of_long_text_between_characters)
{
    struct buffer text = {0}, out = {0};
    for (int i = 0; i < 5000; i++)
        buffer_puts(&text, "\xe2\x82\xac");
    buffer_puts(&text, "the reason");
    clean_text(&out, text.bytes, 100);
    assert_true(out.length < 200);
    assert_non_null(strstr(out.bytes, "bytes left out"));
    assert_non_null(strstr(out.bytes, "the reason"));
    assert_null(strstr(out.bytes, "\xef\xbf\xbd"));
    buffer_free(&text);
    buffer_free(&out);
}

// Whatever the bytes, the document parses and the text is there.
TEST(markup_is_well_formed_for_random_bytes)
{
    uint64_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        char text[64];
        size_t length = (size_t)(round % 60);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            text[i] = (char)(seed >> 56);
            if (seed >> 33 & 1)
                text[i] = "<>&]]\x1b[;m\"'\xe2\xed\xf4\x80\xbf\n"[seed >> 40 & 15];
        }
        text[length] = '\0';
        struct buffer out = {0};
        struct markup *m = markup_new(MARKUP_XML);
        markup_start(m, "a");
        markup_attr(m, "b", text);
        markup_text(m, text);
        markup_end(m);
        markup_finish(m, &out);
        xmlDocPtr doc = xmlReadMemory(out.bytes, (int)out.length, NULL, NULL, XML_PARSE_NOERROR);
        assert_non_null(doc);
        xmlFreeDoc(doc);
        buffer_free(&out);
    }
}

TEST(markup_writes_only_void_elements_empty_in_html)
{
    struct buffer out = {0};
    struct markup *m = markup_new(MARKUP_HTML);
    markup_start(m, "td");
    markup_end(m);
    markup_start(m, "br");
    markup_end(m);
    markup_start(m, "script");
    markup_raw(m, "a<b");
    markup_end(m);
    markup_finish(m, &out);
    assert_string_equal(out.bytes, "<!DOCTYPE html>\n<td></td><br/><script>a<b</script>\n");
    buffer_free(&out);
}

TEST(json_numbers_round_trip)
{
    static const double values[] = {0,    0.1, 1.0 / 3, 182.4, 5e-324, 1.7976931348623157e308,
                                    -2.5, 1e22};
    char text[NUMBER_TEXT];
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        json_format_number(text, values[i]);
        assert_true(strtod(text, NULL) == values[i]);
    }
    json_format_number(text, 0.1);
    assert_string_equal(text, "0.1");
    json_format_number(text, NAN);
    assert_string_equal(text, "null");
    json_format_number(text, -INFINITY);
    assert_string_equal(text, "null");
}

TEST(json_strings_are_escaped)
{
    struct buffer out = {0};
    struct json j = {.out = &out};
    json_begin(&j, NULL, '{');
    json_clean(&j, "a", "q\" b\\ </script> \n\x01");
    json_clean(&j, "b", NULL);
    json_begin(&j, "c", '[');
    json_int(&j, NULL, -1);
    json_bool(&j, NULL, true);
    json_end(&j, ']');
    json_end(&j, '}');
    assert_string_equal(out.bytes,
                        "{\"a\":\"q\\\" b\\\\ \\u003c/script\\u003e \\u000a\",\"b\":null,"
                        "\"c\":[-1,true]}");
    buffer_free(&out);
}

// What means something to Markdown or to GitHub is escaped; a sentence of ours reads in the source
// as it reads on the page.
TEST(markdown_escapes_as_little_as_it_can)
{
    static const char *const cases[][2] = {
        {"SLOWER: 3 slower: gemm_2 256x256x256:fp32-fp32:nn +1.39 % (95 % [sic])",
         "SLOWER: 3 slower: gemm_2 256x256x256:fp32-fp32:nn +1.39 % (95 % \\[sic\\])"},
        {"a|b `c` *d* _e_ ~f~ $g$ \\", "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\~f\\~ \\$g\\$ \\\\"},
        {"[x](http://y) ![z](q)", "\\[x\\]\\(http&#58;//y) !\\[z\\]\\(q)"},
        {"@me #1 GH-2 C# x-2", "&#64;&#8203;me &#35;&#8203;1 GH&#45;&#8203;2 C# x-2"},
        {"<b> &amp; &#65; a & b www.x.org",
         "&#60;b> &#38;amp; &#38;&#35;&#8203;65; a & b www&#46;x.org"},
        {"- no list", "\\- no list"},
        {"12. nor this", "12\\. nor this"},
        {"# nor that", "\\# nor that"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct buffer out = {0};
        markdown_text(&out, cases[i][0], 200);
        assert_string_equal(out.bytes, cases[i][1]);
        buffer_free(&out);
    }
}
