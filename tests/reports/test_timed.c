// SPDX-License-Identifier: Apache-2.0
//
// Every form of a report says of each series what the stopwatch ran, and what sandbox and limits
// there were not.
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static const char *const forms[] = {"junit", "html", "markdown", "comment", "json", "csv"};

static struct run timed(const char *regime, const char *policy)
{
    struct run run = helper_run();
    for (size_t i = 0; i < run.count; i++)
        run.results[i].base.regime = run.results[i].head.regime = regime;
    run.policy = policy;
    return run;
}

static void expect(const char *form, struct run run, const char *part, bool there)
{
    struct buffer out = helper_report(form, run);
    if ((strstr(out.bytes, part) != NULL) != there)
        fail_msg("%s: '%s' is %s", form, part, there ? "not there" : "there");
    buffer_free(&out);
}

TEST(every_form_says_how_series_were_timed)
{
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        expect(forms[i], timed("cold, back to back, " REGIME_DEVICE_CODE, "p\n"), "device code",
               true);
        expect(forms[i], timed("cold, back to back", "p\n"), "device code", false);
        expect(forms[i], timed("cold, back to back", "p\n"), "library", true);
    }
}

TEST(every_form_says_what_builds_and_kernels_lacked)
{
    static const char *const policies[] = {"[build]\n\n" RUN_UNCONFINED_NOTE "it is not here\n",
                                           "[build]\n\n" RUN_OVERLAY_NOTE "o\n\n" RUN_UNLIMITED_NOTE
                                           "it is not here\n"};
    static const char *const titles[] = {"No sandbox", "No control group"};
    for (size_t k = 0; k < ARRAY_COUNT(policies); k++) {
        for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
            expect(forms[i], timed("cold", policies[k]), "it is not here", true);
            expect(forms[i], timed("cold", policies[1 - k]), titles[k], false);
            expect(forms[i], timed("cold", "[build]\n"), titles[k], false);
        }
        expect("annotations", timed("cold", policies[k]), "it is not here", true);
        expect("markdown", timed("cold", policies[k]), titles[k], true);
        expect("html", timed("cold", policies[k]), titles[k], true);
    }
}

// Several notes stand behind a policy; what the policy itself says is none.
TEST(notes_are_the_last_lines)
{
    char text[64];
    struct run run = {.policy = "a\n" RUN_REQUEST_NOTE " x\n\n" RUN_OVERLAY_NOTE
                                "o\n\n" RUN_UNCONFINED_NOTE "why\n"};
    assert_true(run_overlay(text, sizeof(text), &run));
    assert_string_equal(text, "o");
    assert_true(run_lacks(text, sizeof(text), &run, LACKS_SANDBOX));
    assert_string_equal(text, "why");
    run.policy = RUN_OVERLAY_NOTE "o\n[build]\n" RUN_UNCONFINED_NOTE "why\n";
    assert_false(run_overlay(text, sizeof(text), &run));
    assert_string_equal(text, "");
}
