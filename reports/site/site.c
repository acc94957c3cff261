// SPDX-License-Identifier: Apache-2.0
//
// Which pages there are, which must be made again, and writing them.
//
// Pages made from the summaries alone are made every time and written only when their bytes differ.
// A kernel's page needs all points of its series, and a file of times those of its runs, so each
// carries a stamp of its inputs; when the file there has the same stamp, nothing is loaded.
#include "reports/site/site_parts.h"

#include "model/text.h"
#include "reports/report.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the map ------------------------------------------------------------------------------------

struct ranked {
    const struct site_series *series;
    size_t index;
};

static int rank_of(const struct site_series *s)
{
    static const int ranks[VERDICT_KINDS] = {
        [VERDICT_BROKEN] = 0,    [VERDICT_SLOWER] = 1,       [VERDICT_ACCEPTED] = 3,
        [VERDICT_UNDECIDED] = 4, [VERDICT_NOT_MEASURED] = 5, [VERDICT_FASTER] = 6,
        [VERDICT_NEW] = 7,       [VERDICT_SAME] = 8,
    };
    return s->kind == VERDICT_SLOWER && site_is_environment(s) ? 2 : ranks[s->kind];
}

static int by_importance(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int rank = rank_of(a->series) - rank_of(b->series);
    double size_a = fabs(a->series->log_ratio.value), size_b = fabs(b->series->log_ratio.value);
    if (rank)
        return rank;
    if (size_a != size_b && !isnan(size_a) && !isnan(size_b))
        return size_a > size_b ? -1 : 1;
    if (isnan(size_a) != isnan(size_b))
        return isnan(size_a) ? 1 : -1;
    int name = strcmp(a->series->kernel, b->series->kernel);
    return name ? name : (a->index > b->index) - (a->index < b->index);
}

static size_t *importance_order(const struct site *site)
{
    struct ranked *list = xcalloc(site->series_count + 1, sizeof(*list));
    size_t *order = xcalloc(site->series_count + 1, sizeof(*order));
    for (size_t i = 0; i < site->series_count; i++)
        list[i] = (struct ranked){&site->series[i], i};
    qsort(list, site->series_count, sizeof(*list), by_importance);
    for (size_t i = 0; i < site->series_count; i++)
        order[i] = list[i].index;
    free(list);
    return order;
}

// A plain name is its own file name. Any other gets a hash, so that no two names share a file and
// none can leave the folder.
static void make_slug(char out[SLUG_TEXT], const char *name)
{
    size_t length = 0;
    bool plain = name[0] != '\0' && strlen(name) < SLUG_TEXT - 20;
    for (const char *c = name; *c && length < SLUG_TEXT - 20; c++) {
        bool keeps = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
        plain = plain && keeps;
        if (keeps || isupper((unsigned char)*c))
            out[length++] = (char)tolower((unsigned char)*c);
        else if (length > 0 && out[length - 1] != '-')
            out[length++] = '-';
    }
    out[length] = '\0';
    if (!plain)
        snprintf(out + length, SLUG_TEXT - length, "-%012llx",
                 (unsigned long long)(hash_bytes(HASH_START, name, strlen(name)) >> 16));
}

static void group_add(struct site_group *group, size_t series)
{
    if ((group->count & (group->count - 1)) == 0)
        group->series =
            xrealloc(group->series, group->count ? 2 * group->count : 1, sizeof(*group->series));
    group->series[group->count++] = series;
}

// Series come worst first, so kernels do too.
static void group_kernels(struct site_map *map)
{
    const struct site *site = map->site;
    for (size_t i = 0; i < site->series_count; i++) {
        size_t index = map->order[i], k = 0;
        while (k < map->kernel_count && strcmp(map->kernels[k].name, site->series[index].kernel))
            k++;
        if (k == map->kernel_count) {
            map->kernels[k].name = site->series[index].kernel;
            make_slug(map->kernels[k].slug, map->kernels[k].name);
            map->kernel_count++;
        }
        group_add(&map->kernels[k], index);
        map->kernel_of[index] = k;
    }
}

