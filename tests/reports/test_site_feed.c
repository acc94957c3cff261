// SPDX-License-Identifier: Apache-2.0
//
// feed.xml: what Atom demands, and that a reader sees each alarm once.
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site_folder.h"
#include "tests/helpers/test.h"

#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double feed_value(const char *folder, const char *expression)
{
    char *text = site_folder_read(folder, "feed.xml");
    xmlDocPtr doc = xmlReadMemory(text, (int)strlen(text), NULL, NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    xmlXPathContextPtr context = xmlXPathNewContext(doc);
    xmlXPathRegisterNs(context, (const xmlChar *)"a",
                       (const xmlChar *)"http://www.w3.org/2005/Atom");
    xmlXPathObjectPtr object = xmlXPathEvalExpression((const xmlChar *)expression, context);
    assert_non_null(object);
    double value = xmlXPathCastToNumber(object);
    xmlXPathFreeObject(object);
    xmlXPathFreeContext(context);
    xmlFreeDoc(doc);
    free(text);
    return value;
}

static void feed_has_what_atom_demands(void **state)
{
    struct helper_site h;
    helper_site(&h, 40, 60, true);
    site_folder_write(&h, *state);
    assert_true(feed_value(*state, "count(/a:feed[a:id and a:title and a:updated and a:author])") ==
                1);
    assert_true(feed_value(*state, "count(//a:entry)") == 7);
    assert_true(
        feed_value(*state, "count(//a:entry[a:id and a:title and a:updated and a:link/@href])") ==
        7);
    assert_true(feed_value(*state, "count(//a:id[. = preceding::a:id])") == 0);
    assert_true(
        feed_value(*state,
                   "count(//a:id[starts-with(., 'urn:uuid:') and string-length(.) = 45])") == 8);
    assert_true(feed_value(*state, "count(//a:updated[string-length(.) = 20])") == 8);
    assert_true(
        feed_value(*state, "count(//a:link[starts-with(@href, 'https://example.org/nightly/')])") ==
        9);
    helper_site_free(&h);
}

static void feed_ids_outlive_a_night(void **state)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > before", *state));
    h.site.made_s += 86400;
    struct site_alarm *alarms = arena_alloc(&h.arena, 8 * sizeof(*alarms));
    memcpy(alarms, h.site.alarms, h.site.alarm_count * sizeof(*alarms));
    alarms[0].sentence = "known better now";
    alarms[0].log_ratio *= 1.1;
    h.site.alarms = alarms;
    site_folder_write(&h, *state);
    assert_true(
        site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort | cmp - before", *state));
    helper_site_free(&h);
}

static void feed_entries_say_what_happened_and_lead_there(void **state)
{
    struct helper_site h;
    char expression[256];
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    const struct site_alarm *alarm = &h.site.alarms[0];
    const time_t when = (time_t)alarm->when_s;
    char time_text[32], change[VIEW_TEXT];
    strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&when));
    snprintf(expression, sizeof(expression), "count(//a:entry[1][a:updated = '%s'])", time_text);
    assert_true(feed_value(*state, expression) == 1);
    assert_true(isfinite(alarm->log_ratio));
    view_percent(change, expm1(alarm->log_ratio));
    snprintf(expression, sizeof(expression), "count(//a:entry[1][contains(a:title, ' %s: %s ')])",
             change, h.site.series[alarm->series].kernel);
    assert_true(feed_value(*state, expression) == 1);
    assert_true(feed_value(*state,
                           "count(//a:entry[contains(a:link/@href, '.html#s-') and "
                           "contains(a:link/@href, 'kernel/')])") == (double)h.site.alarm_count);
    helper_site_free(&h);
}

// Another commit, or another verdict on it, is another alarm.
static void feed_ids_are_of_series_commit_and_verdict(void **state)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > before", *state));
    struct site_alarm *alarms =
        arena_copy(&h.arena, h.site.alarms, h.site.alarm_count * sizeof(*alarms));
    assert_true(h.site.alarm_count > 2 && alarms[1].kind != VERDICT_BROKEN);
    text_copy(alarms[0].commit, sizeof(alarms[0].commit), "0123456789abcdef");
    alarms[1].kind = VERDICT_BROKEN;
    h.site.alarms = alarms;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > after; "
                                  "test $(comm -13 before after | wc -l) -eq 2",
                                  *state));
    helper_site_free(&h);
}

#define site_test(name)                                                                            \
    cmocka_unit_test_setup_teardown(name, site_folder_set_up, site_folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        site_test(feed_has_what_atom_demands),
        site_test(feed_ids_outlive_a_night),
        site_test(feed_entries_say_what_happened_and_lead_there),
        site_test(feed_ids_are_of_series_commit_and_verdict),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xmlCleanupParser();
    return failed;
}
