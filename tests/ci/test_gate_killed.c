// SPDX-License-Identifier: Apache-2.0
//
// Whole gates by the real program whose bench dies as the kernel's OOM killer ends it (SIGKILL):
// once changes no verdict; again and again it is a broken kernel by exit status, with the signal's
// name, and the next gate measures it anew.
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/test.h"

#include <string.h>

static struct fake_gate fake;

static int set_up(void **state)
{
    fake_gate_make(&fake);
    fake_gate_policy(&fake, "", "[gate]\n\tself-test = 0\n");
    return 0;
}

static int tear_down(void **state)
{
    fake_gate_remove(&fake);
    return 0;
}

AROUND_EACH(set_up, tear_down);

// A gate of two commits with this kernel alone: beside another it would be tried again anyway.
static void gate(const char *branch, const char *kernel)
{
    const char *const names[] = {kernel, NULL};
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    fake_gate_commit(base, &fake, branch, NULL, names, "", 1);
    fake_gate_commit(head, &fake, "head", base, names, "", 2);
    fake_gate_run(&fake, base, head, 0);
}

TEST(one_kill_changes_no_verdict)
{
    gate("once", "once-pairs");
    plumb_said(&fake.outcome, CONCLUDE_OK, "OK: 1 same");
}

TEST(kernel_whose_bench_is_always_killed_is_broken_and_tried_again)
{
    gate("killed", "killed-pairs");
    plumb_said(&fake.outcome, CONCLUDE_BROKEN, "the process died: signal 9 (Killed)");
    plumb_said(&fake.outcome, CONCLUDE_BROKEN, "BROKEN: 1 broken: killed-pairs");
    fake_bench_write(&fake.bench, "calm", "");
    gate("calm", "killed-pairs");
    plumb_said(&fake.outcome, CONCLUDE_OK, "OK: 1 same");
}
