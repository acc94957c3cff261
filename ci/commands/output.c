// SPDX-License-Identifier: Apache-2.0
//
// Writes a run's results: report files, annotations, and the last line. It decides nothing, because
// the verdicts were made before.
#include "ci/commands/output.h"

#include "ci/gate/task_list.h"
#include "ci/history/load.h"
#include "ci/settings/context.h"
#include "ci/settings/progress.h"
#include "ci/settings/text_file.h"
#include "model/record/record.h"
#include "reports/report.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ==== output ====

// ---- the rows of a JSON answer, each on its own line ----

void answer_begin(struct answer *answer, const char *rows)
{
    *answer = (struct answer){.in_row = false};
    answer->json.out = &answer->text;
    json_begin(&answer->json, NULL, '{');
    json_begin(&answer->json, rows, '[');
}

struct answer *answer_if(struct answer *answer, bool json, const char *rows)
{
    if (!json)
        return NULL;
    answer_begin(answer, rows);
    return answer;
}

struct json *answer_row(struct answer *answer)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    json_name(&answer->json, NULL);
    buffer_puts(&answer->text, "\n{");
    answer->json.comma = false;
    answer->in_row = true;
    answer->rows++;
    return &answer->json;
}

// Adds a row that is JSON already.
static void answer_document(struct answer *answer, const char *json)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    json_name(&answer->json, NULL);
    buffer_printf(&answer->text, "\n%s", json);
    answer->in_row = false;
    answer->rows++;
}

struct json *answer_whole(struct answer *answer)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    if (!answer->whole)
        json_end(&answer->json, ']');
    answer->in_row = false;
    answer->whole = true;
    return &answer->json;
}

void answer_end(struct answer *answer)
{
    json_end(answer_whole(answer), '}');
    json_newline(&answer->json);
    fwrite(answer->text.bytes, 1, answer->text.length, stdout);
    buffer_free(&answer->text);
}

int answer_leave(struct answer *answer, int status)
{
    if (!answer)
        return status;
    if (status == 0 || answer->rows)
        answer_end(answer);
    else
        buffer_free(&answer->text);
    return status;
}

static void print_line(const char *prefix, const char *text)
{
    char *line = plain_line(text);
    printf("%s%s\n", prefix, line);
    free(line);
}

// Writes workflow commands for GitHub, which reads them from the log; on other systems nothing is
// written.
static void annotate(const struct run *run)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    const struct report *report = report_find("annotations");
    if (!report || !actions || strcmp(actions, "true"))
        return;
    struct buffer text = {0};
    report->write(&text, run, NULL);
    fwrite(text.bytes, 1, text.length, stdout);
    buffer_free(&text);
}

static int achieved_rate(double *out, const struct run *run, const struct result *r,
                         struct store *store, struct error *err)
{
    struct alarm_count found = {0};
    *out = NAN;
    if (!store || r->device >= run->device_count)
        return 0;
    const struct series series = {r->kernel, &r->problem, run->devices[r->device].uuid};
    if (store_series_false_alarms(&found, store, &series, err))
        return -1;
    if (found.gates)
        *out = (double)found.alarms / (double)found.gates;
    return 0;
}

static int record_of(struct report_record *out, struct store *store, const struct device *device,
                     struct error *err)
{
    struct alarm_count studies, self_tests;
    if (store_false_alarms(&studies, &self_tests, store, device->uuid, err))
        return -1;
    *out =
        (struct report_record){studies.gates, studies.alarms, self_tests.gates, self_tests.alarms};
    return 0;
}

static int marks_of(struct report_series *out, const struct run *run, const struct result *r,
                    struct store *store, struct arena *arena, struct error *err)
{
    if (!store || !r->history.count || r->device >= run->device_count)
        return 0;
    const struct series series = {r->kernel, &r->problem, run->devices[r->device].uuid};
    struct report_change *marks;
    if (history_marks(&marks, &out->change_count, store, &series, &r->history, arena, err))
        return -1;
    out->changes = marks;
    return 0;
}

int output_context(struct report_context *out, const struct run *run, const struct context *context,
                   struct arena *arena, struct error *err)
{
    struct store *store = context->store;
    struct report_series *series = arena_alloc(arena, (run->count + 1) * sizeof(*series));
    struct report_record *records = arena_alloc(arena, (run->device_count + 1) * sizeof(*records));
    for (size_t i = 0; i < run->count; i++) {
        series[i] = (struct report_series){0};
        if (achieved_rate(&series[i].false_alarm_rate, run, &run->results[i], store, err) ||
            marks_of(&series[i], run, &run->results[i], store, arena, err))
            return -1;
    }
    for (size_t i = 0; store && i < run->device_count; i++) {
        if (record_of(&records[i], store, &run->devices[i], err))
            return -1;
    }
    *out = (struct report_context){.series = series,
                                   .records = store ? records : NULL,
                                   .commit_url = context_commit_url(context, arena),
                                   .site_url = context->policy.site_url};
    if (context->events)
        out->events = *context->events;
    return 0;
}

