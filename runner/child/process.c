// SPDX-License-Identifier: Apache-2.0
//
// Child processes, from the inside out: watching what they use, the keeper that each runs under,
// starting both, and talking with a running child.
#include "runner/child/process.h"

#include "model/base.h"
#include "runner/child/files.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ==== processors ====
//
// One name is bound for each core, by the number of its first processor, so that programs that may
// use different parts of the machine agree on the names.

// ---- which processors form a core, from /sys/devices/system/cpu and /sys/bus/pci

enum { LIST_TEXT = 4096 };

int topology_parse(cpu_set_t *out, const char *text)
{
    CPU_ZERO(out);
    for (const char *at = text; *at && *at != '\n';) {
        char *end;
        if (!isdigit((unsigned char)*at))
            return -1;
        const unsigned long first = strtoul(at, &end, 10);
        unsigned long last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        const bool more = *end == ',' && isdigit((unsigned char)end[1]);
        if (last < first || last >= CPU_SETSIZE || (*end && !more && *end != '\n'))
            return -1;
        for (unsigned long i = first; i <= last; i++)
            CPU_SET(i, out);
        at = more ? end + 1 : end;
    }
    return 0;
}

static bool read_list(cpu_set_t *out, const char *path)
{
    char text[LIST_TEXT];
    FILE *file = fopen(path, "re");
    const bool found = file && fgets(text, sizeof(text), file) && topology_parse(out, text) == 0;
    if (file)
        fclose(file);
    if (!found)
        CPU_ZERO(out);
    return found && CPU_COUNT(out) > 0;
}

void topology_read(struct topology *out, const char *root, const cpu_set_t *ours,
                   struct arena *arena)
{
    cpu_set_t left = *ours;
    *out = (struct topology){
        .items = arena_alloc(arena, ((size_t)CPU_COUNT(ours) + 1) * sizeof(*out->items))};
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t all, own, both;
        char path[256];
        int first = 0;
        if (!CPU_ISSET(cpu, &left))
            continue;
        CPU_ZERO(&own);
        CPU_SET(cpu, &own);
        snprintf(path, sizeof(path),
                 "%.120s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root, cpu);
        if (!read_list(&all, path) || !CPU_ISSET(cpu, &all))
            all = own;
        while (!CPU_ISSET(first, &all))
            first++;
        CPU_AND(&both, &all, &left);
        out->items[out->count++] = (struct core){first, both};
        CPU_XOR(&left, &left, &both);
    }
}

bool topology_near(cpu_set_t *out, const char *root, const char *bus)
{
    char path[256], name[32];
    size_t length = 0;
    CPU_ZERO(out);
    for (; bus[length] && length < sizeof(name) - 1; length++) {
        name[length] = (char)tolower((unsigned char)bus[length]);
        if (!strchr("0123456789abcdef:.", name[length]))
            return false;
    }
    name[length] = '\0';
    if (bus[length] || !isxdigit((unsigned char)name[0]))
        return false;
    snprintf(path, sizeof(path), "%.120s/sys/bus/pci/devices/%s/local_cpulist", root, name);
    return read_list(out, path);
}

// ---- who uses which core

const struct processors_site processors_here = {0};

static const char usual_scope[] = "plumb-core";

static const char *scope_of(const struct processors_site *site)
{
    return site->scope ? site->scope : usual_scope;
}

// Finds our processors. False: the kernel does not tell, as on machines with more than fit into a
// set.
static bool ours(cpu_set_t *out, const struct processors_site *site)
{
    if (site->ours)
        *out = *site->ours;
    return site->ours || sched_getaffinity(0, sizeof(*out), out) == 0;
}

static bool read_cores(struct topology *out, const struct processors_site *site,
                       struct arena *arena)
{
    cpu_set_t all;
    if (!ours(&all, site))
        return false;
    topology_read(out, site->root ? site->root : "", &all, arena);
    return true;
}

