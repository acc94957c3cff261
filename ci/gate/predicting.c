// SPDX-License-Identifier: Apache-2.0
//
// Finds the policy's model and its biases, and asks it about every result of a run.
#include "ci/gate/predicting.h"
#include "ci/settings/bias_file.h"
#include "model/predict.h"

#include <stdlib.h>

// The policy's model with the biases fitted to it (none: an empty table, to be freed all the same).
static const struct model *find_model(struct bias_table *biases, const struct context *context,
                                      struct error *err)
{
    const struct policy *policy = &context->policy;
    const struct model *model = model_find(policy->model);
    if (!model) {
        error_set(err, "%s: measure.model = %.60s: `plumb list models` names those there are",
                  policy->label, policy->model);
        return NULL;
    }
    if (!policy->bias)
        return model;
    char *path = policy->bias[0] == '/'
                     ? xstrdup(policy->bias)
                     : xprintf("%s/%s", context->options->repository, policy->bias);
    int status = bias_file_read(biases, path, model, err);
    free(path);
    return status ? NULL : model;
}

int predicting_ready(const struct context *context, struct error *err)
{
    struct bias_table biases = {0};
    const struct model *model = find_model(&biases, context, err);
    bias_table_free(&biases);
    return model ? 0 : -1;
}

int predicting_fill(struct run *run, const struct task_list *tasks, const struct context *context,
                    struct error *err)
{
    struct bias_table biases = {0};
    const struct model *model = find_model(&biases, context, err);
    if (!model)
        return -1;
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        const struct predict_input input = {
            .gpu = &tasks->items[i].device->gpu,
            .traits = &r->traits,
            .problem = &r->problem,
            .clock_hz = measurement_clock_hz(&r->head),
        };
        r->prediction = model->predict(&input);
        bias_apply(&r->prediction, &biases, r->kernel);
    }
    bias_table_free(&biases);
    return 0;
}
