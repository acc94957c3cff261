// SPDX-License-Identifier: Apache-2.0
//
// plumb store: shows what the store has, checks whether it is intact, merges shards, and makes it
// smaller.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    struct options options;
    char **files;
    int file_count;
    struct prune_rule rule;
    bool json;
};

static int parse_before(int64_t *out, const char *text)
{
    struct tm day = {0};
    char number[16];
    int64_t days;
    size_t length = strlen(text);
    if (length > 1 && length < sizeof(number) && text[length - 1] == 'd') {
        memcpy(number, text, length - 1);
        number[length - 1] = '\0';
        if (parse_int64(&days, number) || days < 0 || days > 100000)
            return -1;
        *out = time(NULL) - days * 86400;
        return 0;
    }
    const char *end = strptime(text, "%Y-%m-%d", &day);
    if (!end || *end)
        return -1;
    *out = timegm(&day);
    return 0;
}

static int take_before(void *arguments, const char *text)
{
    return parse_before(&((struct arguments *)arguments)->rule.before_s, text);
}

static const struct command_option own_options[] = {
    OPTION_OWN("before", 0, "DATE", "prune: runs started before it, 2026-11-21 or 90d (days ago)",
               take_before, "a date such as 2026-11-21, or days such as 90d"),
    OPTION_FLAG("runs", 0, "prune: whole runs, not only their raw samples", rule.runs),
    OPTION_FLAG("dry-run", 'n', "prune: say what would go", rule.dry_run),
    OPTION_FORMAT(json),
    {0},
};

static void print_counts(struct answer *answer, const struct store_counts *c)
{
    const struct {
        const char *name;
        int64_t count;
    } rows[] = {
        {"runs", c->runs},
        {"commits", c->commits},
        {"builds", c->builds},
        {"series", c->series},
        {"measurements", c->measurements},
        {"predictions", c->predictions},
        {"verdicts", c->verdicts},
        {"profiles", c->profiles},
        {"epochs", c->epochs},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (!answer) {
            printf("%-14s%" PRId64, rows[i].name, rows[i].count);
            i ? printf("\n") : printf(" (%" PRId64 " unfinished)\n", c->unfinished);
            continue;
        }
        struct json *row = answer_row(answer);
        json_clean(row, "of", rows[i].name);
        json_int(row, "count", rows[i].count);
    }
    if (!answer)
        printf("%-14s%.3f MB\n", "raw samples", (double)c->samples_bytes / 1e6);
}

static const char *runs_word(int64_t count)
{
    return plural((uint64_t)count, "run", "runs");
}

static const char *measurements_word(int64_t count)
{
    return plural((uint64_t)count, "measurement", "measurements");
}

static void info_json(const struct store *store, const struct store_report *report)
{
    struct answer answer;
    answer_begin(&answer, "counts");
    print_counts(&answer, &report->counts);
    struct json *whole = answer_whole(&answer);
    json_int(whole, "unfinished", report->counts.unfinished);
    json_int(whole, "samples_bytes", report->counts.samples_bytes);
    json_clean(whole, "store", store_path(store));
    json_int(whole, "version", report->version);
    json_int(whole, "bytes", report->bytes);
    answer_end(&answer);
}

static int info(struct store *store, const struct arguments *a, struct error *err)
{
    struct store_report report;
    if (store_info(&report, store, err))
        return -1;
    if (a->json) {
        info_json(store, &report);
        return 0;
    }
    print_counts(NULL, &report.counts);
    printf("%s: version %d, %.1f MB, %" PRId64 " %s\n", store_path(store), report.version,
           (double)report.bytes / 1e6, report.counts.runs, runs_word(report.counts.runs));
    return 0;
}

static void check_json(const struct store *store, const struct store_report *report)
{
    struct answer answer;
    answer_begin(&answer, "problems");
    if (report->problems)
        // Only the first is named, the others are counted.
        json_clean(answer_row(&answer), "problem", report->first);
    struct json *whole = answer_whole(&answer);
    json_int(whole, "problem_count", (int64_t)report->problems);
    json_clean(whole, "store", store_path(store));
    json_int(whole, "runs", report->counts.runs);
    json_int(whole, "measurements", report->counts.measurements);
    json_int(whole, "bytes", report->bytes);
    answer_end(&answer);
}

static int check(struct store *store, const struct arguments *a, struct error *err)
{
    struct store_report report;
    if (store_check(&report, store, err))
        return -1;
    if (a->json)
        check_json(store, &report);
    if (report.problems)
        return error_set(err,
                         "store %s: %zu %s, the first: %.400s; restore a copy, or save what "
                         "can be read with `plumb export --format=json`",
                         store_path(store), report.problems,
                         plural(report.problems, "problem", "problems"), report.first);
    if (a->json)
        return 0;
    printf("store %s: sound, %" PRId64 " %s, %" PRId64 " %s, %.1f MB\n", store_path(store),
           report.counts.runs, runs_word(report.counts.runs), report.counts.measurements,
           measurements_word(report.counts.measurements), (double)report.bytes / 1e6);
    return 0;
}

static void added_json(struct json *json, const char *file, int64_t runs, int64_t measurements)
{
    if (file)
        json_clean(json, "file", file);
    json_int(json, "runs", runs);
    json_int(json, "measurements", measurements);
}