// Binds a name; returns the socket, or -1 and errno.
static int bind_name(const char *scope, int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int length =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s-%d", scope, number);
    const int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (held >= 0 &&
        bind(held, (const struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0) {
        const int why = errno;
        close(held);
        errno = why;
        return -1;
    }
    return held;
}

// Counts the cores that somebody has; *taken says it for each.
static size_t find_taken(bool *taken, const struct topology *cores, const char *scope)
{
    char line[256], wanted[64];
    size_t count = 0;
    FILE *names = fopen("/proc/net/unix", "re");
    const int length = snprintf(wanted, sizeof(wanted), "@%.40s-", scope);
    while (names && fgets(line, sizeof(line), names)) {
        const char *at = strrchr(line, ' ');
        if (!at || strncmp(at + 1, wanted, (size_t)length) != 0)
            continue;
        const int number = atoi(at + 1 + length);
        for (size_t i = 0; i < cores->count; i++) {
            if (cores->items[i].number != number || taken[i])
                continue;
            taken[i] = true;
            count++;
        }
    }
    if (names)
        fclose(names);
    return count;
}

static bool is_near(const struct core *core, const cpu_set_t *near)
{
    cpu_set_t both;
    CPU_AND(&both, &core->set, near);
    return CPU_COUNT(&both) > 0;
}

// Takes the last free core, among the near ones or the others. 1: taken, 0: there is none.
static int take_one(struct processors *out, bool *taken, const struct topology *cores,
                    const cpu_set_t *near, bool nearby, const char *scope)
{
    for (size_t i = cores->count; i-- > 0;) {
        const struct core *core = &cores->items[i];
        if (taken[i] || is_near(core, near) != nearby)
            continue;
        const int held = bind_name(scope, core->number);
        if (held >= 0) {
            *out = (struct processors){core->set, held + 1};
            return 1;
        }
        if (errno != EADDRINUSE)
            return -1;
        taken[i] = true;
    }
    return 0;
}

bool processors_take(struct processors *out, const struct processors_site *site, const char *bus,
                     struct error *why)
{
    struct arena arena = {0};
    struct topology cores;
    cpu_set_t near;
    int found = 0;
    *out = (struct processors){0};
    if (!read_cores(&cores, site, &arena)) {
        error_set(why, "which processors are ours is not known: %s", strerror(errno));
        return false;
    }
    bool *taken = arena_alloc(&arena, (cores.count + 1) * sizeof(*taken));
    const size_t others = find_taken(taken, &cores, scope_of(site));
    if (!bus || !topology_near(&near, site->root ? site->root : "", bus))
        CPU_ZERO(&near);
    if (others + 2 <= cores.count)
        found = take_one(out, taken, &cores, &near, true, scope_of(site));
    if (found == 0 && others + 2 <= cores.count)
        found = take_one(out, taken, &cores, &near, false, scope_of(site));
    if (found < 0)
        error_set(why, "who has which core cannot be told: %s", strerror(errno));
    else if (found == 0)
        error_set(why, "of %zu %s others measure on %zu, and one is for all else", cores.count,
                  plural(cores.count, "core", "cores"), others);
    arena_free(&arena);
    return found > 0;
}

void processors_give_back(struct processors *processors)
{
    if (processors->held)
        close(processors->held - 1);
    *processors = (struct processors){0};
}

void processors_text(char out[PROCESSORS_TEXT], const struct processors *processors)
{
    size_t used = 0;
    text_copy(out, PROCESSORS_TEXT, "none");
    for (int cpu = 0; cpu < CPU_SETSIZE && used < PROCESSORS_TEXT - 8; cpu++) {
        if (CPU_ISSET(cpu, &processors->set))
            used +=
                (size_t)snprintf(out + used, PROCESSORS_TEXT - used, "%s%d", used ? "," : "", cpu);
    }
}

size_t processors_cores(size_t *taken, const struct processors_site *site)
{
    struct arena arena = {0};
    struct topology cores = {0};
    *taken = 0;
    if (read_cores(&cores, site, &arena))
        *taken = find_taken(arena_alloc(&arena, (cores.count + 1) * sizeof(bool)), &cores,
                            scope_of(site));
    arena_free(&arena);
    return cores.count;
}

bool processors_aside(cpu_set_t *out, const struct processors_site *site)
{
    struct arena arena = {0};
    struct topology cores;
    size_t taken_count = 0;
    CPU_ZERO(out);
    if (!read_cores(&cores, site, &arena))
        return false;
    bool *taken = arena_alloc(&arena, (cores.count + 1) * sizeof(*taken));
    taken_count = find_taken(taken, &cores, scope_of(site));
    const bool some = taken_count > 0 && taken_count < cores.count;
    for (size_t i = 0; i < cores.count; i++) {
        if (!some || !taken[i])
            CPU_OR(out, out, &cores.items[i].set);
    }
    arena_free(&arena);
    return some;
}

// ==== processes ====

// What the keeper writes into its status pipe when the child has ended.
struct keeper_report {
    int status; // the status of waitpid()
    enum process_excess excess;
    double cpu_s;
    uint64_t memory_bytes;
};

// The step that failed before the child's exec, with errno; written into the start pipe.
struct keeper_failure {
    int code;
    char step[24];
};

struct keeper_job {
    const char *program; // a path, which has been looked up already
    const struct process_plan *plan;
    uint64_t process_limit; // RLIMIT_NPROC, 0: none
    int in, out, err;       // become the child's 0, 1 and 2
    int status, start;      // writing ends of pipes
    pid_t parent;           // the keeper's parent
};

enum { LINE_ROOM = 65536 };

// Seconds of the child's own time (process.h) that something may take.
struct allowance {
    double seconds; // INFINITY: no limit
    double begun_s; // on CLOCK_MONOTONIC, when it was granted
    double lost_s;  // the lost_s of struct use at that time
};

struct thread_use {
    pid_t id;
    uint64_t worked_ns, waited_ns; // worked_ns: time on a processor; waited_ns: time waiting for
                                   // one; since the thread began
    uint64_t turns;                // how often it got a processor
    bool ready;                    // it works or waits for a processor
    double waits_s, maybe_s;       // how long it has been waiting now: certainly, and perhaps
                                   // besides
};

// How the child and everything that it started used the time.
struct use {
    struct thread_use *threads; // threads as the last look found them, sorted by id
    size_t count;
    double looked_s, next_s; // time of the last look (0: there was none), and of the next one
    double pause_s;          // time between two looks; 0: nobody looks
    double wall_s, worked_ns, waited_ns; // sums from the first look to the last
    bool unsure;                         // some thread may have been waiting longer than is known
    double lost_s, lost_before_s;        // time that it could not use, and the part of it before
                                         // the first look
};

struct process {
    pid_t keeper;
    int input;  // socket to the child's standard input; -1 when closed
    int output; // pipe from its standard output; -1 at the end
    int errors; // pipe from its standard error (in process_run() also its output); -1 at the end
    int status; // pipe from the keeper; -1 once the report was read
    double started_s;
    struct allowance life, talk; // limit for the whole life, and for the last request
    struct use use;
    bool timed_out, stopped;
    struct keeper_report report;
    struct log log;
    size_t used;   // number of bytes in `line`
    bool skipping; // reading the rest of a line that was too long
    char line[LINE_ROOM];
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

// ---- watching what a child and all its descendants use together
//
// The keeper checks this now and then, because the kernel's limits are for single processes, do not
// apply to root, and do not cover folders. Threads and memory of all descendants are summed from
// /proc. The size of folders is measured, together with files that are open without a name.
// Descendants are moved away from processors on which others measure.

struct watch {
    const struct process_limits *limits;
    pid_t keeper;
    const struct processors_site *aside; // from the plan
    cpu_set_t ours;                      // the processors that they may use if nobody measures
    bool led;                            // they have been moved away
    int hidden;                          // how many looks in a row found one that hides its files
    double next_s, next_disk_s;          // in CLOCK_MONOTONIC
};

static const double often_s = 0.25, share = 20;

struct seen_process {
    pid_t pid, parent;
    long threads;
    bool ended; // nobody has waited for it yet
};

struct seen_list {
    struct seen_process *items;
    size_t count, capacity;
};

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

// Reads a process. Its name stands in parentheses and may contain any byte, so the last parenthesis
// counts. The state, the parent, fifteen other fields and the number of threads follow.
static bool read_process(struct seen_process *out, pid_t pid)
{
    char text[1024], state;
    int parent;
    long threads;
    const char *after = read_file(text, sizeof(text), pid, "stat") ? strrchr(text, ')') : NULL;
    if (!after ||
        sscanf(after + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &state, &parent, &threads) != 3)
        return false;
    *out = (struct seen_process){pid, parent, threads, state == 'Z' || state == 'X'};
    return true;
}

// Memory that is not shared with other processes and belongs to no file.
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
    const struct seen_process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

// Whether /proc is that of our processes: it is mounted, and gives us the number that we have. One
// from outside of a namespace shows others under our numbers.
static bool shows_us(void)
{
    char text[32];
    const ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    return strtol(text, NULL, 10) == getpid();
}

static void read_all(struct seen_list *list)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct seen_process seen;
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

// Whether a process descends from the keeper. A table that changes while it is read may contain
// loops.
static bool is_below(const struct seen_list *list, const struct seen_process *seen, pid_t keeper)
{
    for (size_t steps = 0; seen && steps <= list->count; steps++) {
        if (seen->parent == keeper)
            return true;
        const struct seen_process wanted = {.pid = seen->parent};
        seen = bsearch(&wanted, list->items, list->count, sizeof(*list->items), by_pid);
    }
    return false;
}

// Finds the processors that the watched processes may use now. False: nothing has to change, for
// example because nobody measures.
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

// Moves all threads of a process to these processors. Each look repeats this, because newer threads
// may run elsewhere.
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
    if (!shows_us())
        return PROCESS_UNWATCHED;
    if (leads)
        lead(watch->keeper, &where); // the keeper starts nothing more, but should not disturb
                                     // either
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

// ---- watching the disk

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

// Whether the process still has memory. One that ends loses it before it is gone, and then the
// kernel shows its files to root only.
static bool has_memory(pid_t pid)
{
    char text[256];
    return read_file(text, sizeof(text), pid, "statm") && strtoull(text, NULL, 10) > 0;
}

// False: the process hides its files, as one does that is not dumpable.
static bool add_unlinked(struct file_list *files, pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    DIR *open = opendir(path);
    const bool hides = !open && errno == EACCES;
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
    return !hides || !has_memory(pid);
}

// Adds the size of files that are open but have no name any more, on the disk of the first folder;
// each file counts once.
static enum process_excess add_unlinked_bytes(uint64_t *bytes, const struct watch *watch)
{
    enum process_excess found = PROCESS_WITHIN;
    struct seen_list list = {0};
    struct file_list files = {0};
    struct stat folder;
    if (!shows_us())
        return PROCESS_UNWATCHED;
    if (stat(watch->limits->folders[0], &folder))
        return PROCESS_WITHIN;
    files.device = folder.st_dev;
    read_all(&list);
    for (size_t i = 0; i < list.count; i++) {
        if (is_below(&list, &list.items[i], watch->keeper) &&
            !add_unlinked(&files, list.items[i].pid))
            found = PROCESS_HIDDEN;
    }
    if (files.count)
        qsort(files.items, files.count, sizeof(*files.items), by_number);
    for (size_t i = 0; i < files.count; i++)
        *bytes +=
            i && files.items[i].number == files.items[i - 1].number ? 0 : files.items[i].bytes;
    free(files.items);
    free(list.items);
    return found;
}

// One that begins a program hides its files for a moment, too, so it is not believed at once.
static enum process_excess look_at_disk(struct watch *watch)
{
    enum { LOOKS_HIDDEN = 3 };
    const struct process_limits *limits = watch->limits;
    uint64_t bytes = 0;
    enum process_excess found =
        limits->folders[0] ? add_unlinked_bytes(&bytes, watch) : PROCESS_WITHIN;
    watch->hidden = found == PROCESS_HIDDEN ? watch->hidden + 1 : 0;
    if (watch->hidden > 0 && watch->hidden < LOOKS_HIDDEN)
        found = PROCESS_WITHIN;
    for (size_t i = 0; i < ARRAY_COUNT(limits->folders) && limits->folders[i]; i++)
        bytes += files_size(limits->folders[i]);
    return bytes > limits->disk_bytes ? PROCESS_TOO_MUCH_DISK : found;
}

// Prepares the watch of what the caller, the keeper, will start. With plan->aside the caller moves
// away itself, and its children begin there.
static void watch_begin(struct watch *watch, const struct process_plan *plan)
{
    cpu_set_t where;
    *watch = (struct watch){.limits = &plan->limits, .keeper = getpid(), .aside = plan->aside};
    if (sched_getaffinity(0, sizeof(watch->ours), &watch->ours))
        watch->aside = NULL;
    if (where_now(&where, watch))
        sched_setaffinity(0, sizeof(where), &where);
}

// Whether there is anything to watch.
static bool watch_wanted(const struct watch *watch)
{
    const struct process_limits *limits = watch->limits;
    return limits->processes || limits->together_bytes || limits->disk_bytes || watch->aside;
}

// The time of the next look, after one that began at `from_s`.
static double next(double from_s, double least_s)
{
    const double to_s = now_s(), pause_s = share * (to_s - from_s);
    return to_s + (pause_s > least_s ? pause_s : least_s);
}

// Looks, if it is time, and moves processes that should be elsewhere. Returns what exceeds its
// limit, or PROCESS_WITHIN. A slow look is repeated less often, so that looking takes at most a
// twentieth of the time.
static enum process_excess watch_look(struct watch *watch)
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

// Looks once more when the child has ended, at what remains on the disk.
static enum process_excess watch_last(struct watch *watch)
{
    return watch->limits->disk_bytes ? look_at_disk(watch) : PROCESS_WITHIN;
}

// ---- the child's own time (process.h)
//
// For each thread, the kernel tells how long it worked, and how long it waited for a processor.
// There are two cases. If on average less than one thread wants to work at a time, as when
// processes pass a baton, own time is the wall clock without these waits: a thread that sleeps
// or waits for a lock uses its own time. If more want to work, own time is the time that their
// work would have taken on all processors that they could have had. So threads that only wait
// for each other gain nothing. A thread that ended between two looks is not known, and counts as
// time that was used.
//
// The kernel tells of a wait only when it is over. So a look also finds the threads that wait now:
// they are ready, and have had no new turn on a processor. If a thread was ready at the look
// before, too, it has waited ever since, but for what it worked. Otherwise its wait may have begun
// at any time between the two looks. That counts only if the next look finds it in the same wait.

enum { LOOKS = 20 }; // about so many looks within a limit
static const double look_least_s = 0.25, look_most_s = 3, look_first_s = 0.1;

// Computes the lost time over the whole time since the first look, because the kernel reports a
// wait only when it is over, which is often after a look. `waiting_s`: of the waits of now.
static double lost_of(const struct use *use, double waiting_s)
{
    cpu_set_t ours;
    const double processors = sched_getaffinity(0, sizeof(ours), &ours) ? 1 : CPU_COUNT(&ours);
    const double worked_s = 1e-9 * use->worked_ns, waited_s = 1e-9 * use->waited_ns + waiting_s;
    const double wanting = (worked_s + waited_s) / use->wall_s;
    const double used_s =
        wanting < 1 ? use->wall_s - waited_s : worked_s / fmin(wanting, processors);
    return fmin(fmax(use->wall_s - used_s, 0), use->wall_s);
}

static int by_id(const void *left, const void *right)
{
    const struct thread_use *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

// Adds a thread, if its files can be read. `folder` is their folder's path below /proc/PID.
static void add_thread(struct use *out, size_t *capacity, pid_t pid, pid_t id, const char *folder)
{
    char name[64], text[1024];
    unsigned long long worked_ns, waited_ns, turns;
    snprintf(name, sizeof(name), "%sschedstat", folder);
    if (!read_file(text, sizeof(text), pid, name) ||
        sscanf(text, "%llu %llu %llu", &worked_ns, &waited_ns, &turns) != 3)
        return;
    snprintf(name, sizeof(name), "%sstat", folder);
    const char *after = read_file(text, sizeof(text), pid, name) ? strrchr(text, ')') : NULL;
    out->threads = xgrow(out->threads, out->count, capacity, sizeof(*out->threads));
    out->threads[out->count++] = (struct thread_use){.id = id,
                                                     .worked_ns = worked_ns,
                                                     .waited_ns = waited_ns,
                                                     .turns = turns,
                                                     .ready = after && after[1] && after[2] == 'R'};
}

static void add_threads(struct use *out, size_t *capacity, const struct seen_process *seen)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/task", (long)seen->pid);
    if (seen->threads < 2) {
        add_thread(out, capacity, seen->pid, seen->pid, "");
        return;
    }
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof(path), "task/%ld/", (long)id);
        if (id > 0)
            add_thread(out, capacity, seen->pid, id, path);
    }
    if (tasks)
        closedir(tasks);
}

// Adds what a thread did in the passed_s since the look before; `then` is what that look found, or
// NULL. Returns how long it has certainly been waiting now.
static double add_use(struct use *use, struct thread_use *now, const struct thread_use *then,
                      double passed_s)
{
    const struct thread_use none = {.ready = false};
    const struct thread_use *before = then ? then : &none;
    const double worked_s = 1e-9 * (double)(now->worked_ns - before->worked_ns);
    double waited_s = 1e-9 * (double)(now->waited_ns - before->waited_ns);
    const bool same = then && then->ready && then->turns == now->turns;
    if (!then)
        waited_s = fmin(waited_s, fmax(passed_s - worked_s, 0)); // it may have begun earlier
    use->worked_ns += 1e9 * worked_s;
    use->waited_ns += 1e9 * waited_s;
    if (!now->ready)
        return 0;
    const double left_s = fmax(passed_s - worked_s, 0);
    if (same) {
        const bool on = worked_s <= 0; // else it was at work when the look before found it
        now->waits_s = left_s + (on ? before->waits_s + before->maybe_s : 0);
    } else {
        now->maybe_s = fmax(left_s - fmax(waited_s - before->waits_s, 0), 0);
        use->unsure = use->unsure || now->maybe_s > 0;
    }
    return now->waits_s;
}

// Looks at all threads. The first look only remembers their times. If all have ended, nothing but
// the keeper is waited for.
static void look_at_use(struct use *use, pid_t keeper)
{
    struct seen_list list = {0};
    size_t capacity = 0, living = 0;
    const double at_s = now_s();
    struct use found = *use;
    found.threads = NULL;
    found.count = 0;
    found.unsure = false;
    read_all(&list);
    for (size_t i = 0; i < list.count; i++) {
        if (!is_below(&list, &list.items[i], keeper))
            continue;
        living += list.items[i].ended ? 0 : 1;
        add_threads(&found, &capacity, &list.items[i]);
    }
    free(list.items);
    if (found.count)
        qsort(found.threads, found.count, sizeof(*found.threads), by_id);
    if (use->looked_s > 0 && at_s > use->looked_s) {
        const double passed_s = at_s - use->looked_s;
        double waiting_s = living > 0 ? 0 : passed_s;
        found.wall_s += passed_s;
        for (size_t i = 0; i < found.count; i++) {
            struct thread_use *now = &found.threads[i];
            const struct thread_use *then =
                use->count ? bsearch(now, use->threads, use->count, sizeof(*now), by_id) : NULL;
            waiting_s += add_use(&found, now, then, passed_s);
        }
        found.lost_s = fmax(found.lost_s, found.lost_before_s + lost_of(&found, waiting_s));
    }
    found.looked_s = at_s;
    found.next_s = next(at_s, use->pause_s);
    free(use->threads);
    *use = found;
}

// Begins to look, so often that a limit of so many seconds can be kept.
static void begin_to_look(struct use *use, double seconds)
{
    const double pause_s = fmin(fmax(seconds / LOOKS, look_least_s), look_most_s);
    free(use->threads);
    *use = (struct use){.pause_s = pause_s,
                        .next_s = now_s() + fmin(pause_s, look_first_s),
                        .lost_s = use->lost_s,
                        .lost_before_s = use->lost_s};
}

static struct allowance allow(const struct process *process, double seconds)
{
    return (struct allowance){seconds, now_s(), process->use.lost_s};
}

// The time at which it is over, unless more time is lost until then.
static double end_of(const struct process *process, const struct allowance *a)
{
    const double lost_s = process->use.lost_s - a->lost_s;
    return a->begun_s + fmin(a->seconds + lost_s, PROCESS_PATIENCE * a->seconds);
}

static bool is_over(struct process *process, const struct allowance *a)
{
    const struct timespec moment = {.tv_nsec = 50000000}; // who works meanwhile is seen to
    if (now_s() < end_of(process, a))
        return false;
    if (process->use.looked_s <= 0 || process->status < 0)
        return true;
    look_at_use(&process->use, process->keeper);
    if (process->use.unsure && now_s() >= end_of(process, a)) {
        nanosleep(&moment, NULL);
        look_at_use(&process->use, process->keeper);
    }
    return now_s() >= end_of(process, a);
}

// ---- the keeper, a small process between plumb and each child (process.h says why)
//
// It never reads what the child made. It waits, and at the end kills every process that descends
// from it. A process that leaves its group, its session or its parent is still found, because
// orphans are given to the nearest subreaper. The keeper's signals stay blocked, and it waits for
// them.

enum { FD_STATUS = 3, FD_START = 4, FD_FIRST_FREE = 5 };

// The longest wait for processes that SIGKILL does not end, because they are stuck in a driver.
enum { UNKILLABLE_S = 10 };

static int told = FD_START; // descriptor of the start pipe

_Noreturn static void fail(const char *step)
{
    struct keeper_failure failure = {.code = errno};
    text_copy(failure.step, sizeof(failure.step), step);
    ssize_t written = write(told, &failure, sizeof(failure));
    (void)written; // nobody is left who could read it
    _exit(127);
}

static int by_value(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

// Closes all descriptors but the five, so that there is room for them even if the limit is low.
static void close_others(const int *five, size_t count)
{
    int kept[8];
    memcpy(kept, five, count * sizeof(*kept));
    qsort(kept, count, sizeof(*kept), by_value);
    unsigned from = 0;
    for (size_t i = 0; i <= count; i++) {
        const unsigned to = i < count ? (unsigned)kept[i] : ~0U;
        if (from < to && close_range(from, i < count ? to - 1 : to, 0)) {
            for (unsigned fd = from; fd < to && fd < 4096; fd++)
                close((int)fd);
        }
        from = to + 1;
    }
}

// Moves the five descriptors to 0..4. No other file may remain at one of these numbers, because the
// child's output would go there.
static void arrange_descriptors(const struct keeper_job *job)
{
    int fds[] = {job->in, job->out, job->err, job->status, job->start};
    told = job->start;
    close_others(fds, ARRAY_COUNT(fds));
    for (size_t i = 0; i < ARRAY_COUNT(fds); i++) {
        if ((fds[i] = fcntl(fds[i], F_DUPFD, FD_FIRST_FREE)) < 0)
            fail("descriptors");
    }
    told = fds[ARRAY_COUNT(fds) - 1];
    for (size_t i = 0; i < ARRAY_COUNT(fds); i++) {
        if (dup2(fds[i], (int)i) < 0)
            fail("descriptors");
    }
    told = FD_START;
    const int first[] = {0, 1, 2, FD_STATUS, FD_START};
    close_others(first, ARRAY_COUNT(first));
    if (fcntl(FD_STATUS, F_SETFD, FD_CLOEXEC) || fcntl(FD_START, F_SETFD, FD_CLOEXEC))
        fail("descriptors");
}

static void limit(int resource, uint64_t value, const char *step)
{
    struct rlimit old;
    if (getrlimit(resource, &old))
        fail(step);
    rlim_t most = old.rlim_max < value ? old.rlim_max : (rlim_t)value;
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    if (setrlimit(resource, &limit))
        fail(step);
}

static void apply_limits(const struct keeper_job *job)
{
    const struct process_limits *limits = &job->plan->limits;
    limit(RLIMIT_CORE, 0, "core limit");
    if (limits->memory_bytes)
        limit(RLIMIT_DATA, limits->memory_bytes, "memory limit");
    if (limits->address_bytes)
        limit(RLIMIT_AS, limits->address_bytes, "address space limit");
    if (limits->file_bytes)
        limit(RLIMIT_FSIZE, limits->file_bytes, "file size limit");
    if (job->process_limit)
        limit(RLIMIT_NPROC, job->process_limit, "process limit");
}

static void reset_signals(void)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++) {
        if (signal_number != SIGKILL && signal_number != SIGSTOP)
            signal(signal_number, SIG_DFL); // fails only for signals that the C library reserves
    }
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL))
        fail("signals");
}

