// SPDX-License-Identifier: Apache-2.0
//
// Cores for those that measure, on a made machine: no two have the same one, whoever asks, a core
// is left for all else, and what only computes keeps away.
#include "runner/child/process.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char *root, scope[64];
static cpu_set_t ours;
static struct processors_site site = {.scope = scope, .ours = &ours};

// Two sockets of four cores of two threads: 0 and 8, 1 and 9, ...; a GPU at the first socket.
static int set_up(void **state)
{
    site.root = root = helper_directory();
    snprintf(scope, sizeof(scope), "plumb-test-%ld", (long)getpid());
    for (int cpu = 0; cpu < 16; cpu++) {
        char path[128], list[16];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        snprintf(list, sizeof(list), "%d,%d\n", cpu % 8, cpu % 8 + 8);
        helper_put(root, path, list);
    }
    helper_put(root, "/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "0-3,8-11\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void may_use(const char *list)
{
    assert_int_equal(topology_parse(&ours, list), 0);
}

static void assert_taken(struct processors *out, const char *bus, const char *wanted)
{
    char text[PROCESSORS_TEXT];
    struct error why = {""};
    if (!processors_take(out, &site, bus, &why))
        fail_msg("%s", why.text);
    processors_text(text, out);
    assert_string_equal(text, wanted);
}

static void assert_aside(const char *list, bool kept)
{
    cpu_set_t aside, wanted;
    assert_int_equal(topology_parse(&wanted, list), 0);
    assert_int_equal(processors_aside(&aside, &site), kept);
    assert_true(CPU_EQUAL(&aside, &wanted));
}

TEST(each_has_a_core_with_its_hyperthread)
{
    struct processors first, second;
    may_use("0-15");
    assert_taken(&first, NULL, "7,15");
    assert_taken(&second, NULL, "6,14");
    processors_give_back(&first);
    assert_taken(&first, NULL, "7,15");
    processors_give_back(&first);
    processors_give_back(&second);
}

TEST(it_lies_near_the_device_while_there_is_room)
{
    struct processors all[5];
    may_use("0-15");
    for (int i = 0; i < 4; i++) {
        char wanted[16];
        snprintf(wanted, sizeof(wanted), "%d,%d", 3 - i, 11 - i);
        assert_taken(&all[i], "0000:1B:00.0", wanted);
    }
    assert_taken(&all[4], "0000:1b:00.0", "7,15");
    for (int i = 0; i < 5; i++)
        processors_give_back(&all[i]);
    assert_taken(&all[0], "0000:99:00.0", "7,15"); // of which nothing is known
    processors_give_back(&all[0]);
}

TEST(a_core_is_left_for_all_else)
{
    char text[PROCESSORS_TEXT];
    struct processors first, second;
    struct error why;
    may_use("2,3,10"); // two cores, one of them with one thread
    assert_taken(&first, NULL, "3");
    assert_false(processors_take(&second, &site, NULL, &why));
    assert_string_equal(why.text, "of 2 cores others measure on 1, and one is for all else");
    processors_text(text, &second);
    assert_string_equal(text, "none");
    processors_give_back(&second);
    processors_give_back(&first);
    may_use("5");
    assert_false(processors_take(&first, &site, NULL, &why));
    assert_string_equal(why.text, "of 1 core others measure on 0, and one is for all else");
}

TEST(other_programs_count_until_they_end)
{
    struct processors mine;
    int ready[2];
    char byte;
    may_use("0-15");
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct error why;
        struct processors theirs;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const bool taken = processors_take(&theirs, &site, NULL, &why);
        if (write(ready[1], taken ? "y" : "n", 1) == 1)
            pause();
        _exit(1);
    }
    assert_true(read(ready[0], &byte, 1) == 1 && byte == 'y');
    assert_taken(&mine, NULL, "6,14");
    assert_aside("0-5,8-13", true);
    size_t taken;
    assert_int_equal(processors_cores(&taken, &site), 8);
    assert_int_equal(taken, 2);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_aside("0-5,7-13,15", true);
    processors_give_back(&mine);
    assert_taken(&mine, NULL, "7,15");
    processors_give_back(&mine);
    close(ready[0]);
    close(ready[1]);
}

// A program that may use other processors than we finds the cores by the same names.
TEST(parts_of_a_core_are_one_for_all)
{
    struct processors theirs, mine;
    may_use("4-7");
    assert_taken(&theirs, NULL, "7");
    may_use("14,15");
    assert_aside("14", true);
    may_use("13-15");
    assert_taken(&mine, NULL, "14");
    assert_aside("13", true);
    processors_give_back(&theirs);
    processors_give_back(&mine);
}

TEST(what_computes_has_all_where_nobody_or_everybody_measures)
{
    struct processors theirs;
    may_use("0-15");
    assert_aside("0-15", false);
    assert_taken(&theirs, NULL, "7,15");
    may_use("7,15");
    assert_aside("7,15", false);
    processors_give_back(&theirs);
}

static bool kernel_is_silent;

int sched_getaffinity(pid_t of, size_t size, cpu_set_t *set)
{
    static int (*own)(pid_t, size_t, cpu_set_t *);
    if (!own)
        *(void **)&own = dlsym(RTLD_NEXT, "sched_getaffinity");
    errno = EINVAL;
    return kernel_is_silent ? -1 : own(of, size, set);
}

// As where there are more processors than a set holds.
TEST(where_the_kernel_does_not_say_which_are_ours_nothing_is_taken)
{
    const struct processors_site any = {.scope = "plumb-test-silent"};
    struct processors none;
    struct error why = {""};
    cpu_set_t aside;
    size_t taken = 5;
    kernel_is_silent = true;
    assert_false(processors_take(&none, &any, NULL, &why));
    assert_int_equal(none.held, 0);
    assert_non_null(strstr(why.text, "which processors are ours is not known: Invalid argument"));
    assert_int_equal(processors_cores(&taken, &any), 0);
    assert_int_equal(taken, 0);
    assert_false(processors_aside(&aside, &any));
    assert_int_equal(CPU_COUNT(&aside), 0);
    kernel_is_silent = false;
}

// Who starts plumb may have closed its standard input, and the name's descriptor is 0 then.
TEST(without_standard_input_a_core_is_taken_too)
{
    struct processors first, second;
    may_use("0-15");
    const int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    assert_taken(&first, NULL, "7,15");
    assert_taken(&second, NULL, "6,14");
    processors_give_back(&first);
    processors_give_back(&second);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}
