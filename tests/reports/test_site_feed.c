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

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

TEST(feed_has_what_atom_demands)
{
    struct helper_site h;
    helper_site(&h, 40, 60, true);
    site_folder_write(&h, *state);
    assert_true(feed_value(*state, "count(/a:feed[a:id and a:title and a:updated and a:author])") ==
                1);
    assert_true(feed_value(*state, "count(//a:entry)") == 2);
    assert_true(
        feed_value(*state, "count(//a:entry[a:id and a:title and a:updated and a:link/@href])") ==
        2);
    assert_true(feed_value(*state, "count(//a:id[. = preceding::a:id])") == 0);
    assert_true(
        feed_value(*state,
                   "count(//a:id[starts-with(., 'urn:uuid:') and string-length(.) = 45])") == 3);
    assert_true(feed_value(*state, "count(//a:updated[string-length(.) = 20])") == 3);
    assert_true(
        feed_value(*state, "count(//a:link[starts-with(@href, 'https://example.org/nightly/')])") ==
        4);
    helper_site_free(&h);
}

TEST(feed_ids_outlive_a_night)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > before", *state));
    h.site.made_s += 86400;
    struct site_event *events =
        arena_copy(&h.arena, h.site.events, h.site.event_count * sizeof(*events));
    events[0].sentence = "known better now";
    h.site.events = events;
    site_folder_write(&h, *state);
    assert_true(
        site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort | cmp - before", *state));
    helper_site_free(&h);
}

TEST(feed_entries_say_what_happened_and_lead_there)
{
    struct helper_site h;
    helper_site_of(&h, 40, 60, 60, false);
    site_folder_write(&h, *state);
    assert_true(feed_value(*state, "count(//a:entry[1][a:title = 'confirmed: one step'])") == 1);
    assert_true(feed_value(*state, "count(//a:entry[2][a:updated = '2026-12-05T19:46:40Z'])") == 1);
    assert_true(feed_value(*state, "count(//a:entry[contains(a:link/@href, '/commit/')])") == 2);
    helper_site_free(&h);
}

// Another name is another event; what became of it is not.
TEST(feed_ids_are_of_the_events_name)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > before", *state));
    struct event renamed = *h.site.events[0].event, fixed = *h.site.events[1].event;
    struct site_event *events =
        arena_copy(&h.arena, h.site.events, h.site.event_count * sizeof(*events));
    text_copy(renamed.name, sizeof(renamed.name), "calm-elk");
    fixed.state = EVENT_FIXED;
    events[0].event = &renamed;
    events[1].event = &fixed;
    h.site.events = events;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -o 'urn:uuid:[^<]*' feed.xml | sort > after; "
                                  "test $(comm -13 before after | wc -l) -eq 1",
                                  *state));
    helper_site_free(&h);
}

int main(void)
{
    int failed = test_main();
    xmlCleanupParser();
    return failed;
}