_Noreturn static void become_child(const struct keeper_job *job, pid_t keeper)
{
    extern char **environ;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != keeper)
        fail("death signal");
    if (job->plan->directory && chdir(job->plan->directory))
        fail("directory");
    apply_limits(job);
    if (setpgid(0, 0))
        fail("process group");
    reset_signals();
    // POSIX requires that execve() does not change its arguments; its type is older than that rule.
    char *const *argv = (char *const *)(uintptr_t)job->plan->argv;
    char *const *env = job->plan->env ? (char *const *)(uintptr_t)job->plan->env : environ;
    execve(job->program, argv, env);
    fail("exec");
}

// The parent of a process, from /proc; -1 when the process is gone.
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0)
        return -1;
    text[size] = '\0';
    // The name stands in parentheses and may contain any byte, so the last parenthesis counts.
    const char *after = strrchr(text, ')');
    return after && strlen(after) > 4 ? (pid_t)strtol(after + 4, NULL, 10) : -1;
}

static void kill_children(void)
{
    pid_t self = getpid();
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (parent_of(entry->d_name) == self)
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    }
    closedir(proc);
}

// Kills generation after generation: a process whose parent dies becomes our child and is killed
// next.
static void end_descendants(pid_t child, const sigset_t *waited)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const double until = now_s() + UNKILLABLE_S;
    kill(-child, SIGKILL);
    while (now_s() < until) {
        kill_children();
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD)
            return;
        sigtimedwait(waited, NULL, &pause);
    }
}