static void map_make(struct site_map *map, const struct site *site)
{
    *map = (struct site_map){.site = site};
    map->order = importance_order(site);
    map->kernels = xcalloc(site->series_count + 1, sizeof(*map->kernels));
    map->kernel_of = xcalloc(site->series_count + 1, sizeof(*map->kernel_of));
    map->devices = xcalloc(site->device_count + 1, sizeof(*map->devices));
    group_kernels(map);
    for (size_t d = 0; d < site->device_count; d++) {
        char *unique = xprintf("%s %s", site->devices[d].name, site->devices[d].uuid);
        map->devices[d].name = site->devices[d].name;
        make_slug(map->devices[d].slug, unique);
        free(unique);
    }
    for (size_t i = 0; i < site->series_count; i++)
        group_add(&map->devices[site->series[map->order[i]].device], map->order[i]);
}

static void map_free(struct site_map *map)
{
    for (size_t k = 0; k < map->kernel_count; k++)
        free(map->kernels[k].series);
    for (size_t d = 0; map->devices && d < map->site->device_count; d++)
        free(map->devices[d].series);
    free(map->kernels);
    free(map->devices);
    free(map->kernel_of);
    free(map->order);
}

// ---- files --------------------------------------------------------------------------------------

struct target {
    const char *directory;
    struct site_written written;
};

// At most `most` bytes of the file; false when there is none.
static bool read_start(struct buffer *out, const char *path, size_t most)
{
    char bytes[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    ssize_t length;
    while (out->length < most &&
           (length =
                read(file, bytes,
                     most - out->length < sizeof(bytes) ? most - out->length : sizeof(bytes))) > 0)
        buffer_add(out, bytes, (size_t)length);
    close(file);
    return true;
}

static bool is_unchanged(const char *path, const struct buffer *made)
{
    struct stat st;
    struct buffer there = {0};
    if (stat(path, &st) != 0 || (size_t)st.st_size != made->length)
        return false;
    bool same = read_start(&there, path, made->length) && there.length == made->length &&
                (made->length == 0 || memcmp(there.bytes, made->bytes, made->length) == 0);
    buffer_free(&there);
    return same;
}

static int put(struct target *target, const char *folder, const char *name, const char *ending,
               struct buffer *made, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    if (is_unchanged(path, made)) {
        target->written.unchanged++;
    } else {
        status = report_replace_file(path, made->bytes ? made->bytes : "", made->length, err);
        target->written.pages += status == 0;
    }
    free(path);
    buffer_free(made);
    return status;
}

static int put_both(struct target *target, const char *folder, const char *name, const char *ending,
                    struct buffer *html, struct buffer *json, struct error *err)
{
    int status = put(target, folder, name, ending, html, err);
    if (status == 0)
        status = put(target, folder, name, ".json", json, err);
    buffer_free(html);
    buffer_free(json);
    return status;
}

static int make_folder(const char *directory, const char *name, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s%s", directory, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        status = error_set(err, "%s: cannot be created: %s; its parent folder must exist", path,
                           strerror(errno));
    free(path);
    return status;
}

// ---- kernels ------------------------------------------------------------------------------------

// Everything a kernel's page is made of: the table rows as JSON, the revisions of what `load`
// gives, and the program itself.
static uint64_t stamp_of(const struct site_map *map, const struct site_group *kernel)
{
    struct buffer text = {0}, unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &text}};
    p.m = markup_new(MARKUP_HTML);
    site_table(&p, "series", kernel->series, kernel->count, SITE_WITH_DEVICE);
    markup_finish(p.m, &unused);
    uint64_t hash = hash_text(HASH_START, map->site->tool_version);
    hash = hash_text(hash, page_version());
    hash = hash_text(hash, map->site->repository);
    hash = hash_text(hash, map->site->commit_url);
    hash = hash_bytes(hash, unused.bytes, unused.length);
    hash = hash_bytes(hash, text.bytes, text.length);
    for (size_t i = 0; i < kernel->count; i++) {
        hash = hash_bytes(hash, &map->site->series[kernel->series[i]].revision, sizeof(uint64_t));
        hash = hash_text(hash, map->site->series[kernel->series[i]].sentence);
    }
    buffer_free(&text);
    buffer_free(&unused);
    return hash;
}

// The stamp stands in a page's JSON, which is written after the page: killed between the two, the
// page is made again.
static bool has_stamp(const char *directory, const char *folder, const char *name,
                      const char *ending, uint64_t stamp)
{
    char wanted[64];
    struct buffer json = {0};
    struct stat st;
    char *path = xprintf("%s/%s%s.json", directory, folder, name);
    char *page = xprintf("%s/%s%s%s", directory, folder, name, ending);
    snprintf(wanted, sizeof(wanted), "\"stamp\":\"%016llx\"", (unsigned long long)stamp);
    bool found = stat(page, &st) == 0 && st.st_size > 0 && read_start(&json, path, 4096) &&
                 json.bytes && strstr(json.bytes, wanted);
    buffer_free(&json);
    free(path);
    free(page);
    return found;
}