int output_directory(const char *directory, struct error *err)
{
    return repository_refuse_brought(directory, BROUGHT_ANYTHING, err) ||
                   report_directory(directory, err)
               ? -1
               : 0;
}

int output_reports(const struct run *run, const struct context *context, const char *directory,
                   struct error *err)
{
    struct arena arena = {0};
    struct report_context known;
    const bool ours = !context->options->out; // nobody named the folder
    int status = output_directory(directory, err) ||
                         output_context(&known, run, context, &arena, err) ||
                         report_write_all(directory, run, &known, err) ||
                         (ours && text_file_ignore(directory, err))
                     ? -1
                     : 0;
    arena_free(&arena);
    return status;
}

void output_line(const char *text)
{
    print_line("", text);
}

// Whether output is coloured: on a terminal, unless NO_COLOR (no-color.org) or a terminal without
// colours forbids it.
static bool is_coloured(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

enum colour { PLAIN = 0, RED = 31, GREEN = 32, YELLOW = 33 };

// Prints a line whose first `length` bytes have the colour, too.
static void print_coloured(enum colour colour, const char *prefix, const char *text, size_t length)
{
    const bool on = colour != PLAIN && is_coloured();
    char *label = xprintf("%s%.*s", prefix, (int)length, text);
    if (on)
        printf("\033[1;%dm%s\033[0m", colour, label);
    else
        fputs(label, stdout);
    free(label);
    print_line("", text + length);
}

int output_figure(const char *path, struct markup *figure, struct error *err)
{
    struct buffer text = {0};
    markup_finish(figure, &text);
    int status = text_file_write(path, &text, err);
    buffer_free(&text);
    return status;
}

void output_headline(const struct run *run)
{
    static const enum colour colours[] = {[CONCLUDE_OK] = GREEN,
                                          [CONCLUDE_REGRESSION] = RED,
                                          [CONCLUDE_UNDECIDED] = YELLOW,
                                          [CONCLUDE_BROKEN] = RED};
    const char *text = run->headline ? run->headline : "nothing was measured";
    const bool known = (size_t)run->conclusion < ARRAY_COUNT(colours) && run->headline;
    const size_t label = strcspn(text, ":");
    // The label up to the first colon is a word of plumb's own, as "SLOWER"; only this is coloured.
    const bool ours = known && label < 16 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") >= label;
    print_coloured(ours ? colours[run->conclusion] : PLAIN, "", text, ours ? label : 0);
}

// Prints the first errors of the build's tools, and where the whole log is.
static void print_unbuilt(const struct run *run)
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        struct buffer text = {0};
        unbuilt_text(&text, run, (enum sample_role)role);
        const char *line = text.bytes ? text.bytes : "";
        for (bool first = true; *line; first = false) {
            const size_t length = strcspn(line, "\n");
            char *one = xprintf("%.*s", (int)length, line);
            print_line(first ? "unbuilt   " : "          ", one);
            free(one);
            line += length + (line[length] == '\n');
        }
        buffer_free(&text);
    }
}

static enum colour colour_of(enum verdict_kind kind)
{
    return kind == VERDICT_SLOWER || kind == VERDICT_BROKEN            ? RED
           : kind == VERDICT_UNDECIDED || kind == VERDICT_NOT_MEASURED ? YELLOW
           : kind == VERDICT_FASTER                                    ? GREEN
                                                                       : PLAIN;
}

// Prints the verdicts. Those that the change accepts come first, because a reviewer must see them.
static void print_verdicts(const struct run *run, bool accepted)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct verdict *v = &run->results[i].verdict;
        char prefix[24];
        if (v->kind == VERDICT_SAME || !v->sentence || (v->kind == VERDICT_ACCEPTED) != accepted)
            continue;
        snprintf(prefix, sizeof(prefix), "%-13s", verdict_kind_name(v->kind));
        print_coloured(colour_of(v->kind), prefix, v->sentence, 0);
    }
}