// Waits for the child's end, an order to stop, or a limit that is exceeded. True when `status` is
// the child's.
static bool wait_child(int *status, enum process_excess *excess, pid_t child, struct watch *watch,
                       const sigset_t *waited)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    const bool wanted = watch_wanted(watch);
    for (;;) {
        pid_t ended;
        while ((ended = waitpid(-1, status, WNOHANG)) > 0) {
            if (ended != child)
                continue;
            *excess = watch_last(watch);
            return true;
        }
        siginfo_t info;
        int signal_number = sigtimedwait(waited, &info, wanted ? &moment : NULL);
        if (signal_number > 0 && signal_number != SIGCHLD)
            return false;
        *excess = wanted ? watch_look(watch) : PROCESS_WITHIN;
        if (*excess != PROCESS_WITHIN)
            return false;
    }
}

static void report(int status, enum process_excess excess)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    const struct keeper_report report = {
        .status = status,
        .excess = excess,
        .cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .memory_bytes = (uint64_t)usage.ru_maxrss * 1024,
    };
    ssize_t written = write(FD_STATUS, &report, sizeof(report));
    (void)written; // the parent may be dead
}

// Runs in the forked keeper and never returns. All signals are blocked when it is called.
static _Noreturn void keeper_run(const struct keeper_job *job)
{
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    sigaddset(&waited, SIGTERM);
    signal(SIGCHLD, SIG_DFL); // if SIGCHLD were ignored, the kernel would reap the child itself
    signal(SIGPIPE, SIG_IGN);
    arrange_descriptors(job);
    if (setsid() < 0)
        fail("session");
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) || prctl(PR_SET_CHILD_SUBREAPER, 1))
        fail("keeper");
    if (getppid() != job->parent)
        _exit(127); // plumb died before it could be watched
    struct watch watch;
    watch_begin(&watch, job->plan);
    if (watch_wanted(&watch) && !shows_us())
        fail("watch");
    pid_t keeper = getpid(), child = fork();
    if (child == 0)
        become_child(job, keeper);
    if (child < 0)
        fail("fork");
    setpgid(child, child);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    close(FD_START);
    int status = SIGKILL; // the form in which waitpid() reports "killed by SIGKILL"
    enum process_excess excess = PROCESS_WITHIN;
    bool ended = wait_child(&status, &excess, child, &watch, &waited);
    end_descendants(child, &waited);
    report(ended ? status : SIGKILL, excess);
    _exit(0);
}