static int write_kernel(struct target *target, const struct site_map *map,
                        const struct site_group *kernel, struct error *err)
{
    struct buffer html = {0}, json = {0};
    uint64_t stamp = stamp_of(map, kernel);
    if (has_stamp(target->directory, "kernel/", kernel->slug, ".html", stamp)) {
        target->written.unchanged += 2;
        return 0;
    }
    if (site_kernel(&html, &json, map, kernel, stamp, &target->written.loaded, err)) {
        buffer_free(&html);
        buffer_free(&json);
        return -1;
    }
    return put_both(target, "kernel/", kernel->slug, ".html", &html, &json, err);
}

// ---- compare ------------------------------------------------------------------------------------

static int write_times(struct target *target, const struct site_map *map,
                       const struct site_run *const *runs, size_t count, struct error *err)
{
    const struct site *site = map->site;
    struct buffer js = {0}, json = {0};
    char name[32];
    int status = 0;
    uint64_t stamp = site_times_stamp(runs, count);
    snprintf(name, sizeof(name), "%lld", (long long)(runs[0]->id / SITE_RUNS_PER_FILE));
    if (has_stamp(target->directory, "compare/", name, ".js", stamp)) {
        target->written.unchanged += 2;
        return 0;
    }
    double *times_ns = xcalloc(count * site->series_count + 1, sizeof(*times_ns));
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = site->load_times(times_ns + i * site->series_count, (size_t)(runs[i] - site->runs),
                                  site->context, err);
        target->written.loaded_runs++;
    }
    if (status == 0)
        site_times(&js, &json, map, runs, count, times_ns, stamp);
    free(times_ns);
    return status ? -1 : put_both(target, "compare/", name, ".js", &js, &json, err);
}

static int write_compare(struct target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    size_t count;
    const struct site_run **runs = site_runs_by_id(map->site, &count);
    int status = 0;
    for (size_t first = 0, end; status == 0 && first < count; first = end) {
        int64_t file = runs[first]->id / SITE_RUNS_PER_FILE;
        for (end = first; end < count && runs[end]->id / SITE_RUNS_PER_FILE == file;)
            end++;
        status = write_times(target, map, runs + first, end - first, err);
    }
    free(runs);
    if (status)
        return -1;
    site_run_list(&html, &json, map);
    if (put_both(target, "compare/", "runs", ".js", &html, &json, err) ||
        site_compare(&html, &json, map, err))
        return -1;
    return put_both(target, "", "compare", ".html", &html, &json, err);
}

static int write_pages(struct target *target, const struct site_map *map, struct error *err)
{
    static const struct {
        const char *name;
        void (*make)(struct buffer *, struct buffer *, const struct site_map *);
    } pages[] = {{"accuracy", site_accuracy_page}, {"runs", site_runs}, {"index", site_overview}};
    struct buffer html = {0}, json = {0};
    for (size_t k = 0; k < map->kernel_count; k++) {
        if (write_kernel(target, map, &map->kernels[k], err))
            return -1;
    }
    for (size_t d = 0; d < map->site->device_count; d++) {
        site_device(&html, &json, map, d);
        if (put_both(target, "device/", map->devices[d].slug, ".html", &html, &json, err))
            return -1;
    }
    for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
        pages[i].make(&html, &json, map);
        if (put_both(target, "", pages[i].name, ".html", &html, &json, err))
            return -1;
    }
    if (write_compare(target, map, err))
        return -1;
    site_feed(&html, map);
    return put(target, "", "feed", ".xml", &html, err);
}

int site_write(const struct site *site, const char *directory, struct site_written *written,
               struct error *err)
{
    struct target target = {.directory = directory};
    struct site_map map;
    if (make_folder(directory, "", err) || make_folder(directory, "/kernel", err) ||
        make_folder(directory, "/device", err) || make_folder(directory, "/compare", err))
        return -1;
    map_make(&map, site);
    int status = write_pages(&target, &map, err);
    map_free(&map);
    if (status == 0 && written)
        *written = target.written;
    return status;
}