static void print_mixes(const struct run *run)
{
    for (size_t i = 0; i < run->mix_count; i++) {
        const struct mix_result *m = &run->mixes[i];
        char prefix[24];
        snprintf(prefix, sizeof(prefix), "%-13s", verdict_kind_name(m->kind));
        if (m->kind != VERDICT_SAME)
            print_coloured(colour_of(m->kind), prefix, m->sentence, 0);
    }
}

static void print_metrics(const struct run *run)
{
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        char prefix[24];
        snprintf(prefix, sizeof(prefix), "%-13s", metric_word(m->kind));
        if (m->kind != VERDICT_SAME && m->kind != VERDICT_NEW)
            print_coloured(colour_of(m->kind), prefix, m->sentence, 0);
    }
}

// Prints for each kernel how it was timed, if a library's host code ran beside the stopwatch.
static void print_timed(const struct run *run)
{
    static const char *const ways[] = {"device code", "library"};
    for (size_t way = 0; way < ARRAY_COUNT(ways); way++) {
        struct buffer line = {0};
        const char *before = "";
        for (size_t i = 0; i < run->count; i++) {
            const struct result *r = &run->results[i];
            if (strcmp(result_timed(r), ways[way]) != 0 || strcmp(r->kernel, before) == 0)
                continue;
            if (!line.length)
                buffer_printf(&line, "%s: %s", ways[way], r->kernel);
            else
                buffer_printf(&line, ", %s", r->kernel);
            before = r->kernel;
        }
        if (line.length)
            print_line("timed        ", line.bytes);
        buffer_free(&line);
    }
}

static void print_lacks(const struct run *run)
{
    static const char *const titles[] = {
        [LACKS_SANDBOX] = "no sandbox   ", [LACKS_GROUP] = "no limits    "};
    char reason[512];
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        if (run_lacks(reason, sizeof(reason), run, lack))
            print_line(titles[lack], reason);
    }
    if (run_policy(reason, sizeof(reason), run))
        print_line("judged by    ", reason);
}

static int add_document(struct answer *answer, const struct run *run, const struct context *context,
                        struct error *err)
{
    struct arena arena = {0};
    struct buffer text = {0};
    struct report_context known;
    int status = output_context(&known, run, context, &arena, err);
    if (status == 0) {
        report_find("json")->write(&text, run, &known);
        answer_document(answer, text.bytes);
    }
    buffer_free(&text);
    arena_free(&arena);
    return status;
}

// Prints that the verdict was reached, although the command ended differently, for the reason
// `why`.
static void tell_end(const struct error *why)
{
    print_line("FAILED: ", why->text);
}

int output_run(struct answer *answer, const struct run *run, const struct context *context,
               const char *directory, struct error *err)
{
    int status = 0;
    if (answer) {
        struct error unheard;
        status = directory ? output_reports(run, context, directory, err) : 0;
        return add_document(answer, run, context, status ? &unheard : err) || status ? -1 : 0;
    }
    print_lacks(run);
    print_unbuilt(run);
    print_verdicts(run, true);
    print_verdicts(run, false);
    print_mixes(run);
    print_metrics(run);
    print_timed(run);
    annotate(run);
    fflush(stdout);
    if (directory)
        status = output_reports(run, context, directory, err);
    if (directory && status == 0)
        printf("reports    %s/index.html, junit.xml, summary.md\n", directory);
    output_headline(run);
    if (status == 0 && output_failed())
        return error_set(
            err, "standard output: cannot be written; is the disk full, or `ulimit -f` too low?");
    if (status)
        tell_end(err);
    return status;
}

int output_measured(struct answer *answer, const struct run *run, int measured,
                    const struct context *context, const char *directory, struct error *err)
{
    struct error unheard; // the reason why the run failed is more important
    if (measured == 0)
        return output_run(answer, run, context, directory, err);
    if (!run->headline)
        return measured;
    const int told = output_run(answer, run, context, directory, &unheard);
    if (!answer && told == 0)
        tell_end(err);
    return measured;
}

static void print_planned(struct answer *answer, const struct run *run, const struct result *r,
                          const char *action)
{
    char problem[PROBLEM_TEXT];
    const char *device = run->devices[r->device].name;
    problem_format(problem, &r->problem);
    if (!answer) {
        printf("%-10s %-24s %-32s %s\n", action, r->kernel, problem, device);
        return;
    }
    struct json *row = answer_row(answer);
    json_clean(row, "commit", run->head.id);
    json_clean(row, "kernel", r->kernel);
    json_clean(row, "problem", problem);
    json_clean(row, "device", device);
    json_clean(row, "action", action);
}