// ---- starting a child behind its keeper

// Calls a handler half a second before the limit of processor time. `ulimit -t` sets the soft and
// the hard limit to the same value, and the kernel then kills the program without a signal that
// could be handled. It is half a second because a virtual machine that its host had stopped for 0.2
// s was killed before a later time.
static void watch_time(void (*out_of_time)(int number))
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
    struct rlimit most;
    timer_t timer;
    signal(SIGXCPU, out_of_time);
    if (getrlimit(RLIMIT_CPU, &most) || most.rlim_max == RLIM_INFINITY || most.rlim_max == 0 ||
        timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer))
        return;
    const struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)most.rlim_max - 1, .tv_nsec = 500000000}};
    timer_settime(timer, TIMER_ABSTIME, &at, NULL);
}

// Where the stack ends, the kernel kills the program without a message. None of our functions uses
// more than 64 KiB, but parsers of libraries and nested folders need deep stacks. The check itself
// needs almost none.
bool process_limits_suffice(void (*out_of_time)(int number))
{
    enum { LEAST = 1 << 20 };
    static const char text[] = "plumb: the stack's limit is too small: `ulimit -s 1024` or more is "
                               "needed\n";
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < LEAST) {
        ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)written; // nobody may be there to read it
        return false;
    }
    watch_time(out_of_time);
    return true;
}

