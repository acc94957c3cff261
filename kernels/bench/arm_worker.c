// SPDX-License-Identifier: Apache-2.0
//
// The process of a host library (kernels/bench/arm_process.h): it loads the library, prepares it
// and launches it when it is its turn, and answers on the shared page. Nothing that it says is
// trusted.
#include "kernels/bench/arm_process.h"

#include "kernels/bench/futex.h"
#include "kernels/bench/module.h"
#include "kernels/bench/worker_filter.h"
#include "kernels/device/call.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

struct worker {
    struct arm_page *page;
    struct module module;
    struct plumb_form_kernel kernel;
};

static enum arm_finding load(struct worker *w)
{
    struct arm_page *page = w->page;
    struct error why;
    if (module_load(&w->module, page->path, false, &why)) {
        text_copy(page->text, sizeof(page->text), why.text);
        return ARM_NO_LIBRARY;
    }
    if (!module_find(&w->kernel, &w->module, page->kernel))
        return ARM_NO_KERNEL;
    if (strcmp(w->module.library->device, page->kind) != 0) {
        snprintf(page->text, sizeof(page->text), "%.40s", w->module.library->device);
        return ARM_OTHER_KIND;
    }
    if (!call_supports(&w->kernel, &page->form))
        return ARM_NOT_DONE;
    if (page->form.number_count && w->kernel.buffers(&page->stated, &page->form))
        return ARM_NOT_STATED;
    page->threads = w->kernel.kernel.traits.threads;
    page->workspace_bytes = call_workspace(&w->kernel, &page->form);
    return ARM_FOUND;
}

static int prepare(struct worker *w)
{
    struct arm_page *page = w->page;
    page->text[0] = '\0';
    return call_prepare(&w->kernel, &page->args[0], NULL, page->has_pin ? page->pin : NULL,
                        page->text, sizeof(page->text));
}

static int launch(const struct worker *w)
{
    const struct arm_page *page = w->page;
    const uint32_t first = page->first, sets = page->sets, launches = page->launches;
    int code = 0;
    for (uint32_t i = 0; i < launches && !code; i++)
        code = call_launch(&w->kernel, &page->args[(first + i) % sets], NULL);
    return code;
}

static void serve(struct worker *w)
{
    struct arm_page *page = w->page;
    switch (page->request) {
    case ARM_LOAD:
        page->finding = load(w);
        break;
    case ARM_PREPARE:
        page->code = prepare(w);
        break;
    case ARM_REFERENCE:
        page->code =
            w->kernel.reference(&page->args[0].form, page->args[0].inputs, page->reference);
        break;
    case ARM_LAUNCH:
        page->code = launch(w);
        break;
    default:
        break;
    }
}

// The first process of a namespace does not get a signal that it has no handler for: abort() would
// be a wrong instruction, and raise() of a fault nothing. bench makes the signal of this exit code
// again.
static void end_by_signal(int number)
{
    _exit(128 + number);
}

static void take_signals(void)
{
    // Without effect, never taken, or refused by worker_filter().
    static const int spared[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGKILL,
                                 SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t kept;
    sigemptyset(&kept);
    for (size_t i = 0; i < ARRAY_COUNT(spared); i++)
        sigaddset(&kept, spared[i]);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&kept, number) == 0)
            signal(number, end_by_signal); // the C library keeps two for itself
    }
}

int arm_worker_main(int page, int inputs, int outputs)
{
    struct worker w = {.module = MODULE_NONE};
    const int segments[HOST_RANGES] = {[HOST_INPUTS] = inputs, [HOST_OUTPUTS] = outputs};
    struct error err = {"the shared page cannot be attached"};
    void *map = shmat(page, NULL, 0);
    if (map == (void *)-1 || host_memory_join(segments, &err) || worker_filter(&err)) {
        fprintf(stderr, "bench: keep: %s\n", err.text);
        return 1;
    }
    take_signals();
    w.page = map;
    for (uint32_t turn = 0;;) {
        while (atomic_load(&w.page->turn) == turn)
            futex_wait(&w.page->turn, turn, 0);
        turn = atomic_load(&w.page->turn);
        serve(&w);
        atomic_store(&w.page->done, turn);
        futex_wake(&w.page->done);
    }
}