void output_plan(struct answer *answer, const struct run *run, const bool *compared,
                 const struct context *context)
{
    size_t measured = 0, again = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const bool same = r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
        const bool pairs = r->reused && compared[i];
        print_planned(answer, run, r,
                      same        ? "identical"
                      : pairs     ? "compare"
                      : r->reused ? "known"
                                  : "measure");
        measured += !same && !r->reused;
        again += pairs;
    }
    const size_t unbuilt = context->unbuilt;
    if (answer)
        return;
    if (unbuilt)
        printf("dry run: %zu %s would be built first; only then are the series known\n", unbuilt,
               plural(unbuilt, "commit", "commits"));
    else
        printf("dry run: %zu of %zu series would be measured", measured, run->count);
    if (!unbuilt && again)
        printf(", and %zu compared with earlier codes", again);
    if (!unbuilt)
        putchar('\n');
}

// ==== a record's launches ====
//
// Prints launches: shapes, attributes, and which bytes of their parameters are addresses.

static void print_order(const struct record_launch *l)
{
    if (!l->stream && !l->after_count)
        return;
    printf("           on stream %u", l->stream);
    for (uint32_t i = 0; i < l->after_count; i++)
        printf("%s %u", i ? "," : ", when these have ended:", l->after[i]);
    putchar('\n');
}

static void print_memset(const struct record_launch *l, size_t index)
{
    printf("launch %zu   memset %llu x %u bytes of %s + %llu\n", index,
           (unsigned long long)(l->width * l->height), l->element_bytes,
           l->address_count ? record_buffer_name(l->addresses[0].buffer) : "?",
           (unsigned long long)(l->address_count ? l->addresses[0].offset : 0));
    print_order(l);
}

static void print_copy(const struct record_launch *l, size_t index)
{
    printf("launch %zu   copy %llu bytes", index, (unsigned long long)l->width);
    for (uint32_t i = 0; i < l->address_count; i++)
        printf(" %s %s + %llu", i ? "from" : "to", record_buffer_name(l->addresses[i].buffer),
               (unsigned long long)l->addresses[i].offset);
    putchar('\n');
    print_order(l);
}

static void print_map(const struct record_map *map)
{
    printf("           byte %u is a tensormap of %s + %llu: %s,", map->at,
           record_buffer_name(map->buffer), (unsigned long long)map->offset,
           record_map_type_name(map->type));
    for (uint32_t i = 0; i < map->rank; i++)
        printf("%s%llu", i ? " x " : " ", (unsigned long long)map->dims[i]);
    printf(", box");
    for (uint32_t i = 0; i < map->rank; i++)
        printf("%s%u", i ? " x " : " ", map->box[i]);
    for (uint32_t i = 1; i < map->rank; i++)
        printf("%s%llu", i == 1 ? ", rows apart " : " and ", (unsigned long long)map->strides[i]);
    printf(", swizzle %u\n", map->swizzle);
}

static void print_kernel(const struct record_launch *l, size_t index)
{
    struct buffer function = {0};
    buffer_puts(&function, "");
    clean_line(&function, l->function, CLEAN_LINE);
    printf("launch %zu   %s\n", index, function.bytes);
    buffer_free(&function);
    printf("           grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u, %u bytes of "
           "shared memory%s%s\n",
           l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->cluster[0],
           l->cluster[1], l->cluster[2], l->shared_bytes, l->cooperative ? ", cooperative" : "",
           l->programmatic ? ", starts before the one before has ended" : "");
    printf("           %u parameters of %u bytes", l->parameter_count, l->size);
    for (uint32_t i = 0; i < l->address_count; i++)
        printf("%s byte %u is %s + %llu", i ? "," : ";", l->addresses[i].at,
               record_buffer_name(l->addresses[i].buffer),
               (unsigned long long)l->addresses[i].offset);
    putchar('\n');
    for (uint32_t i = 0; i < l->map_count; i++)
        print_map(&l->maps[i]);
    print_order(l);
}

void launch_print_all(const struct record *record)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &record->problem);
    printf("problem    %s\nworkspace  %llu bytes\n", problem,
           (unsigned long long)record->workspace_bytes);
    for (size_t i = 0; i < record->image_count; i++)
        printf("image %zu    %zu bytes of device code\n", i, record->images[i].size);
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *l = &record->launches[i];
        if (l->kind == RECORD_MEMSET)
            print_memset(l, i);
        else if (l->kind == RECORD_COPY)
            print_copy(l, i);
        else
            print_kernel(l, i);
    }
}
