// SPDX-License-Identifier: Apache-2.0
//
// A plain run's measuring: its tasks one after the other, each stored as soon as it is known.
#include "ci/gate/solo_measure.h"
#include "ci/gate/pace.h"

// The tasks of a plain run, what they took so far and what those after `next` will.
struct course {
    const struct task_list *tasks;
    double *sizes;
    struct pace pace;
};

static int course_begin(struct course *out, const struct task_list *tasks, struct run *run,
                        struct context *context, struct error *err)
{
    *out = (struct course){.tasks = tasks};
    out->sizes = arena_alloc(&run->arena, tasks->count * sizeof(*out->sizes));
    for (size_t i = 0; i < tasks->count; i++) {
        if (pace_size(&out->sizes[i], &tasks->items[i], context, err))
            return -1;
    }
    return 0;
}

static double course_left_s(const struct course *course, size_t next)
{
    double left_s = 0;
    for (size_t i = next; i < course->tasks->count; i++)
        left_s += pace_expect(&course->pace, course->sizes[i]);
    return left_s;
}

static int measure_one(const struct task *task, struct measuring *measuring, bool again,
                       struct error *err)
{
    bool found = false;
    if (!again && task_reuse(&found, task, measuring->context, err))
        return -1;
    return found ? 0 : measure_solo(measuring, task, ROLE_HEAD, err);
}

int solo_measure(struct run *run, const struct task_list *tasks, struct measuring *measuring,
                 enum anew anew, struct error *err)
{
    struct context *context = measuring->context;
    struct course course;
    progress_begin(&context->progress);
    if (course_begin(&course, tasks, run, context, err))
        return -1;
    for (size_t i = 0; i < tasks->count; i++) {
        struct task *task = &tasks->items[i];
        bool known = false;
        progress_left(&context->progress, course_left_s(&course, i));
        task_show(task, context);
        if (run->id && task_resumed(&known, task, context, err))
            return -1;
        if (known)
            continue;
        const double begun_s = monotonic_s();
        if (measure_one(task, measuring, anew_wanted(anew, run, task->result), err))
            return -1;
        if (run->id && store_save_result(context->store, run, task->result, err))
            return -1;
        if (!task->result->reused)
            pace_add(&course.pace, course.sizes[i], monotonic_s() - begun_s);
    }
    progress_end(&context->progress);
    return 0;
}