static int merge_files(struct answer *answer, struct store *store, const struct arguments *a,
                       struct error *err)
{
    int64_t runs = 0, measurements = 0;
    for (int i = 0; i < a->file_count; i++) {
        struct store_counts added;
        if (store_merge(store, a->files[i], &added, err))
            return -1;
        if (answer)
            added_json(answer_row(answer), a->files[i], added.runs, added.measurements);
        else
            printf("%s: %" PRId64 " %s, %" PRId64 " %s added\n", a->files[i], added.runs,
                   runs_word(added.runs), added.measurements,
                   measurements_word(added.measurements));
        runs += added.runs;
        measurements += added.measurements;
    }
    if (answer) {
        added_json(answer_whole(answer), NULL, runs, measurements);
        return 0;
    }
    printf("store %s: %" PRId64 " %s and %" PRId64 " %s added from %d %s\n", store_path(store),
           runs, runs_word(runs), measurements, measurements_word(measurements), a->file_count,
           plural((uint64_t)a->file_count, "store", "stores"));
    return 0;
}

static int merge(struct store *store, const struct arguments *a, struct error *err)
{
    struct answer answer;
    if (!a->json)
        return merge_files(NULL, store, a, err);
    answer_begin(&answer, "files");
    return answer_leave(&answer, merge_files(&answer, store, a, err));
}

static void removed_json(const struct store_counts *removed, bool dry_run)
{
    struct answer answer;
    answer_begin(&answer, "removed");
    struct json *row = answer_row(&answer);
    json_int(row, "runs", removed->runs);
    json_int(row, "measurements", removed->measurements);
    json_int(row, "samples_bytes", removed->samples_bytes);
    json_bool(answer_whole(&answer), "dry_run", dry_run);
    answer_end(&answer);
}

static int prune(struct store *store, const struct arguments *a, struct error *err)
{
    struct store_counts removed;
    if (a->rule.before_s == 0)
        return error_set(err, "store prune: give --before DATE, e.g. --before=90d");
    if (store_prune(store, &a->rule, &removed, err))
        return -1;
    if (a->json) {
        removed_json(&removed, a->rule.dry_run);
        return 0;
    }
    printf("store %s: %s ", store_path(store), a->rule.dry_run ? "would remove" : "removed");
    if (a->rule.runs)
        printf("%" PRId64 " %s, %" PRId64 " %s, ", removed.runs, runs_word(removed.runs),
               removed.measurements, measurements_word(removed.measurements));
    printf("%.3f MB of raw samples\n", (double)removed.samples_bytes / 1e6);
    return 0;
}

static int upgrade(struct store *store, const struct arguments *a, struct error *err)
{
    return info(store, a, err); // opening it for writing has upgraded it
}

static const struct {
    const char *name;
    enum store_mode mode;
    bool takes_files;
    int (*run)(struct store *store, const struct arguments *a, struct error *err);
} actions[] = {
    {"info", STORE_READ, false, info},        {"check", STORE_READ, false, check},
    {"merge", STORE_WRITE, true, merge},      {"prune", STORE_WRITE, false, prune},
    {"upgrade", STORE_WRITE, false, upgrade},
};

// Checks the files before the store is opened, so that a misspelt shard does not create an empty
// store.
static int check_files(const struct arguments *a, const char *action, bool takes, struct error *err)
{
    if (a->file_count && !takes)
        return error_set(err, "store %s: takes no '%.80s'; --store names the store", action,
                         a->files[0]);
    if (takes && a->file_count == 0)
        return error_set(err, "store %s: name the stores to add", action);
    for (int i = 0; i < a->file_count; i++) {
        if (access(a->files[i], F_OK))
            return error_set(err, "store %s: %.300s: %s; name stores that are there", action,
                             a->files[i], strerror(errno));
    }
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const char *action = a->options.words.items[0];
    (void)out;
    a->files = a->options.words.items + 1;
    a->file_count = (int)a->options.words.count - 1;
    for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
        if (strcmp(actions[i].name, action) != 0)
            continue;
        if (check_files(a, action, actions[i].takes_files, err) ||
            store_option_open(context, &a->options, actions[i].mode, err))
            return -1;
        return actions[i].run(context->store, a, err);
    }
    return error_set(err, "store: no action '%.40s' (info, check, merge, prune, upgrade)", action);
}

static bool prunes(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->options.words.count && strcmp(a->options.words.items[0], "prune") == 0;
}

static const struct option_use uses[] = {{"before runs dry-run", prunes, "prune"}, {0}};

const struct command command_store = {
    .name = "store",
    .summary = "Look into the store, check, merge and prune it",
    .words = "info\ncheck\nmerge SHARD...\nprune --before DATE\nupgrade",
    .words_least = 1,
    .words_most = WORDS_ANY,
    .json = "info and upgrade: counts (of, count), then unfinished, samples_bytes, store, version, "
            "bytes; check: problems (problem, the first), then problem_count, store, runs, "
            "measurements, bytes; merge: files (file, runs, measurements), then runs and "
            "measurements; prune: removed (runs, measurements, samples_bytes), then dry_run.",
    .shared = SHARED_STORE,
    .options = own_options,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Looks after the store.\v"
           "info     what is in it\n"
           "check    reads all of it and says whether it is whole\n"
           "merge    adds what other stores have and this one has not; again changes nothing\n"
           "prune    removes old raw samples (times stay), or with --runs whole old runs\n"
           "upgrade  brings a store of an older plumb up to this one",
};
