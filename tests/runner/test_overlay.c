// SPDX-License-Identifier: Apache-2.0
//
// A folder outside of every commit: builds see what it holds, and its content is part of their key.
#include "runner/build/build.h"
#include "tests/helpers/helper_build.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Only the overlay has what this needs; nothing of the commit is read.
static const char command[] = "cp \"$PLUMB_OVERLAY/deep/made.txt\" \"$PLUMB_OUT/made.so\"; "
                              "touch \"$PLUMB_OVERLAY/x\" && echo WRITTEN; true";

static char *folder_with(const char *text)
{
    char *folder = helper_directory(), *deep = xprintf("%s/deep", folder);
    char *path = xprintf("%s/made.txt", deep), *empty = xprintf("%s/empty", folder);
    mkdir(deep, 0777);
    mkdir(empty, 0777);
    free(empty);
    helper_write_text(path, text);
    free(path);
    free(deep);
    return folder;
}

static struct overlay open_overlay(struct helper_builds *f, const char *folder)
{
    struct overlay overlay;
    struct error err;
    if (overlay_open(&overlay, folder, &f->arena, &err))
        fail_msg("%s", err.text);
    return overlay;
}

static struct build build_with(struct helper_builds *f, const struct overlay *overlay)
{
    struct recipe recipe = f->recipe;
    recipe.command = command;
    recipe.overlay = overlay;
    return helper_build(f, REPO_START, &recipe);
}

AROUND_ALL(helper_builds_set_up, helper_builds_tear_down);

TEST(build_sees_the_overlay_and_cannot_write_to_it)
{
    struct helper_builds *f = *state;
    char *folder = folder_with("first");
    const struct overlay overlay = open_overlay(f, folder);
    const struct build build = build_with(f, &overlay);
    if (build.state != BUILD_OK)
        fail_msg("%s\n%s", build.reason, build.log);
    char *made = helper_read(build.libraries[0], NULL);
    assert_string_equal(made, "first");
    assert_false(helper_exists(folder, "x"));
    if (f->sandbox.active)
        assert_null(strstr(build.log, "WRITTEN"));
    assert_false(helper_exists(build.directory, "overlay"));
    free(made);
    helper_discard(folder);
    free(folder);
}

TEST(equal_content_is_an_equal_key_and_no_other)
{
    struct helper_builds *f = *state;
    char *folders[] = {folder_with("one"), folder_with("one"), folder_with("two"),
                       folder_with("one")};
    char *path = xprintf("%s/deep/made.txt", folders[3]), *git = xprintf("%s/.git", folders[1]);
    chmod(path, 0755);
    mkdir(git, 0777);
    struct overlay overlays[4];
    for (size_t i = 0; i < 4; i++)
        overlays[i] = open_overlay(f, folders[i]);
    const struct build first = build_with(f, &overlays[0]), same = build_with(f, &overlays[1]);
    const struct build other = build_with(f, &overlays[2]), mode = build_with(f, &overlays[3]);
    assert_true(same.cached);
    assert_string_equal(same.key, first.key);
    assert_string_not_equal(other.key, first.key);
    assert_false(mode.cached);
    assert_string_not_equal(build_with(f, NULL).key, first.key);
    free(git);
    free(path);
    for (size_t i = 0; i < 4; i++) {
        helper_discard(folders[i]);
        free(folders[i]);
    }
}

TEST(links_are_refused_with_their_path)
{
    struct helper_builds *f = *state;
    char *folder = folder_with("text"), *link = xprintf("%s/deep/secret", folder);
    struct overlay overlay;
    struct error err;
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(overlay_open(&overlay, folder, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "deep/secret: an overlay holds regular files and folders"));
    helper_discard(folder);
    assert_int_equal(overlay_open(&overlay, folder, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "No such file"));
    free(link);
    free(folder);
}

TEST(overlay_that_changes_after_its_key_is_refused)
{
    struct helper_builds *f = *state;
    char *folder = folder_with("before"), *path = xprintf("%s/deep/made.txt", folder);
    const struct overlay overlay = open_overlay(f, folder);
    char *copy = xprintf("%s/copy", f->directory);
    struct error err;
    helper_write_text(path, "after!");
    assert_int_equal(overlay_copy(&overlay, copy, &err), -1);
    assert_non_null(strstr(err.text, "changed since this run began"));
    free(copy);
    free(path);
    helper_discard(folder);
    free(folder);
}
