// SPDX-License-Identifier: Apache-2.0
//
// junit.xml against the schema Jenkins reads (data/junit.rng says where from), and what it says.
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <libxml/parser.h>
#include <libxml/relaxng.h>
#include <libxml/xpath.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static xmlRelaxNGPtr load_schema(void)
{
    xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewParserCtxt(TEST_DATA "/junit.rng");
    assert_non_null(parser);
    xmlRelaxNGPtr schema = xmlRelaxNGParse(parser);
    xmlRelaxNGFreeParserCtxt(parser);
    assert_non_null(schema);
    return schema;
}

static bool is_valid(const char *bytes, size_t length)
{
    xmlDocPtr doc = xmlReadMemory(bytes, (int)length, "junit.xml", NULL, XML_PARSE_NONET);
    if (!doc)
        return false;
    xmlRelaxNGPtr schema = load_schema();
    xmlRelaxNGValidCtxtPtr check = xmlRelaxNGNewValidCtxt(schema);
    int result = xmlRelaxNGValidateDoc(check, doc);
    xmlRelaxNGFreeValidCtxt(check);
    xmlRelaxNGFree(schema);
    xmlFreeDoc(doc);
    return result == 0;
}

static xmlDocPtr write_known(struct run *run, const struct report_context *context)
{
    struct buffer out = {0};
    report_find("junit")->write(&out, run, context);
    assert_true(is_valid(out.bytes, out.length));
    xmlDocPtr doc = xmlReadMemory(out.bytes, (int)out.length, NULL, NULL, XML_PARSE_NONET);
    buffer_free(&out);
    return doc;
}

static xmlDocPtr write_valid(struct run *run)
{
    return write_known(run, NULL);
}

static double evaluate(xmlDocPtr doc, const char *expression)
{
    xmlXPathContextPtr context = xmlXPathNewContext(doc);
    xmlXPathObjectPtr object = xmlXPathEvalExpression((const xmlChar *)expression, context);
    assert_non_null(object);
    double value = xmlXPathCastToNumber(object);
    xmlXPathFreeObject(object);
    xmlXPathFreeContext(context);
    return value;
}

#define assert_xpath(doc, expression, expected)                                                    \
    assert_true(evaluate(doc, expression) == (double)(expected))

TEST(schema_refuses_what_jenkins_refuses)
{
    static const char *const refused[] = {
        "<testsuites tests='0' failures='0' errors='0' skipped='0'/>",
        "<testsuites tests='1' failures='0' errors='0'><testsuite name='a' tests='1' failures='0'"
        " errors='0'><testcase classname='b'/></testsuite></testsuites>",
        "<testsuites tests='0' failures='0' errors='0' time='1e-6'/>",
        "<testsuites tests='0' failures='0' errors='0' time='0.0001'/>",
        "<testsuites tests='1' failures='0' errors='0'><testsuite name='a' tests='1' failures='0'"
        " errors='0'><testcase name='b' time='0.000190000'/></testsuite></testsuites>",
        "<testsuites tests='1' failures='1' errors='1'><testsuite name='a' tests='1' failures='1'"
        " errors='1'><testcase name='b'><failure/><error/></testcase></testsuite></testsuites>",
    };
    xmlSetGenericErrorFunc(NULL, NULL);
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_false(is_valid(refused[i], strlen(refused[i])));
    static const char accepted[] = "<testsuites tests='0' failures='0' errors='0' time='0.5'/>";
    assert_true(is_valid(accepted, strlen(accepted)));
}

