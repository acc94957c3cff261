// SPDX-License-Identifier: Apache-2.0
//
// Where the models' accuracy changed takes long to find, so it is asked for only when the page that
// shows it has to be made.
#include "tests/helpers/helper_site_folder.h"
#include "tests/helpers/test.h"

#include <string.h>

static size_t judged;

static void judge(void *context)
{
    judged++;
}

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

TEST(accuracy_is_judged_only_when_its_page_is_made)
{
    struct helper_site h;
    helper_site(&h, 6, 20, false);
    h.site.judge_accuracy = judge;
    judged = 0;
    site_folder_write(&h, *state);
    assert_int_equal(judged, 1);
    assert_int_equal(site_folder_write(&h, *state).pages, 0);
    assert_int_equal(judged, 1);
    struct site_accuracy *figures =
        arena_copy(&h.arena, h.site.accuracy, h.site.accuracy_count * sizeof(*figures));
    struct site_accuracy_point *points =
        arena_copy(&h.arena, figures[0].points, figures[0].count * sizeof(*figures[0].points));
    points[figures[0].count - 1].mape += 0.01;
    figures[0].points = points;
    h.site.accuracy = figures;
    site_folder_write(&h, *state);
    assert_int_equal(judged, 2);
    h.site.accuracy_judge++; // another would find other changes
    site_folder_write(&h, *state);
    assert_int_equal(judged, 3);
    helper_site_free(&h);
}
