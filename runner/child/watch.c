// SPDX-License-Identifier: Apache-2.0
//
// Adds up threads and memory of the keeper's descendants from /proc, and the size of folders and of
// what descendants hold open that has no name in them any more; leads descendants aside from who
// measures.
#include "runner/child/watch.h"

#include "runner/child/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const double often_s = 0.25, share = 20;

struct seen {
    pid_t pid, parent;
    long threads;
};
struct seen_list {
    struct seen *items;
    size_t count, capacity;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool read_file(char *out, size_t size, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

// The name stands in parentheses and may hold any byte, so the last one counts. Then come state,
// parent, fifteen other fields, and the number of threads.
static bool read_process(struct seen *out, pid_t pid)
{
    char text[1024];
    int parent;
    long threads;
    const char *after = read_file(text, sizeof(text), pid, "stat") ? strrchr(text, ')') : NULL;
    if (!after ||
        sscanf(after + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &parent, &threads) != 2)
        return false;
    *out = (struct seen){pid, parent, threads};
    return true;
}

// Pages that no other process shares and no file has.
static uint64_t memory_of(pid_t pid)
{
    char text[256];
    unsigned long long resident, shared;
    if (!read_file(text, sizeof(text), pid, "statm") ||
        sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int by_pid(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static void read_all(struct seen_list *list)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct seen seen;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !read_process(&seen, (pid_t)strtol(entry->d_name, NULL, 10)))
            continue;
        list->items = xgrow(list->items, list->count, &list->capacity, sizeof(*list->items));
        list->items[list->count++] = seen;
    }
    if (proc)
        closedir(proc);
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_pid);
}

// Climbs to the keeper. A table that changes while it is read may have rings.
static bool is_below(const struct seen_list *list, const struct seen *seen, pid_t keeper)
{
    for (size_t steps = 0; seen && steps <= list->count; steps++) {
        if (seen->parent == keeper)
            return true;
        const struct seen wanted = {.pid = seen->parent};
        seen = bsearch(&wanted, list->items, list->count, sizeof(*list->items), by_pid);
    }
    return false;
}

// Where what is watched may be now. False: it is there already, as when nobody measures.
static bool where_now(cpu_set_t *out, struct watch *watch)
{
    struct processors_site site = watch->aside ? *watch->aside : (struct processors_site){0};
    if (!watch->aside)
        return false;
    site.ours = site.ours ? site.ours : &watch->ours;
    const bool some = processors_aside(out, &site), before = watch->led;
    watch->led = some;
    return some || before;
}

// All threads of a process. Each look again, for what it starts meanwhile may have begun elsewhere.
static void lead(pid_t pid, const cpu_set_t *where)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            sched_setaffinity((pid_t)strtol(entry->d_name, NULL, 10), sizeof(*where), where);
    }
    if (tasks)
        closedir(tasks);
}

static enum process_excess look_at_processes(struct watch *watch)
{
    const struct process_limits *limits = watch->limits;
    struct seen_list list = {0};
    uint64_t threads = 0, bytes = 0;
    cpu_set_t where;
    const bool leads = where_now(&where, watch);
    if (leads)
        lead(watch->keeper, &where); // which starts nothing more, but shall not be in the way
    read_all(&list);
    for (size_t i = 0; i < list.count; i++) {
        if (!is_below(&list, &list.items[i], watch->keeper))
            continue;
        if (leads)
            lead(list.items[i].pid, &where);
        threads += (uint64_t)list.items[i].threads;
        bytes += limits->together_bytes ? memory_of(list.items[i].pid) : 0;
    }
    free(list.items);
    if (limits->processes && threads > limits->processes)
        return PROCESS_TOO_MANY;
    return limits->together_bytes && bytes > limits->together_bytes ? PROCESS_TOO_LARGE
                                                                    : PROCESS_WITHIN;
}

// ---- disk

struct file {
    ino_t number;
    uint64_t bytes;
};
struct file_list {
    dev_t device;
    struct file *items;
    size_t count, capacity;
};

static int by_number(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static void add_unlinked(struct file_list *files, pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    DIR *open = opendir(path);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (fstatat(dirfd(open), entry->d_name, &status, 0) || !S_ISREG(status.st_mode) ||
            status.st_nlink > 0 || status.st_dev != files->device)
            continue;
        files->items = xgrow(files->items, files->count, &files->capacity, sizeof(*files->items));
        files->items[files->count++] =
            (struct file){status.st_ino, (uint64_t)status.st_blocks * 512};
    }
    if (open)
        closedir(open);
}

// Files that have no name any more and are still open, on the disk of the first folder, each once.
static uint64_t unlinked_bytes(const struct watch *watch)
{
    struct seen_list list = {0};
    struct file_list files = {0};
    struct stat folder;
    uint64_t bytes = 0;
    if (stat(watch->limits->folders[0], &folder))
        return 0;
    files.device = folder.st_dev;
    read_all(&list);
    for (size_t i = 0; i < list.count; i++) {
        if (is_below(&list, &list.items[i], watch->keeper))
            add_unlinked(&files, list.items[i].pid);
    }
    if (files.count)
        qsort(files.items, files.count, sizeof(*files.items), by_number);
    for (size_t i = 0; i < files.count; i++)
        bytes += i && files.items[i].number == files.items[i - 1].number ? 0 : files.items[i].bytes;
    free(files.items);
    free(list.items);
    return bytes;
}

static enum process_excess look_at_disk(const struct watch *watch)
{
    const struct process_limits *limits = watch->limits;
    uint64_t bytes = limits->folders[0] ? unlinked_bytes(watch) : 0;
    for (size_t i = 0; i < ARRAY_COUNT(limits->folders) && limits->folders[i]; i++)
        bytes += files_size(limits->folders[i]);
    return bytes > limits->disk_bytes ? PROCESS_TOO_MUCH_DISK : PROCESS_WITHIN;
}

void watch_begin(struct watch *watch, const struct process_plan *plan)
{
    cpu_set_t where;
    *watch = (struct watch){.limits = &plan->limits, .keeper = getpid(), .aside = plan->aside};
    if (sched_getaffinity(0, sizeof(watch->ours), &watch->ours))
        watch->aside = NULL;
    if (where_now(&where, watch))
        sched_setaffinity(0, sizeof(where), &where);
}

bool watch_wanted(const struct watch *watch)
{
    const struct process_limits *limits = watch->limits;
    return limits->processes || limits->together_bytes || limits->disk_bytes || watch->aside;
}

// When to look again after a look that began at `from_s`.
static double next(double from_s, double least_s)
{
    const double to_s = now_s(), pause_s = share * (to_s - from_s);
    return to_s + (pause_s > least_s ? pause_s : least_s);
}

enum process_excess watch_look(struct watch *watch)
{
    const struct process_limits *limits = watch->limits;
    const double least_s = limits->watch_s > 0 ? limits->watch_s : often_s;
    enum process_excess found = PROCESS_WITHIN;
    double from_s = now_s();
    if (from_s >= watch->next_s && (limits->processes || limits->together_bytes || watch->aside)) {
        found = look_at_processes(watch);
        watch->next_s = next(from_s, least_s);
    }
    from_s = now_s();
    if (found == PROCESS_WITHIN && limits->disk_bytes && from_s >= watch->next_disk_s) {
        found = look_at_disk(watch);
        watch->next_disk_s = next(from_s, least_s);
    }
    return found;
}

enum process_excess watch_last(const struct watch *watch)
{
    return watch->limits->disk_bytes ? look_at_disk(watch) : PROCESS_WITHIN;
}