TEST(verdicts_map_to_outcomes)
{
    struct run run = helper_run();
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//testcase)", run.count + 1);
    assert_xpath(doc, "count(//testcase/error)", 2);
    assert_xpath(doc, "count(//testcase/failure)", 3);
    assert_xpath(doc, "count(//testcase/skipped)", 2);
    assert_xpath(doc, "count(//testcase/failure[@type='slower'])", 3);
    assert_xpath(doc, "count(//testcase[@classname='plumb.host_simd']/skipped)", 1);
    assert_xpath(doc, "count(//testcase[@classname='plumb.stream_k']/system-out)", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

// Only a confirmed one of a kernel that is slower fails.
TEST(open_events_are_tests)
{
    struct run run = helper_run_hostile();
    const struct report_context context = helper_context(&run);
    xmlDocPtr doc = write_known(&run, &context);
    assert_xpath(doc, "count(//testsuite[@name='events']/testcase)", 3);
    assert_xpath(doc, "count(//testsuite[@name='events']//failure[@type='confirmed'])", 1);
    assert_xpath(doc, "count(//testsuite[@name='events']//skipped[@type='new'])", 1);
    assert_xpath(doc, "count(//testsuite[@name='events']//system-out)", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(counts_agree_with_the_cases)
{
    struct run run = helper_run();
    const struct report_context context = helper_context(&run);
    xmlDocPtr doc = write_known(&run, &context);
    assert_xpath(doc, "sum(//testsuite/@tests) - count(//testcase)", 0);
    assert_xpath(doc, "/testsuites/@tests - count(//testcase)", 0);
    assert_xpath(doc, "/testsuites/@failures - count(//failure)", 0);
    assert_xpath(doc, "/testsuites/@errors - count(//error)", 0);
    assert_xpath(doc, "sum(//testsuite/@skipped) - count(//skipped)", 0);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(names_are_unique_within_a_class)
{
    struct run run = helper_run();
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//testsuite/testcase[@name = preceding-sibling::testcase/@name])", 0);
    assert_xpath(doc, "count(//testsuite[@name = preceding::testsuite/@name])", 0);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(body_tells_prediction_interval_clock_and_cause)
{
    struct run run = helper_run();
    xmlDocPtr doc = write_valid(&run);
#define BODY "//testcase[@classname='plumb.tma_persistent'][1]/failure"
    assert_xpath(doc, "count(" BODY "[contains(., 'prediction: 177.1')])", 1);
    assert_xpath(doc, "count(" BODY "[contains(., '95 of 100 lie within 0.835 to 1.2')])", 1);
    assert_xpath(doc, "count(" BODY "[contains(., 'interval [+4.01, +4.64]')])", 1);
    assert_xpath(doc, "count(" BODY "[contains(., '1.58')])", 1);
    assert_xpath(doc, "count(" BODY "[contains(., 'cause: kernel')])", 1);
    assert_xpath(doc, "count(" BODY "[contains(@message, 'waits for memory')])", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(time_is_what_the_kernels_ran_to_the_millisecond)
{
    struct run run = helper_run();
    struct result *r = &run.results[0];
    for (size_t i = 0; i < r->head.count; i++) {
        r->head.samples[i].time_ns = 2e6;
        r->head.samples[i].launches = 10;
    }
    r->base.count = 0;
    xmlDocPtr doc = write_valid(&run);
    const double expected_s = 2e6 * 10 * (double)r->head.count / 1e9;
    char path[1024], problem[PROBLEM_TEXT];
    problem_format(problem, &r->problem);
    snprintf(path, sizeof(path),
             "//testcase[@classname='plumb.%s' and starts-with(@name, '%s')][1]/@time", r->kernel,
             problem);
    assert_true(fabs(evaluate(doc, path) - expected_s) < 0.0005);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(void_run_fails_its_self_test_and_nothing_else)
{
    struct run run = helper_run();
    run.self_test.void_run = true;
    run.self_test.alarms = 2;
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//failure)", 0);
    assert_xpath(doc, "count(//testcase[@classname='plumb.self-test']/error)", 1);
    assert_xpath(doc, "count(//skipped[starts-with(@message, 'void run')]) > 0", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(hostile_text_stays_text)
{
    struct run run = helper_run_hostile();
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//script)", 0);
    assert_xpath(doc, "count(//testcase)",
                 run.count + run.metric_count + 2); // A/A, and a base that does not build
    assert_xpath(doc, "count(//*[contains(., 'bytes left out')]) > 0", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

// A file without a case is "no tests found" for some readers and a crash for others.
TEST(empty_run_says_that_nothing_was_measured)
{
    struct run run = helper_run_empty();
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//testcase)", 1);
    assert_xpath(doc, "count(//testcase[@classname='plumb.run']/skipped)", 1);
    assert_xpath(doc, "number(/testsuites/@tests)", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(commit_that_does_not_build_is_one_error_with_file_and_line)
{
    struct run run = helper_run_unbuilt();
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//testcase)", 2);
#define HEAD "//testcase[@classname='plumb.build' and @name='head']/error"
    assert_xpath(doc, "count(" HEAD ")", 1);
    assert_xpath(doc, "count(" HEAD "[contains(@message, 'b07d4e5a91 does not build')])", 1);
    assert_xpath(doc, "count(" HEAD "[contains(@message, 'kernels/gemm,1.cu:34: error')])", 1);
    assert_xpath(doc, "count(" HEAD "[contains(., 'cannot find -lcublas')])", 1);
    assert_xpath(doc, "count(" HEAD "[contains(., 'log: /cache/0123/log')])", 1);
    assert_xpath(doc, "count(//testcase[@classname='plumb.build' and @name='base']/skipped)", 1);
    assert_xpath(doc, "number(/testsuites/@errors)", 1);
    assert_xpath(doc, "number(/testsuites/@tests)", 2);
    xmlFreeDoc(doc);
    run_free(&run);
}

TEST(broken_run_without_a_reason_is_an_error_too)
{
    struct run run = helper_run_empty();
    run.conclusion = CONCLUDE_BROKEN;
    run.headline =
        arena_strdup(&run.arena, "BROKEN: commit 0123456789ab does not build: <no rule>");
    xmlDocPtr doc = write_valid(&run);
    assert_xpath(doc, "count(//error[contains(@message, 'does not build: <no rule>')])", 1);
    assert_xpath(doc, "number(/testsuites/@errors)", 1);
    assert_xpath(doc, "number(/testsuites/@tests)", 1);
    xmlFreeDoc(doc);
    run_free(&run);
}

int main(void)
{
    int failed = test_main();
    xmlCleanupParser();
    return failed;
}
