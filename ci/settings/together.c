// SPDX-License-Identifier: Apache-2.0
//
// Threads for a list of jobs.
#include "ci/settings/together.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

size_t together_threads(size_t jobs, size_t least)
{
    cpu_set_t ours;
    size_t count = jobs / least;
    const size_t processors =
        sched_getaffinity(0, sizeof(ours), &ours) == 0 ? (size_t)CPU_COUNT(&ours) : 1;
    count = count < processors ? count : processors;
    count = count < TOGETHER_MOST ? count : TOGETHER_MOST;
    return count ? count : 1;
}

struct job {
    void (*work)(void *context);
    void *context;
};

static void *begin(void *argument)
{
    const struct job *part = argument;
    part->work(part->context);
    return NULL;
}

void together(void (*work)(void *context), void *const *contexts, size_t count)
{
    pthread_t threads[TOGETHER_MOST];
    struct job parts[TOGETHER_MOST];
    bool started[TOGETHER_MOST] = {false};
    assert(count <= TOGETHER_MOST);
    for (size_t i = 1; i < count; i++) {
        parts[i] = (struct job){work, contexts[i]};
        started[i] = pthread_create(&threads[i], NULL, begin, &parts[i]) == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!started[i])
            work(contexts[i]);
    }
    for (size_t i = 1; i < count; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
    }
}