uint64_t process_fair_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (uint64_t)sysconf(_SC_PAGESIZE);
}

// Finds the path of a program as a shell does. The caller frees; NULL if there is none.
static char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) ? NULL : xstrdup(name);
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
        const char *end = strchrnul(at, ':');
        char *file = xprintf("%.*s/%s", (int)(end - at), at, name);
        struct stat status;
        if (end > at && access(file, X_OK) == 0 && stat(file, &status) == 0 &&
            S_ISREG(status.st_mode))
            return file;
        free(file);
        at = *end ? end + 1 : NULL;
    }
    return NULL;
}

// The number of threads that this user runs: RLIMIT_NPROC counts all of them and not only the
// child's.
static uint64_t count_threads(void)
{
    uint64_t threads = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof(path), "/proc/%.20s/task", entry->d_name);
        // A directory has one link for itself, one for ".", and one for each folder in it.
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &status) == 0 &&
            status.st_uid == getuid() && status.st_nlink > 2)
            threads += status.st_nlink - 2;
    }
    closedir(proc);
    return threads;
}

// Forks the keeper. All signals are blocked meanwhile, so that none reaches the keeper before it is
// ready.
static pid_t fork_keeper(const struct keeper_job *job)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t keeper = fork();
    if (keeper == 0)
        keeper_run(job);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return keeper;
}

// Waits for the exec: the start pipe closes when it worked, and contains the failure when it did
// not.
static int check_start(int start, const char *program, const char *directory, struct error *err)
{
    struct keeper_failure failure;
    ssize_t size;
    do
        size = read(start, &failure, sizeof(failure));
    while (size < 0 && errno == EINTR);
    if (size == 0)
        return 0;
    if (size != sizeof(failure))
        return error_set(err, "%s: could not be started", program);
    if (strcmp(failure.step, "directory") == 0)
        return error_set(err, "%s: cannot start in %s: %s", program, directory,
                         strerror(failure.code));
    if (strcmp(failure.step, "watch") == 0)
        return error_set(err,
                         "%s: cannot be watched, because /proc does not show this program's "
                         "processes; mount it (mount -t proc proc /proc)",
                         program);
    return error_set(err, "%s: cannot be started (%s): %s", program, failure.step,
                     strerror(failure.code));
}

struct plumbing {
    int input[2], output[2], errors[2], status[2], start[2]; // [0] stays here, [1] is the child's
};

static void close_plumbing(struct plumbing *p)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&p->input[i]);
        close_fd(&p->output[i]);
        close_fd(&p->errors[i]);
        close_fd(&p->status[i]);
        close_fd(&p->start[i]);
    }
}

