// SPDX-License-Identifier: Apache-2.0
//
// What a build can and cannot do inside the sandbox.
#include "runner/child/files.h"
#include "runner/child/process.h"
#include "runner/child/sandbox.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct sandbox sandbox;
    struct arena arena;
    char *directory, *log;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct error err;
    if (sandbox_probe(&f->sandbox, SANDBOX_AUTO, &err))
        return -1;
    if (!f->sandbox.active)
        print_message("sandbox: %s\n", f->sandbox.reason);
    f->directory = helper_directory();
    f->log = xprintf("%s/log", f->directory);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    helper_discard(f->directory);
    arena_free(&f->arena);
    free(f->directory);
    free(f->log);
    free(f);
    return 0;
}

AROUND_ALL(set_up, tear_down);

// What the script prints inside; the test is skipped, visibly, where no sandbox works.
static char *inside(struct fixture *f, const struct sandbox_view *view, const char *script)
{
    if (!f->sandbox.active)
        skip_without("sandbox", f->sandbox.reason);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process_plan plan = {
        .argv = sandbox_argv(&f->sandbox, view, argv, &f->arena),
        .log_path = f->log,
        .limits = {.time_s = 30},
    };
    struct process_result result;
    struct error err;
    if (process_run(&result, &plan, &err))
        fail_msg("%s", err.text);
    return log_tail(f->log, 4000);
}

static void expect_inside(void **state, const struct sandbox_view *view, const char *script,
                          const char *expected)
{
    char *said = inside(*state, view, script);
    assert_string_equal(said, expected);
    free(said);
}

TEST(modes_have_names)
{
    const char *const names[] = {"auto", "require", "off"};
    for (int i = SANDBOX_AUTO; i <= SANDBOX_OFF; i++) {
        enum sandbox_mode mode;
        assert_int_equal(sandbox_mode_parse(&mode, names[i]), 0);
        assert_int_equal(mode, i);
    }
    enum sandbox_mode mode;
    assert_int_equal(sandbox_mode_parse(&mode, "maybe"), -1);
}

TEST(off_leaves_the_command_alone)
{
    struct sandbox sandbox;
    struct error err;
    struct arena arena = {0};
    struct sandbox_view view = {0};
    const char *argv[] = {"true", NULL};
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_OFF, &err), 0);
    assert_false(sandbox.active);
    assert_string_equal(sandbox.reason, "switched off");
    assert_ptr_equal(sandbox_argv(&sandbox, &view, argv, &arena), argv);
}

TEST(without_bubblewrap_the_reason_is_said)
{
    char *path = xstrdup(getenv("PATH"));
    struct sandbox sandbox = {0};
    struct error err;
    setenv("PATH", "/no/such/place", 1);
    int automatic = sandbox_probe(&sandbox, SANDBOX_AUTO, &err);
    int required = sandbox_probe(&sandbox, SANDBOX_REQUIRE, &err);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(automatic, 0);
    assert_false(sandbox.active);
    assert_non_null(strstr(sandbox.reason, "bwrap: program not found"));
    assert_int_equal(required, -1);
    assert_non_null(strstr(err.text, "install bubblewrap"));
}

TEST(a_bubblewrap_that_fails_is_not_used)
{
    struct fixture *f = *state;
    char *program = xprintf("%s/bwrap", f->directory), *path = xstrdup(getenv("PATH"));
    char *longer = xprintf("%s:%s", f->directory, path);
    FILE *file = fopen(program, "w");
    fputs("#!/bin/sh\necho 'bwrap: No permissions to create new namespace. See <page> or <file>.' "
          ">&2\nexit 1\n",
          file);
    fclose(file);
    char *command = xprintf("chmod +x '%s'", program);
    assert_int_equal(system(command), 0);
    setenv("PATH", longer, 1);
    struct sandbox sandbox;
    struct error err;
    int code = sandbox_probe(&sandbox, SANDBOX_AUTO, &err);
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_REQUIRE, &err), -1);
    setenv("PATH", path, 1);
    unlink(program);
    assert_int_equal(code, 0);
    assert_non_null(strstr(err.text, "(.github/RUNNERS.md, \"The user, and the sandbox\", says"));
    assert_false(sandbox.active);
    assert_string_equal(sandbox.reason, "bubblewrap does not work here: bwrap: No permissions to "
                                        "create new namespace");
    free(command);
    free(longer);
    free(path);
    free(program);
}

