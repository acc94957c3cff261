// SPDX-License-Identifier: Apache-2.0
//
// A host library has a process of its own: it reaches no other, writes to no input, and stands
// still when it is not its turn. With the real bench.
//
// Label: alone
#include "tests/helpers/test.h"

#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPEN "open\tid=%d\tkernel=%s\tproblem=9x7x11:fp32\thead=%s\tbase=%s\tseed=7\tlaunches=1\n"

static void play(struct transcript *t, const char *kernel, const char *rest)
{
    char *module = test_module("apart");
    char *script = xprintf(OPEN "%squit\n", 1, kernel, module, module, rest);
    bench_script(t, "--device host", script);
    free(script);
    free(module);
}

static void assert_contained(const char *kernel)
{
    struct transcript t;
    play(&t, kernel, "pairs\tid=1\tcount=4\tblock=0\nclose\tid=1\n");
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    if (strcmp(field(opened, "state"), "ok") != 0)
        fail_msg("%s: %s", kernel, field(opened, "note"));
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "sample"), 8);
    transcript_free(&t);
}

TEST(it_makes_no_process_and_no_connection)
{
    assert_contained("forks");
    assert_contained("talks");
}

TEST(it_takes_no_page_from_the_other_build)
{
    assert_contained("empties");
}

TEST(nothing_is_done_for_it_while_it_stands_still)
{
    assert_contained("arms");
}

TEST(nothing_wakes_it)
{
    assert_contained("wakes");
}

// ---- somebody wakes it all the same

static bool reads(char *out, size_t size, long pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(out, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    out[got] = '\0';
    return got > 0;
}

static long parent_of(long pid)
{
    char text[512];
    const char *after = reads(text, sizeof(text), pid, "stat") ? strrchr(text, ')') : NULL;
    return after ? strtol(after + 4, NULL, 10) : 0;
}

// Sends SIGCONT to the processes of libraries below `test`, again and again, until it is ended.
_Noreturn static void wake_all(long test)
{
    const struct timespec pause = {.tv_nsec = 200000};
    for (;;) {
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc && (entry = readdir(proc));) {
            const long pid = strtol(entry->d_name, NULL, 10);
            char words[64];
            if (pid > 0 && parent_of(parent_of(pid)) == test &&
                reads(words, sizeof(words), pid, "cmdline") &&
                strcmp(words + strlen(words) + 1, "keep") == 0)
                for (int i = 0; i < 100 && kill((pid_t)pid, SIGCONT) == 0; i++)
                    nanosleep(&pause, NULL);
        }
        if (proc)
            closedir(proc);
    }
}

TEST(one_that_works_in_anothers_turn_has_no_time)
{
    struct transcript t;
    const pid_t test = getpid(), waker = fork();
    if (waker == 0)
        wake_all(test);
    play(&t, "goes_on", "pairs\tid=1\tcount=64\tblock=0\nclose\tid=1\n");
    kill(waker, SIGKILL);
    waitpid(waker, NULL, 0);
    const struct wire_record *last =
        transcript_find(&t, transcript_count(&t, "closed") ? "closed" : "opened", 0);
    assert_string_equal(field(last, "state"), "wrong");
    assert_non_null(strstr(field(last, "note"), "while it should stand still"));
    transcript_free(&t);
}

TEST(it_does_not_know_what_others_read)
{
    assert_contained("asks_what_is_cached");
}

TEST(it_does_not_know_what_the_machine_has)
{
    assert_contained("asks_the_machine");
}

TEST(it_has_no_counters_of_the_processor)
{
    assert_contained("counts");
}

TEST(it_reaches_no_other_process)
{
    assert_contained("reaches");
    assert_contained("reaches_by_number");
}

static void need_namespaces(void)
{
    if (system("unshare --user --map-root-user --mount true 2>/dev/null"))
        skip_without("namespaces", "no namespaces here: a library sees what its user sees");
}

TEST(it_writes_to_no_file_of_a_process)
{
    need_namespaces();
    assert_contained("tells_the_system");
}

TEST(in_a_sandbox_it_reads_of_no_process_but_itself)
{
    need_namespaces();
    setenv("PLUMB_FOLDERS", "own", 1);
    assert_contained("reads_of_the_machine");
    assert_contained("tells_the_system");
    unsetenv("PLUMB_FOLDERS");
}

// Containers, and what guards bubblewrap on some systems, forbid namespaces within namespaces. Then
// all libraries have bench's, and see each other's numbers.