// The input is a socket, so that writing to a dead child gives an error code and not SIGPIPE.
// `shows`: what the child prints goes to standard error.
static int open_plumbing(struct plumbing *p, bool talks, bool shows, struct error *err)
{
    bool ok = pipe2(p->errors, O_CLOEXEC) == 0 && pipe2(p->status, O_CLOEXEC) == 0 &&
              pipe2(p->start, O_CLOEXEC) == 0;
    if (ok && talks)
        ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->input) == 0 &&
             shutdown(p->input[1], SHUT_WR) == 0 && pipe2(p->output, O_CLOEXEC) == 0;
    else if (ok)
        ok = (p->input[1] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 &&
             (p->output[1] = fcntl(shows ? STDERR_FILENO : p->errors[1], F_DUPFD_CLOEXEC, 0)) >= 0;
    if (ok && shows) {
        close_fd(&p->errors[1]);
        ok = (p->errors[1] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0;
    }
    const int ours[] = {p->input[0], p->output[0], p->errors[0], p->status[0]};
    for (size_t i = 0; ok && i < ARRAY_COUNT(ours); i++) {
        if (ours[i] >= 0)
            ok = fcntl(ours[i], F_SETFL, O_NONBLOCK) == 0;
    }
    return ok ? 0
              : error_set(err, "cannot open pipes to a child: %s%s", strerror(errno),
                          errno == EMFILE ? "; allow more by `ulimit -n 256`" : "");
}

static int start(struct process *process, const struct process_plan *plan, bool talks,
                 struct error *err)
{
    struct plumbing pipes = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int result = -1;
    char *program = find_program(plan->argv[0]);
    if (!program) {
        error_set(err, "%s: program not found; is it installed and in PATH?", plan->argv[0]);
        goto done;
    }
    if (open_plumbing(&pipes, talks, plan->tick, err))
        goto done;
    uint32_t processes = plan->limits.processes;
    const struct keeper_job job = {
        .program = program,
        .plan = plan,
        .process_limit = processes ? count_threads() + processes : 0,
        .in = pipes.input[1],
        .out = pipes.output[1],
        .err = pipes.errors[1],
        .status = pipes.status[1],
        .start = pipes.start[1],
        .parent = getpid(),
    };
    process->keeper = fork_keeper(&job);
    if (process->keeper < 0) {
        error_set(err, "%s: cannot fork: %s", program, strerror(errno));
        goto done;
    }
    close_fd(&pipes.start[1]);
    if (check_start(pipes.start[0], program, plan->directory, err)) {
        close_plumbing(&pipes); // a program that did start waits for nothing more
        waitpid(process->keeper, NULL, 0);
        goto done;
    }
    process->input = pipes.input[0];
    process->output = pipes.output[0];
    process->errors = pipes.errors[0];
    process->status = pipes.status[0];
    pipes.input[0] = pipes.output[0] = pipes.errors[0] = pipes.status[0] = -1;
    result = 0;
done:
    close_plumbing(&pipes);
    free(program);
    return result;
}

// Starts a child. `talks`: lines are exchanged over input and output; otherwise the input is empty
// and the output goes to the log.
static int process_open(struct process **out, const struct process_plan *plan, bool talks,
                        struct error *err)
{
    assert(plan->argv && plan->argv[0]);
    struct process *process = xcalloc(1, sizeof(*process));
    process->input = process->output = process->errors = process->status = -1;
    process->started_s = now_s();
    // What is reported of a child that could not even be ended.
    process->report.status = SIGKILL;
    if (log_open(&process->log, plan->log_path, plan->log_bytes, err))
        goto fail;
    if (start(process, plan, talks, err))
        goto fail;
    // From here on, for on a crowded machine it takes long until a child's program begins.
    process->life = allow(process, plan->limits.time_s > 0 ? plan->limits.time_s : INFINITY);
    process->talk = allow(process, INFINITY);
    if (plan->limits.time_s > 0) {
        begin_to_look(&process->use, plan->limits.time_s);
        process->use.looked_s = process->started_s = now_s(); // all its threads are new
    }
    *out = process;
    return 0;
fail:
    log_close(&process->log);
    free(process);
    return -1;
}

// ---- talking with a running child, and ending it

// Longer than the keeper itself waits for processes that do not die.
static const double KEEPER_PATIENCE_S = 15;

int process_start(struct process **out, const struct process_plan *plan, struct error *err)
{
    return process_open(out, plan, true, err);
}

static void read_log(struct process *process)
{
    char bytes[16384];
    for (;;) {
        ssize_t size = read(process->errors, bytes, sizeof(bytes));
        if (size > 0) {
            log_write(&process->log, bytes, (size_t)size);
        } else if (size == 0) {
            close_fd(&process->errors);
            return;
        } else if (errno != EINTR) {
            return; // EAGAIN: there is nothing to read now
        }
    }
}

static void read_status(struct process *process)
{
    struct keeper_report report;
    ssize_t size = read(process->status, &report, sizeof(report));
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size == sizeof(report))
        process->report = report;
    close_fd(&process->status);
}

static void order_end(struct process *process)
{
    if (process->status >= 0)
        kill(process->keeper, SIGTERM); // it has not been reaped, so the number is still its own
}

// Waits for an event, at most until until_s, and reads the log and the status meanwhile. Returns
// the events of `fd` (the output or the input, or -1).
static short wait_events(struct process *process, int fd, short events, double until_s)
{
    struct use *use = &process->use;
    if (!process->timed_out && process->status >= 0 && is_over(process, &process->life)) {
        process->timed_out = true;
        order_end(process);
    }
    if (use->pause_s > 0 && process->status >= 0 && now_s() >= use->next_s)
        look_at_use(use, process->keeper);
    double until = process->timed_out ? until_s : fmin(until_s, end_of(process, &process->life));
    until = use->pause_s > 0 && process->status >= 0 ? fmin(until, use->next_s) : until;
    double wait_ms = ceil(fmax(0, until - now_s()) * 1e3);
    struct pollfd polled[] = {
        {.fd = fd, .events = events},
        {.fd = process->errors, .events = POLLIN},
        {.fd = process->status, .events = POLLIN},
    };
    if (poll(polled, ARRAY_COUNT(polled), (int)fmin(wait_ms, 3600e3)) <= 0)
        return 0;
    if (polled[1].revents)
        read_log(process);
    if (polled[2].revents)
        read_status(process);
    return polled[0].revents;
}

// Waits at most so long for the keeper's report. True when it came.
static bool wait_report(struct process *process, double seconds)
{
    const struct allowance a = allow(process, seconds);
    while (process->status >= 0 && !is_over(process, &a))
        wait_events(process, -1, 0, end_of(process, &a));
    return process->status < 0;
}

// Waits for the report up to the limit of the child's life.
static void wait_life(struct process *process)
{
    while (process->status >= 0 && !process->timed_out)
        wait_events(process, -1, 0, INFINITY);
}

void process_allow(struct process *process, double seconds)
{
    process->talk = allow(process, seconds);
    begin_to_look(&process->use, seconds);
}

bool process_crowded(const struct process *process)
{
    const struct allowance *a = process->timed_out ? &process->life : &process->talk;
    const double wall_s = now_s() - a->begun_s;
    return wall_s - (process->use.lost_s - a->lost_s) < a->seconds;
}

