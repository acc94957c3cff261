// SPDX-License-Identifier: Apache-2.0
//
// Commands on a store in which each step that may fail fails once: every call of SQLite, libgit2,
// libxml2 or the system that plumb makes (helpers/helper_steps.h).
// Label: unsanitized
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_steps.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static struct scene scene = {.step = 0.03, .parents = true};

static void keep(const char *folder, const char *name, int first, int end)
{
    char *path = xprintf("%s/%s", folder, name);
    struct store *store = scratch_store(path, STORE_WRITE);
    scene_save(store, &scene, first, end, 7);
    store_close(store);
    free(path);
}

// A folder with the store s.db, in which something happened.
static char *begin(struct steps_place *place)
{
    char *folder = helper_directory();
    keep(folder, "s.db", STEP - 4, STEP + 4);
    steps_place_begin(place, folder, "s.db");
    return folder;
}

static void end(struct steps_place *place, char *folder)
{
    steps_place_end(place);
    helper_discard(folder);
    free(folder);
}

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        struct steps_place place;                                                                  \
        char *folder = begin(&place);                                                              \
        STEPS_FAIL(&place, __VA_ARGS__);                                                           \
        end(&place, folder);                                                                       \
    } while (0)

TEST(an_export_whose_steps_fail_says_so)
{
    FAIL("export", "--store", "s.db");
}

TEST(an_export_of_all_to_a_file_is_whole_or_absent)
{
    FAIL("export", "--store", "s.db", "--format=json", "--output", "all.jsonl");
}

TEST(a_pruning_whose_steps_fail_leaves_a_whole_store)
{
    FAIL("store", "prune", "--store", "s.db", "--runs", "--before", "1d");
}

TEST(a_check_whose_steps_fail_says_so)
{
    FAIL("store", "check", "--store", "s.db");
}

TEST(a_history_whose_steps_fail_says_so)
{
    FAIL("history", "--store", "s.db");
}

TEST(a_list_of_events_whose_steps_fail_says_so)
{
    FAIL("events", "list", "--store", "s.db");
}

TEST(a_report_whose_steps_fail_is_whole_or_absent)
{
    FAIL("report", "--store", "s.db", "--out", "reports");
}

TEST(a_site_whose_steps_fail_has_no_half_pages)
{
    struct steps_place place;
    char *folder = begin(&place);
    place.every = 4;
    STEPS_FAIL(&place, "site", "--store", "s.db", "--out", "site");
    end(&place, folder);
}

TEST(a_merge_whose_steps_fail_leaves_a_whole_store)
{
    struct steps_place place;
    char *folder = helper_directory();
    keep(folder, "other.db", STEP - 4, STEP + 4);
    keep(folder, "s.db", STEP + 4, STEP + 6);
    steps_place_begin(&place, folder, "s.db");
    STEPS_FAIL(&place, "store", "merge", "--store", "s.db", "other.db");
    end(&place, folder);
}

TEST(an_import_whose_steps_fail_leaves_a_whole_store)
{
    struct steps_place place;
    char *folder = helper_directory();
    keep(folder, "s.db", STEP, STEP + 1);
    helper_put(folder, "rows.csv",
               "commit,kernel,problem,time_ns\n"
               "1111111111111111111111111111111111111111,one,64x64x64:fp32,1000\n"
               "2222222222222222222222222222222222222222,one,64x64x64:fp32,1010\n"
               "2222222222222222222222222222222222222222,two,64x64x64:fp32,77\n");
    steps_place_begin(&place, folder, "s.db");
    STEPS_FAIL(&place, "import", "--store", "s.db", "rows.csv");
    end(&place, folder);
}