// A systemd-run of ours: notes what it was asked, and becomes the command.
TEST(commands_run_in_a_scope_where_systemd_makes_one)
{
    struct fixture *f = *state;
    struct sandbox sandbox;
    struct error err;
    char *program = xprintf("%s/systemd-run", f->directory), *path = xstrdup(getenv("PATH"));
    char *longer = xprintf("%s:%s", f->directory, path), *asked = xprintf("%s/asked", f->directory);
    char *script = xprintf("#!/bin/sh\necho \"$@\" >'%s'\nwhile [ \"$1\" != -- ]; do shift; done\n"
                           "shift\nexec \"$@\"\n",
                           asked);
    char *command = xprintf("chmod +x '%s'", program);
    if (!f->sandbox.active)
        skip_without("sandbox", f->sandbox.reason);
    helper_write_text(program, script);
    assert_int_equal(system(command), 0);
    setenv("PATH", longer, 1);
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_AUTO, &err), 0);
    const struct sandbox outer = f->sandbox;
    f->sandbox = sandbox;
    const struct sandbox_view view = {.memory_bytes = 12345678, .tasks = 99, .background = true};
    char *said = inside(f, &view, "echo within");
    f->sandbox = outer;
    setenv("PATH", path, 1);
    unlink(program);
    assert_non_null(sandbox.scope);
    assert_string_equal(said, "within\n");
    char *text = log_tail(asked, 1000);
    assert_non_null(strstr(text, "--scope"));
    assert_non_null(strstr(text, "MemoryMax=12345678"));
    assert_non_null(strstr(text, "TasksMax=99"));
    assert_non_null(strstr(text, "CPUWeight=20"));
    free(text);
    free(said);
    free(command);
    free(script);
    free(asked);
    free(longer);
    free(path);
    free(program);
}

TEST(without_a_control_group_the_reason_is_said)
{
    struct fixture *f = *state;
    if (!f->sandbox.active)
        skip_without("sandbox", f->sandbox.reason);
    if (!f->sandbox.scope && !f->sandbox.grouped)
        assert_non_null(strstr(f->sandbox.no_group, "systemd-run"));
}

// Each process alone is within its limit.
TEST(a_control_group_holds_all_processes_together)
{
    struct fixture *f = *state;
    const struct sandbox_view memory = {.memory_bytes = 64 << 20};
    const struct sandbox_view tasks = {.tasks = 12};
    if (!f->sandbox.scope && !f->sandbox.grouped) {
        skip_without("group", f->sandbox.no_group);
    }
    char *said = inside(
        f, &memory, "for i in 1 2 3; do head -c 40m /dev/zero | tail -c 40m | wc -c & done; wait");
    assert_null(strstr(said, "41943040\n41943040\n41943040\n"));
    free(said);
    said =
        inside(f, &tasks, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do sleep 5 & done; echo all");
    assert_null(strstr(said, "all"));
    assert_non_null(strstr(said, "fork"));
    free(said);
}

TEST(inside_there_is_no_network)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo\n");
}

TEST(inside_there_is_no_home_and_no_secret)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view,
                  "ls -d /home /root /var /run /srv /mnt /media /boot /etc/shadow /etc/ssh "
                  "/etc/ssl 2>/dev/null; ls /tmp",
                  "");
}

TEST(inside_the_system_cannot_be_written)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view,
                  "for d in / /usr /usr/lib /etc /home /plumb; do mkdir -p $d/x 2>/dev/null && "
                  "echo $d; done; true",
                  "");
}

TEST(inside_the_environment_is_what_was_given)
{
    const char *env[] = {"PATH=/usr/bin:/bin", "COLOUR=a=b c", NULL};
    struct sandbox_view view = {.env = env};
    setenv("PLUMB_TEST_SECRET", "1", 1);
    expect_inside(state, &view, "env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= | sort",
                  "COLOUR=a=b c\nPATH=/usr/bin:/bin\n");
}

TEST(inside_processes_are_alone)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view, "ls /proc | grep -c '^[0-9]' | awk '{print ($1 < 8)}'", "1\n");
}

TEST(inside_there_are_no_devices_unless_asked)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view, "ls /dev | grep -E 'nvidia|sd|nvme|mem|kmsg|dri'; true", "");
}

TEST(binds_are_readable_or_writable_as_said)
{
    struct fixture *f = *state;
    char *source = xprintf("%s/source", f->directory), *out = xprintf("%s/out", f->directory);
    char *command = xprintf("mkdir -p '%s' '%s'; echo in > '%s/file'", source, out, source);
    assert_int_equal(system(command), 0);
    const struct sandbox_bind binds[] = {{source, "/plumb/source", false},
                                         {out, "/plumb/out", true}};
    struct sandbox_view view = {.binds = binds, .bind_count = 2, .directory = "/plumb/source"};
    expect_inside(state, &view,
                  "cat file; touch file 2>/dev/null || echo refused; cp file /plumb/out/copy; pwd",
                  "in\nrefused\n/plumb/source\n");
    char *copy = xprintf("%s/copy", out), *text = log_tail(copy, 10);
    assert_string_equal(text, "in\n");
    free(text);
    free(copy);
    free(command);
    free(source);
    free(out);
}

TEST(inside_tmp_is_private_and_bounded)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view, "df -k /tmp | awk 'END {print $2, $6}'", "1048576 /tmp\n");
}

// All of it is memory: what is not bounded may not be written.
TEST(inside_devices_are_bounded_too)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view,
                  "df -k /dev/shm | awk 'END {print $2, $6}'; "
                  "for d in /dev /dev/pts; do (: >$d/file) 2>/dev/null && echo $d; done; "
                  "echo x >/dev/null; echo y >/dev/shm/z && cat /dev/shm/z",
                  "1048576 /dev/shm\ny\n");
}

TEST(inside_nobody_has_privileges)
{
    struct sandbox_view view = {0};
    expect_inside(state, &view, "grep -E '^Cap(Eff|Bnd)' /proc/self/status | cut -f2",
                  "0000000000000000\n0000000000000000\n");
}