// Whether `holds` says so in a process below which nobody makes namespaces.
static void assert_without_namespaces(bool (*holds)(void))
{
    int status = -1;
    need_namespaces();
    const pid_t child = fork();
    if (child == 0) {
        const int most = unshare(CLONE_NEWUSER)
                             ? -1
                             : open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
        if (most < 0 || write(most, "0", 1) != 1)
            _exit(77);
        _exit(holds() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_without("namespaces", "their number cannot be limited here");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Whether the kernel opens, and a note says this.
static bool opens_and_tells(const char *kernel, const char *words)
{
    struct transcript t;
    play(&t, kernel, "");
    return strcmp(field(transcript_find(&t, "opened", 0), "state"), "ok") == 0 &&
           transcript_count(&t, "note") == 1 &&
           strstr(field(transcript_find(&t, "note", 0), "text"), words);
}

static bool reaches_none_by_number(void)
{
    return opens_and_tells("reaches_by_number",
                           "they may see other builds, and each other's files");
}

TEST(without_namespaces_it_reaches_no_other_process_either)
{
    assert_without_namespaces(reaches_none_by_number);
}

// What it left in a folder of the sandbox the other build could read.
static bool changes_no_file(void)
{
    setenv("PLUMB_FOLDERS", "own", 1);
    return opens_and_tells("leaves_files", "they may see other builds, and may change no file");
}

TEST(without_namespaces_it_leaves_no_file_in_a_sandbox)
{
    assert_without_namespaces(changes_no_file);
}

// Whether a command fails for a reason that is this machine's, and says this of it.
static bool is_unable(const char *words)
{
    struct transcript t;
    play(&t, "leaves_files", "");
    const struct wire_record *fail = transcript_find(&t, "fail", 0);
    return transcript_count(&t, "opened") == 0 && wire_text(fail, "unable") &&
           strstr(field(fail, "text"), words);
}

static bool is_refused(void)
{
    setenv("PLUMB_FOLDERS", "required", 1);
    return is_unable("a library can have no namespaces of its own (");
}

TEST(sandbox_that_is_required_runs_none_without_namespaces)
{
    assert_without_namespaces(is_refused);
}

// The tests' own files are in one of the two folders, and it is the other that nobody may write to.
TEST(sandbox_runs_none_without_folders_of_its_own)
{
    const char *own = getenv("TMPDIR");
    const bool memory = own && strncmp(own, "/dev/shm", 8) == 0;
    int status = -1;
    need_namespaces();
    const pid_t child = fork();
    if (child == 0) {
        setenv("PLUMB_FOLDERS", "own", 1);
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
            mount("none", memory ? "/tmp" : "/dev/shm", "tmpfs", MS_RDONLY, NULL))
            _exit(77);
        _exit(is_unable(memory ? "a library can have no /tmp of its own: Read-only file system"
                               : "a library can have no /dev/shm of its own: Read-only file system")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_without("namespaces", "nothing can be mounted here");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// To copy 1 GiB of nothing takes 30 ms and more on any machine. Who loses the processor between its
// word and its call is stopped there, and pays in its next turn.
static void assert_all_counted(const char *kernel)
{
    struct transcript t;
    size_t short_ones = 0;
    play(&t, kernel, "pairs\tid=1\tcount=6\tblock=0\nclose\tid=1\n");
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    const size_t count = transcript_count(&t, "sample");
    for (size_t i = 0; i < count; i++)
        short_ones += strtod(field(transcript_find(&t, "sample", i), "time_ns"), NULL) < 15e6;
    print_message("%s: %zu of %zu took less than 15 ms\n", kernel, short_ones, count);
    assert_true(count == 12 && short_ones <= 4);
    transcript_free(&t);
}

TEST(a_call_that_goes_on_after_its_turn_is_part_of_it)
{
    assert_all_counted("leaves_a_call");
    assert_all_counted("leaves_a_call_alone");
}

// The base's build lies beside its own, and would do its work as well as the base does.
TEST(it_sees_no_other_build)
{
    need_namespaces();
    char *module = test_module("apart"), *other = helper_directory();
    char *file = xprintf("%s/base.so", other);
    char *builds = xprintf("%s\n%.*s", other, (int)(strrchr(module, '/') - module), module);
    helper_write_text(file, "the base's");
    setenv("PLUMB_TEST_OTHER", file, 1);
    setenv("PLUMB_BUILDS", builds, 1);
    assert_contained("peeks");
    unsetenv("PLUMB_BUILDS");
    helper_discard(other);
    free(builds);
    free(file);
    free(other);
    free(module);
}

// Nor what is right of inputs that it will meet.
TEST(it_sees_no_references)
{
    need_namespaces();
    char *folder = helper_directory(), *file = xprintf("%s/0123456789abcdef", folder);
    helper_write_text(file, "numbers");
    setenv("PLUMB_TEST_OTHER", file, 1);
    setenv("PLUMB_REFERENCES", folder, 1);
    assert_contained("peeks");
    unsetenv("PLUMB_REFERENCES");
    helper_discard(folder);
    free(file);
    free(folder);
}

// Nor a library of its own build that its code id does not cover, nor what the folder is called
// that it lies in among those of others.
TEST(it_sees_no_other_library)
{
    need_namespaces();
    struct transcript t;
    char *module = test_module("apart"), *kept = helper_directory();
    char *make = xprintf("mkdir %s/one %s/two && cp %s %s/one/kernel.so && echo 1 >%s/two/other.so",
                         kept, kept, module, kept, kept);
    char *builds = xprintf("%s/*", kept), *other = xprintf("%s/two/other.so", kept);
    char *own = xprintf("%s/one/kernel.so", kept);
    assert_int_equal(system(make), 0);
    setenv("PLUMB_TEST_OTHER", other, 1);
    setenv("PLUMB_BUILDS", builds, 1);
    char *script = xprintf(OPEN "close\tid=1\nquit\n", 1, "peeks", own, own);
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
    setenv("PLUMB_TEST_OTHER", own, 1); // as it was called outside
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
    unsetenv("PLUMB_BUILDS");
    helper_discard(kept);
    free(script);
    free(own);
    free(other);
    free(builds);
    free(make);
    free(kept);
    free(module);
}

// Nor the control groups, by which it could kill the base's process or leave its own: also where
// its folder is shown in another's place.
TEST(it_sees_no_group)
{
    need_namespaces();
    struct transcript t;
    char *module = test_module("apart"), *folder = helper_directory();
    char *make = xprintf("mkdir -p %s/kept/one %s/groups && cp %s %s/kept/one/kernel.so && echo "
                         ">%s/groups/cgroup.kill",
                         folder, folder, module, folder, folder);
    char *builds = xprintf("%s/kept/*", folder), *groups = xprintf("%s/groups", folder);
    char *other = xprintf("%s/cgroup.kill", groups),
         *own = xprintf("%s/kept/one/kernel.so", folder);
    char *script = xprintf(OPEN "close\tid=1\nquit\n", 1, "peeks", own, own);
    assert_int_equal(system(make), 0);
    setenv("PLUMB_TEST_OTHER", other, 1);
    setenv("PLUMB_BUILDS", builds, 1);
    setenv("PLUMB_FREEZER", groups, 1);
    bench_script(&t, "--device host", script);
    unsetenv("PLUMB_FREEZER");
    unsetenv("PLUMB_BUILDS");
    if (strcmp(field(transcript_find(&t, "opened", 0), "state"), "ok") != 0 ||
        strstr(t.errors, "may see"))
        fail_msg("%s", t.errors);
    transcript_free(&t);
    helper_discard(folder);
    free(script);
    free(own);
    free(other);
    free(groups);
    free(builds);
    free(make);
    free(folder);
    free(module);
}

TEST(its_inputs_stay_what_they_are)
{
    struct transcript t;
    assert_contained("remaps");
    play(&t, "scribbles", "");
    assert_true(WIFSIGNALED(t.status));
    assert_int_equal(transcript_count(&t, "opened"), 0);
    transcript_free(&t);
}

static void assert_ends_by(const char *kernel, int number)
{
    struct transcript t;
    play(&t, kernel, "");
    assert_int_equal(transcript_count(&t, "opened"), 0);
    assert_true(WIFSIGNALED(t.status));
    assert_int_equal(WTERMSIG(t.status), number);
    transcript_free(&t);
}

TEST(its_end_is_ours)
{
    assert_ends_by("aborts", SIGABRT);
    assert_ends_by("raises_the_last", SIGRTMAX);
}

// As if it came from outside, which is nobody's fault, or did nothing.
TEST(a_signal_of_others_to_itself_is_its_end)
{
    assert_ends_by("kills_itself", SIGSYS);
    assert_ends_by("stops_itself", SIGSYS);
    assert_ends_by("hangs_up", SIGSYS);
}

TEST(it_stands_still_when_it_is_not_its_turn)
{
    struct transcript t;
    char *module = test_module("apart");
    char *script = xprintf(OPEN OPEN "pairs\tid=1\tcount=2\tblock=0\n"
                                     "pairs\tid=2\tcount=2\tblock=0\n"
                                     "pairs\tid=1\tcount=2\tblock=1\nclose\tid=1\nquit\n",
                           1, "lingers", module, module, 2, "sleeps", module, module);
    bench_script(&t, "--device host", script);
    assert_int_equal(transcript_count(&t, "sample"), 12);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
    free(script);
    free(module);
}
