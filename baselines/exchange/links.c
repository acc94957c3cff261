// SPDX-License-Identifier: Apache-2.0
//
// Links as lines of JSON, written and read (links_csv.c has them as a table). A line stands for
// itself: the run that measured the link may have been pruned.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/exchange/import.h"
#include "baselines/link.h"

#include <math.h>
#include <string.h>

static void put_link(FILE *file, const struct link_owner *owner, const struct link *l)
{
    struct export_line line;
    struct json *json = export_begin(&line, "link");
    export_text(json, "run", l->uid);
    export_text(json, "kernel", owner->kernel);
    export_text(json, "problem", owner->problem);
    export_text(json, "kind", owner->device.kind);
    export_text(json, "uuid", owner->device.uuid);
    export_text(json, "device", owner->device.name);
    export_text(json, "base_code", l->base_code);
    export_text(json, "head_code", l->head_code);
    export_commit(json, "base", &l->base);
    export_commit(json, "head", &l->head);
    export_text(json, "tool_version", l->tool_version);
    json_int(json, "made_s", l->made_s);
    json_int(json, "back", l->back);
    export_text(json, "verdict", verdict_kind_name(l->kind));
    json_number(json, "log_ratio", l->log_ratio);
    json_number(json, "error", l->error);
    json_number(json, "log_evidence", l->log_evidence);
    json_int(json, "pairs", l->pairs);
    json_int(json, "processes", l->processes);
    export_end(&line, file);
}

static int put_series(struct store *store, FILE *file, const char *uid,
                      const struct link_owner *owner, export_link *put, struct arena *arena,
                      struct error *err)
{
    struct problem problem;
    struct error ignored;
    struct link *links;
    size_t count;
    if (problem_parse(&problem, owner->problem, &ignored))
        return store_damaged(store, "a problem", err);
    const struct series series = {owner->kernel, &problem, owner->device.uuid};
    if (store_links(&links, &count, store, &series, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!uid[0] || strcmp(links[i].uid, uid) == 0)
            put(file, owner, &links[i]);
    }
    return 0;
}

int export_each_link(struct store *store, const struct export_filter *filter, FILE *file,
                     export_link *put, struct error *err)
{
    struct arena arena = {0};
    const char *uid = "";
    sqlite3_stmt *row;
    int status = 0;
    if (filter->run_id) {
        row = statement_bind(store, SQL_RUN_UID, CELLS(INT(filter->run_id)));
        if (statement_step(store, row, err) < 0)
            return -1;
        uid = row_text(row, 0, &arena);
        sqlite3_reset(row);
    }
    row = statement_bind(store, SQL_LINKED_SERIES, NULL, 0);
    while (status == 0 && (status = statement_step(store, row, err)) > 0) {
        const struct link_owner owner = {row_text(row, 0, &arena),
                                         row_text(row, 1, &arena),
                                         {.kind = row_text(row, 2, &arena),
                                          .uuid = row_text(row, 3, &arena),
                                          .name = row_text(row, 4, &arena)}};
        status = filter->kernel && strcmp(filter->kernel, owner.kernel) != 0
                     ? 0
                     : put_series(store, file, uid, &owner, put, &arena, err);
        if (status == 0)
            continue;
        sqlite3_reset(row);
        break;
    }
    arena_free(&arena);
    return status < 0 ? -1 : 0;
}

int export_links(struct store *store, const struct export_filter *filter, FILE *file,
                 struct error *err)
{
    return export_each_link(store, filter, file, put_link, err);
}

int import_put_link(struct import *in, const struct series *series, const struct device *device,
                    const struct link *link, struct error *err)
{
    int64_t key;
    if (content_device(&key, in->store, device, err) ||
        store_save_link(in->store, series, link, err))
        return import_blame(in, err);
    in->added.links += sqlite3_changes64(in->store->db); // 0: it is here already
    return 0;
}

static bool whole(uint32_t *out, const struct node *node, const char *name, int64_t least,
                  int64_t most)
{
    const int64_t value = node_int(node, name, -1);
    *out = (uint32_t)value;
    return value >= least && value <= most;
}

int import_link(struct import *in, const struct node *node, struct arena *arena, struct error *err)
{
    const struct device device = {.kind = node_text(node, "kind", ""),
                                  .uuid = node_text(node, "uuid", ""),
                                  .name = node_text(node, "device", "")};
    const char *base = node_text(node, "base_code", ""), *head = node_text(node, "head_code", "");
    struct link link = {.tool_version = node_text(node, "tool_version", ""),
                        .made_s = node_int(node, "made_s", 0),
                        .log_ratio = node_real(node, "log_ratio", NAN),
                        .error = node_real(node, "error", NAN),
                        .log_evidence = node_real(node, "log_evidence", NAN)};
    struct problem problem;
    struct error ignored;
    char kernel[KERNEL_NAME_TEXT];
    const bool sound =
        device.uuid[0] && text_copy(kernel, sizeof(kernel), node_text(node, "kernel", "")) &&
        kernel[0] && problem_parse(&problem, node_text(node, "problem", ""), &ignored) == 0 &&
        import_is_code(base) && import_is_code(head) &&
        text_copy(link.base_code, sizeof(link.base_code), base) &&
        text_copy(link.head_code, sizeof(link.head_code), head) &&
        text_copy(link.uid, sizeof(link.uid), node_text(node, "run", "")) &&
        import_commit(&link.base, node_member(node, "base"), arena) &&
        import_commit(&link.head, node_member(node, "head"), arena) &&
        verdict_kind_parse(&link.kind, node_text(node, "verdict", "")) == 0 &&
        whole(&link.back, node, "back", 0, LINK_BACK_MOST) &&
        whole(&link.pairs, node, "pairs", 1, UINT32_MAX) &&
        whole(&link.processes, node, "processes", 1, 65535) && link_sound(&link);
    if (!sound)
        return import_refuse(in,
                             "a link has a run, kernel, problem, uuid, two codes and commits, a "
                             "verdict and figures in range",
                             err);
    const struct series series = {kernel, &problem, device.uuid};
    return import_put_link(in, &series, &device, &link, err);
}
