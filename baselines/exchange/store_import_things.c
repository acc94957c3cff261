// SPDX-License-Identifier: Apache-2.0
//
// Lines of JSON that are no runs and no results: builds, profiles, epochs and studies.
#include "baselines/exchange/import.h"
#include "baselines/range.h"
#include "baselines/save.h"
#include "baselines/study.h"

#include <math.h>
#include <string.h>

void import_traits(struct traits *out, const struct node *node)
{
    dtype_parse(&out->in, node_text(node, "in", "fp32"));
    dtype_parse(&out->out, node_text(node, "out", "fp32"));
    dtype_parse(&out->acc, node_text(node, "acc", "fp32"));
#define X(name)                                                                                    \
    int64_t name = node_int(node, #name, 0);                                                       \
    if (name >= INT32_MIN && name <= INT32_MAX)                                                    \
        out->name = (int32_t)name;
    TRAITS(X)
#undef X
}

int import_build(struct import *in, const struct node *node, struct arena *arena, struct error *err)
{
    const struct node *kernels = node_member(node, "kernels");
    struct build_record build = {.content = node_text(node, "content", ""),
                                 .recipe = node_text(node, "recipe", ""),
                                 .detail = node_text(node, "detail", ""),
                                 .count = kernels ? kernels->count : 0};
    struct commit commit = {.summary = node_text(node, "summary", ""),
                            .author = node_text(node, "author", ""),
                            .time_s = node_int(node, "time_s", 0)};
    bool sound = text_copy(commit.id, sizeof(commit.id), node_text(node, "commit", "")) &&
                 text_copy(commit.tree, sizeof(commit.tree), node_text(node, "tree", "")) &&
                 text_copy(commit.parent, sizeof(commit.parent), node_text(node, "parent", "")) &&
                 import_is_object_id(commit.id) && range_is_time(commit.time_s) &&
                 build.content[0] &&
                 measurement_state_parse(&build.state, node_text(node, "state", "")) == 0 &&
                 (build.state == MEASURED_OK || build.state == MEASURED_UNBUILDABLE);
    build.kernels = arena_alloc(arena, build.count * sizeof(*build.kernels));
    const struct node *at = kernels ? kernels->children : NULL;
    for (size_t i = 0; sound && at && i < build.count; i++, at = at->next) {
        struct build_kernel *k = &build.kernels[i];
        const char *code = node_text(at, "code", "");
        sound = text_copy(k->name, sizeof(k->name), node_text(at, "name", "")) &&
                range_is_name(k->name, sizeof(k->name)) && import_is_code(code) && code[0] &&
                text_copy(k->code, sizeof(k->code), code);
        import_traits(&k->traits, node_member(at, "traits"));
    }
    if (!sound)
        return import_refuse(in, "a build has a commit, a content, a state and kernels with codes",
                             err);
    if (store_record_build(in->store, &commit, &build, err))
        return import_blame(in, err);
    in->added.builds++;
    return 0;
}

int import_profile(struct import *in, const struct node *node, struct error *err)
{
    const struct device device = {.kind = node_text(node, "kind", ""),
                                  .uuid = node_text(node, "uuid", ""),
                                  .name = node_text(node, "device", "")};
    struct gpu gpu = {.name = node_text(node, "name", "")};
    const struct node *list = node_member(node, "figures");
    int64_t measured_s = node_int(node, "measured_s", 0);
    if (!range_is_name(device.uuid, IMPORT_WHERE) || measured_s <= 0 || !range_is_time(measured_s))
        return import_refuse(in, "a profile has a uuid and the time it was measured", err);
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    for (; at; at = at->next) {
        const struct node *name = at->children, *value = name ? name->next : NULL;
        const struct node *source = value ? value->next : NULL;
        struct figure *figure =
            name && name->type == NODE_TEXT ? gpu_figure(&gpu, name->text) : NULL;
        if (figure && source && source->type == NODE_TEXT)
            *figure = (struct figure){node_value(value), ORIGIN_CALIBRATED, source->text};
    }
    if (save_profile(in->store, &device, &gpu, measured_s, err))
        return import_blame(in, err);
    in->added.profiles++;
    return 0;
}

int import_epoch(struct import *in, const struct node *node, struct error *err)
{
    struct epoch epoch = {.series = node_text(node, "series", ""),
                          .level = node_real(node, "level", NAN),
                          .removed = node_bool(node, "removed", false),
                          .reason = node_text(node, "reason", ""),
                          .who = node_text(node, "who", ""),
                          .when_s = node_int(node, "when_s", 0)};
    const struct epoch_list list = {.epochs = &epoch, .count = 1};
    struct arena arena = {0};
    char *text;
    bool sound = text_copy(epoch.commit, sizeof(epoch.commit), node_text(node, "commit", "")) &&
                 epoch_format(&text, &epoch, &arena, err) == 0;
    arena_free(&arena);
    if (!sound)
        return import_refuse(in, "an epoch has series, commit, level, reason, who and when_s", err);
    if (store_save_epochs(in->store, &list, err))
        return import_blame(in, err);
    in->added.epochs++;
    return 0;
}

int import_study(struct import *in, const struct node *node, struct error *err)
{
    struct study_result study = {.kind = STUDY_AA};
    const int64_t device = node_int(node, "device", -1);
    struct error ignored;
    bool sound = in->open && device >= 0 && (uint64_t)device < in->run.device_count &&
                 text_copy(study.kernel, sizeof(study.kernel), node_text(node, "kernel", "")) &&
                 range_is_name(study.kernel, sizeof(study.kernel)) &&
                 problem_parse(&study.problem, node_text(node, "problem", ""), &ignored) == 0 &&
                 study_kind_parse(&study.kind, node_text(node, "kind", "")) == 0;
#define X(name)                                                                                    \
    const int64_t name = node_int(node, #name, -1);                                                \
    sound = sound && name >= 0 && name <= UINT32_MAX;                                              \
    study.name = sound ? (uint32_t)name : 0;
    STUDY_COUNTS(X)
#undef X
#define X(name) study.name = node_real(node, #name, NAN);
    STUDY_REALS(X)
#undef X
    if (!sound || !study_sound(&study))
        return import_refuse(in, "a study has kind, kernel, problem, device and counts that add up",
                             err);
    if (in->known)
        return 0; // what was found of it is here
    study.device = (size_t)device;
    struct run run = in->run;
    run.studies = &study;
    run.study_count = 1;
    return store_save_study(in->store, &run, err) ? import_blame(in, err) : 0;
}