static void finish(struct process_result *out, struct process *process)
{
    const bool crowded = process->timed_out && process_crowded(process);
    if (!wait_report(process, KEEPER_PATIENCE_S))
        kill(process->keeper, SIGKILL);
    if (process->errors >= 0)
        read_log(process);
    while (waitpid(process->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    int status = process->report.status;
    struct process_result result = {
        .end = WIFEXITED(status) ? PROCESS_EXITED : PROCESS_SIGNALLED,
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
        .wall_s = now_s() - process->started_s,
        .cpu_s = process->report.cpu_s,
        .memory_bytes = process->report.memory_bytes,
    };
    if (process->report.excess) {
        result.end = PROCESS_EXCEEDED;
        result.code = (int)process->report.excess;
    } else if (process->timed_out)
        result.end = PROCESS_TIMED_OUT;
    else if (process->stopped)
        result.end = PROCESS_STOPPED;
    result.crowded = result.end == PROCESS_TIMED_OUT && crowded;
    if (out)
        *out = result;
    close_fd(&process->input);
    close_fd(&process->output);
    close_fd(&process->errors);
    close_fd(&process->status);
    log_close(&process->log);
    free(process->use.threads);
    free(process);
}

// The same, with a call of tick() between short waits.
static void wait_ticking(struct process *process, const struct process_plan *plan)
{
    static const double tick_s = 0.05;
    while (process->status >= 0 && !process->timed_out && !process->stopped) {
        wait_events(process, -1, 0, now_s() + tick_s);
        if (process->status >= 0 && !plan->tick(plan->tick_context)) {
            process->stopped = true;
            order_end(process);
        }
    }
}

int process_run(struct process_result *out, const struct process_plan *plan, struct error *err)
{
    struct process *process;
    if (process_open(&process, plan, false, err))
        return -1;
    if (plan->tick)
        wait_ticking(process, plan);
    else
        wait_life(process);
    finish(out, process);
    return 0;
}

int process_capture(struct process_result *out, char **said, const struct process_plan *plan,
                    struct error *err)
{
    struct process *process;
    assert(!plan->log_path && plan->log_bytes > 0);
    int memory = memfd_create("plumb", MFD_CLOEXEC);
    int copy = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0), code = -1;
    if (copy < 0) {
        error_set(err, "%s: no memory for what it prints: %s", plan->argv[0], strerror(errno));
        goto done;
    }
    if (process_open(&process, plan, false, err))
        goto done;
    log_attach(&process->log, copy, plan->log_bytes);
    copy = -1;
    wait_life(process);
    finish(out, process);
    *said = log_tail_of(memory, plan->log_bytes);
    code = 0;
done:
    close_fd(&copy);
    close_fd(&memory);
    return code;
}

int process_write(struct process *process, const char *text, double timeout_s)
{
    size_t left = strlen(text);
    process_allow(process, timeout_s);
    while (left > 0) {
        ssize_t sent = send(process->input, text, left, MSG_NOSIGNAL);
        if (sent > 0) {
            text += sent;
            left -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (process->timed_out || is_over(process, &process->talk))
            return -1;
        wait_events(process, process->input, POLLOUT, end_of(process, &process->talk));
    }
    return 0;
}

// Takes the first line from the buffer. False when there is no complete line yet.
static bool take_line(enum process_line *kind, struct process *process, char *out, size_t size)
{
    char *end = memchr(process->line, '\n', process->used);
    if (!end) {
        if (process->used == sizeof(process->line)) {
            process->skipping = true; // its rest will be skipped, too
            process->used = 0;
        }
        return false;
    }
    size_t length = (size_t)(end - process->line);
    bool whole = !process->skipping && length < size && !memchr(process->line, '\0', length);
    if (whole) {
        memcpy(out, process->line, length);
        out[length] = '\0';
    }
    process->skipping = false;
    process->used -= length + 1;
    memmove(process->line, end + 1, process->used);
    *kind = whole ? PROCESS_LINE : PROCESS_LINE_LONG;
    return true;
}

enum process_line process_read(struct process *process, char *out, size_t size, double timeout_s)
{
    const struct allowance a = allow(process, timeout_s);
    enum process_line kind;
    for (;;) {
        if (is_over(process, &process->talk))
            return PROCESS_LINE_TIMEOUT; // however fast the lines come
        if (take_line(&kind, process, out, size))
            return kind;
        if (process->output < 0)
            return PROCESS_LINE_END;
        ssize_t got = read(process->output, process->line + process->used,
                           sizeof(process->line) - process->used);
        if (got > 0)
            process->used += (size_t)got;
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            close_fd(&process->output);
        if (got > 0 || process->output < 0)
            continue;
        if (process->timed_out || is_over(process, &a))
            return PROCESS_LINE_TIMEOUT;
        wait_events(process, process->output, POLLIN,
                    fmin(end_of(process, &a), end_of(process, &process->talk)));
    }
}

void process_hang_up(struct process *process)
{
    close_fd(&process->input);
}

void process_stop(struct process_result *out, struct process *process, double grace_s)
{
    if (!process)
        return;
    close_fd(&process->input);
    close_fd(&process->output);
    if (!wait_report(process, grace_s) && !process->timed_out) {
        process->stopped = true;
        order_end(process);
    }
    finish(out, process);
}

static const char *const excesses[] = {
    [PROCESS_TOO_MANY] = "more processes and threads than allowed",
    [PROCESS_TOO_LARGE] = "more memory together than allowed",
    [PROCESS_TOO_MUCH_DISK] = "more disk than allowed",
    [PROCESS_HIDDEN] = "a process that hides its open files",
    [PROCESS_UNWATCHED] = "/proc no longer shows its processes",
};

// When a signal ended a shell's command, the shell exits with 128 plus the signal.
static void describe_exit(char *out, size_t size, int code)
{
    enum { SHELL_SIGNALLED = 128 };
    const char *name = code > SHELL_SIGNALLED ? sigabbrev_np(code - SHELL_SIGNALLED) : NULL;
    if (name)
        snprintf(out, size, "exit status %d (SIG%s, %s)", code, name,
                 strsignal(code - SHELL_SIGNALLED));
    else
        snprintf(out, size, "exit status %d", code);
}

void process_describe(char *out, size_t size, const struct process_result *result)
{
    switch (result->end) {
    case PROCESS_EXITED:
        describe_exit(out, size, result->code);
        break;
    case PROCESS_SIGNALLED:
        snprintf(out, size, "signal %d (%s)", result->code, strsignal(result->code));
        break;
    case PROCESS_TIMED_OUT:
        snprintf(out, size, "killed after %.3g s", result->wall_s);
        break;
    case PROCESS_STOPPED:
        snprintf(out, size, "stopped after %.3g s", result->wall_s);
        break;
    case PROCESS_EXCEEDED:
        snprintf(out, size, "ended: %s", excesses[result->code]);
        break;
    }
}
