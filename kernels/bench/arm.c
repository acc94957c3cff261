// SPDX-License-Identifier: Apache-2.0
//
// Loads one side of a series and prepares it. If it cannot be timed, the series' state says so;
// only a device that fails is an error. A record is recognised by the beginning of its file.
#include "kernels/bench/arm.h"

#include "kernels/bench/arm_page.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "kernels/device/host.h"
#include "model/base.h"
#include "model/robust.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// ==== the time of a turn ====
//
// Reads the scheduler's accounts of two processes.

static const double part_that_counts = 0.01;

int turn_clock_open(struct turn_clock *out, pid_t process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/schedstat", (long)process);
    out->waits[0] = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    out->waits[1] = open(path, O_RDONLY | O_CLOEXEC);
    if (out->waits[0] < 0 || out->waits[1] < 0)
        turn_clock_close(out);
    return clock_getcpuclockid(process, &out->work) ? -1 : 0;
}

void turn_clock_close(struct turn_clock *clock)
{
    for (int i = 0; i < 2; i++) {
        if (clock->waits[i] >= 0)
            close(clock->waits[i]);
        clock->waits[i] = -1;
    }
}

// The second of three numbers: time on a processor, time in its queue, and how often it ran.
static double waited_ns(int file)
{
    char text[128], *at = text;
    const ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    strtoull(text, &at, 10);
    return (double)strtoull(at, NULL, 10);
}

// The processor time of all threads of the process, including those that ended.
static double turn_worked_ns(const struct turn_clock *clock)
{
    struct timespec work = {0};
    clock_gettime(clock->work, &work);
    return (double)work.tv_sec * 1e9 + (double)work.tv_nsec;
}

struct turn_mark turn_mark_now(const struct turn_clock *clock)
{
    struct turn_mark mark = {0};
    if (clock->waits[0] < 0)
        return mark;
    for (int i = 0; i < 2; i++)
        mark.waited_ns += waited_ns(clock->waits[i]);
    mark.worked_ns = turn_worked_ns(clock);
    return mark;
}

double turn_time_ns(double took_ns, double empty_ns, uint32_t launches,
                    const struct turn_mark *begin, const struct turn_mark *end)
{
    const double whole_ns = fmax(took_ns - empty_ns, launches);
    const double waited = end->waited_ns - begin->waited_ns;
    if (!(waited > part_that_counts * took_ns))
        return whole_ns;
    const double worked_ns = end->worked_ns - begin->worked_ns;
    return fmin(whole_ns, fmax(fmax(whole_ns - waited, worked_ns), launches));
}

// ==== a library in a process of its own ====
//
// bench's side: starts the process, passes the baton, and stops the process when the baton comes
// back.
// The stopwatch begins before the process may run and ends when the process reports that it is
// done, so all its work is timed. The time of an empty turn, measured before the library is loaded,
// is subtracted, and so is the time that a library with one thread waited for its processor
// (arm.h).

// The data that a library's process is given before it starts.
struct arm_wanted {
    const char *path, *kernel, *kind;
    const struct plumb_form *form;
};

struct arm_loaded {
    enum arm_finding finding;
    int32_t threads;
    size_t workspace_bytes;
    struct plumb_buffers stated;
    char text[ARM_TEXT];
};

// The folders of all builds, one per line, from bench's parent; FOLDER/* stands for each folder in
// it.
#define VEIL_BUILDS "PLUMB_BUILDS"

// The folder of a version 2 control group for bench, if its parent gave it one.
#define FREEZER "PLUMB_FREEZER"

// ---- folders of its own
//
// Whatever one library leaves in a folder that all may write to, a library of the other build could
// read, as one that keeps a table of what is fast does. So in a sandbox each process has folders of
// its own in their places; what is mounted below them, as builds are, is mounted there again.

static bool lies_in(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

// The sandbox's parent says by this variable that the folders are the sandbox's own, and by
// "required" that no library may run without folders of its own.
#define FOLDERS "PLUMB_FOLDERS"

static const char *const written_by_all[] = {"/tmp", "/dev/shm"};
enum { PROC = ARRAY_COUNT(written_by_all), FOLDERS_MOST };

struct own_folder {
    char *path;              // NULL: none
    char **mounted, **again; // what is mounted below the one that all have, and where it is again
    size_t count;
};

// Takes the mount point, the fifth word of a line of mountinfo, in which a blank is "\040".
static bool mount_point(char *out, size_t size, const char *line)
{
    size_t used = 0;
    for (int words = 0; words < 4 && line; words++)
        line = strchr(line, ' ') ? strchr(line, ' ') + 1 : NULL;
    for (; line && *line && *line != ' ' && used + 1 < size; line++) {
        const bool coded = line[0] == '\\' && line[1] && line[2] && line[3];
        out[used++] =
            coded ? (char)((line[1] - '0') * 64 + (line[2] - '0') * 8 + (line[3] - '0')) : *line;
        line += coded ? 3 : 0;
    }
    out[used] = '\0';
    return line && *line == ' ';
}

// Makes the folders on the way to `path`, and at its end a folder or a file, as `like` is.
static bool make_alike(char *path, const char *like)
{
    struct stat status;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777); // if it fails, what follows fails
        *slash = '/';
    }
    if (stat(like, &status))
        return false;
    if (S_ISDIR(status.st_mode))
        return mkdir(path, 0777) == 0 || errno == EEXIST;
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static bool add_mount(struct own_folder *folder, size_t *room, const char *place, const char *of)
{
    char *again = xprintf("%s%s", folder->path, place + strlen(of));
    if (!make_alike(again, place)) {
        free(again);
        return false;
    }
    size_t same = *room;
    folder->mounted = xgrow(folder->mounted, folder->count, &same, sizeof(*folder->mounted));
    folder->again = xgrow(folder->again, folder->count, room, sizeof(*folder->again));
    folder->mounted[folder->count] = xstrdup(place);
    folder->again[folder->count++] = again;
    return true;
}

static void own_folder_free(struct own_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        free(folder->mounted[i]);
        free(folder->again[i]);
    }
    free(folder->mounted);
    free(folder->again);
    free(folder->path);
    *folder = (struct own_folder){0};
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    remove(path); // what stays goes with the sandbox
    return 0;
}

static void remove_folder(const char *path)
{
    enum { OPEN_MOST = 16 };
    if (path)
        nftw(path, remove_entry, OPEN_MOST, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

// Leaves `path` NULL where there is no sandbox.
static int own_folder_make(struct own_folder *out, const char *of, struct error *err)
{
    char line[8192], place[4096];
    size_t room = 0;
    *out = (struct own_folder){0};
    if (!getenv(FOLDERS))
        return 0;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    out->path = xprintf("%s/library-XXXXXX", of);
    bool made = mounts && mkdtemp(out->path);
    while (made && fgets(line, sizeof(line), mounts)) {
        if (mount_point(place, sizeof(place), line) && lies_in(place, of))
            made = add_mount(out, &room, place, of);
    }
    if (mounts)
        fclose(mounts);
    if (made)
        return 0;
    error_set(err, "host: a library can have no %s of its own: %s", of, strerror(errno));
    own_folder_free(out);
    return -1;
}

// In the library's process; uses system calls only.
static bool own_folder_show(const struct own_folder *folder, const char *of)
{
    if (!folder->path)
        return true;
    for (size_t i = 0; i < folder->count; i++) {
        if (mount(folder->mounted[i], folder->again[i], NULL, MS_BIND | MS_REC, NULL))
            return false;
    }
    return mount(folder->path, of, NULL, MS_BIND | MS_REC, NULL) == 0;
}

// ---- a /proc of its own
//
// /proc tells of the whole machine and of other processes, for example how many files are open. By
// that a build would learn that the other one is there. So in a sandbox a library sees only what
// /proc says of itself, and which processors there are.

static const char *const shown_of_proc[] = {"self", "cpuinfo"};

// Makes the folder; `path` stays NULL where there is no sandbox.
static int own_proc_make(struct own_folder *out, struct error *err)
{
    *out = (struct own_folder){0};
    if (!getenv(FOLDERS))
        return 0;
    out->path = xprintf("%s/library-XXXXXX", written_by_all[0]);
    bool made = mkdtemp(out->path) != NULL;
    for (size_t i = 0; made && i < ARRAY_COUNT(shown_of_proc); i++) {
        char *from = xprintf("/proc/%s", shown_of_proc[i]);
        char *to = xprintf("%s/%s", out->path, shown_of_proc[i]);
        made = make_alike(to, from);
        free(from);
        free(to);
    }
    if (made)
        return 0;
    error_set(err, "host: a library can have no /proc of its own: %s", strerror(errno));
    own_folder_free(out);
    return -1;
}

// In the library's process; uses system calls only.
static bool own_proc_show(const struct own_folder *folder)
{
    char from[64], to[128];
    for (size_t i = 0; folder->path && i < ARRAY_COUNT(shown_of_proc); i++) {
        snprintf(from, sizeof(from), "/proc/%s", shown_of_proc[i]);
        snprintf(to, sizeof(to), "%s/%s", folder->path, shown_of_proc[i]);
        if (mount(from, to, NULL, MS_BIND, NULL))
            return false;
    }
    return !folder->path || mount(folder->path, "/proc", NULL, MS_BIND | MS_REC, NULL) == 0;
}

// ---- hiding files from a library ----
//
// A folder is hidden by mounting another one over it, which needs no file system of its own. The
// filter for a library's system calls (arm_worker.c) prevents undoing it.

struct veil {
    char *text;          // owns the strings below
    char *own;           // the library's folder
    const char **hidden; // the folders of other builds, and the folder of references
    size_t count;
    const char *among; // the folder that has its own folder beside those of other builds, which are
                       // hidden, too; or NULL
    char *path;        // the library's path when the others are hidden
    const char *freezer; // or NULL
    struct own_folder folders[FOLDERS_MOST];
};

// Hides all folders of `all` except the library's, which is shown in their place.
static void veil_among(struct veil *out, const char *library, const char *all)
{
    const char *name = library + strlen(all) + 1, *rest = strchr(name, '/');
    if (!rest)
        return;
    free(out->own);
    out->own = xprintf("%.*s", (int)(rest - library), library);
    out->path = xprintf("%s%s", all, rest);
    out->among = all;
}

// The caller frees, also after a failure.
static int veil_make(struct veil *out, const char *library, struct error *err)
{
    const char *builds = getenv(VEIL_BUILDS), *slash = strrchr(library, '/');
    const char *references = getenv(REFERENCES_FOLDER);
    size_t most = 2;
    char *rest, *folder;
    *out = (struct veil){.text = xstrdup(builds ? builds : ""), .freezer = getenv(FREEZER)};
    for (const char *c = out->text; *c; c++)
        most += *c == '\n';
    out->own = xprintf("%.*s", slash ? (int)(slash - library) : 0, library);
    out->hidden = xcalloc(most, sizeof(*out->hidden));
    for (rest = out->text; (folder = strsep(&rest, "\n"));) {
        char *star = strstr(folder, "/*");
        if (star)
            *star = '\0';
        if (star && lies_in(library, folder))
            veil_among(out, library, folder);
        else if (*folder && *out->own && !lies_in(library, folder))
            out->hidden[out->count++] = folder;
    }
    if (references && *out->own)
        out->hidden[out->count++] = references;
    for (size_t i = 0; i < PROC; i++) {
        if (own_folder_make(&out->folders[i], written_by_all[i], err))
            return -1;
    }
    return own_proc_make(&out->folders[PROC], err);
}

static void veil_free(struct veil *veil)
{
    for (size_t i = 0; i < FOLDERS_MOST; i++)
        own_folder_free(&veil->folders[i]);
    free(veil->path);
    free(veil->hidden);
    free(veil->own);
    free(veil->text);
}

// Makes /proc read-only. A library that may write to its files can slow the other side's process
// (clear_refs), have it killed when memory is short (oom_score_adj), or reset its own peak of
// memory. Does nothing if the sandbox has done so already, or if the system allows it to nobody.
static void close_proc(bool own)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (mount("/proc", "/proc", NULL, MS_BIND | MS_REC, NULL) == 0)
        mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL);
    if (own)
        mount(NULL, "/proc/self", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL);
}

// Shows the library's folder in place of each hidden one, in a process with its own mount
// namespace. Uses system calls only. False if one could not be hidden.
static bool veil_draw(const struct veil *veil)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return false;
    if (veil->freezer && mount(veil->own, veil->freezer, NULL, MS_BIND, NULL))
        return false;
    for (size_t i = 0; i < veil->count; i++) {
        if (mount(veil->own, veil->hidden[i], NULL, MS_BIND, NULL))
            return false;
    }
    // From here on the library's folder is not where it was.
    if (veil->among && mount(veil->own, veil->among, NULL, MS_BIND, NULL))
        return false;
    if (!own_proc_show(&veil->folders[PROC]))
        return false;
    for (size_t i = 0; i < PROC; i++) {
        if (!own_folder_show(&veil->folders[i], written_by_all[i]))
            return false;
    }
    // The folder in which it stands is still the one that all have.
    if (veil->folders[0].path && chdir(written_by_all[0]))
        return false;
    close_proc(veil->folders[PROC].path != NULL);
    return true;
}

// ---- a control group for each process, which freezes it while it stands still
//
// A signal can continue a stopped process, but not a frozen one. Freezing follows the stop, and
// thawing precedes the signal that continues it; each takes some microseconds and waits for
// nothing. Version 1 of control groups is not used: each step takes 70 us there, and a frozen
// process cannot even be killed.

struct frozen {
    char *group; // NULL: none
    int state;   // its state file, open
};
#define FROZEN_NONE ((struct frozen){.state = -1})

// Makes the group again, because somebody who cleans up may remove a group without processes.
static int frozen_make(struct frozen *out, int *folder)
{
    static unsigned made;
    const char *freezer = getenv(FREEZER);
    *out = FROZEN_NONE;
    *folder = -1;
    for (int again = 0; freezer && *folder < 0 && again < 20; again++) {
        free(out->group);
        out->group = xprintf("%s/library-%u", freezer, made++);
        *folder = mkdir(out->group, 0700) ? -1 : open(out->group, O_PATH | O_CLOEXEC);
    }
    return *folder < 0 ? -1 : 0;
}

static bool frozen_open(struct frozen *f)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/cgroup.freeze", f->group);
    f->state = open(path, O_WRONLY | O_CLOEXEC);
    return f->state >= 0;
}

static void frozen_set(const struct frozen *f, bool still)
{
    if (f->state >= 0 && pwrite(f->state, still ? "1" : "0", 1, 0) != 1) {
        fprintf(stderr, "bench: %s: cannot be frozen or thawed: %s\n", f->group, strerror(errno));
        _exit(1);
    }
}

static void frozen_end(struct frozen *f)
{
    if (f->state >= 0)
        close(f->state);
    if (f->group)
        rmdir(f->group);
    free(f->group);
    *f = FROZEN_NONE;
}

enum { EMPTY_TURNS = 15, WAIT_MS = 50, SIGNAL_CODES = 128, SETTLE_LOOKS = 200 };

// A process that stands still does not work. Its last thread reports that it stopped a moment
// before it leaves its processor, and on a busy machine it may leave much later. Then 10 to 100 us
// of the system's own work are counted after the stop. The library does not run in that time,
// because it would first have to be continued, which waitid() reports.
// More is counted now and then of a library that nobody continued: 1.5 and 2.0 ms were seen, in one
// opening of 25 at a load of 20 on the two processors of a virtual machine. What that time was is
// not known; the machine's own host may have taken the processor away.
static const double still_ns = 5e3, much_ns = 1e8;

// A signal stops no thread within a call of the system. So a library that says that its turn is
// over could have the system copy or clear the rest of its output in one long call. What the
// process works between that word and its stop is therefore part of the turn, where it is more than
// what threads need that spin for a moment when they have nothing to do.
static const double spin_ns = 2e4;

struct arm_process {
    pid_t pid;
    struct arm_page *page;
    cpu_set_t alone, all; // processors of single-threaded libraries, and of the others
    struct frozen frozen;
    char *folders[FOLDERS_MOST]; // of its own
    uint32_t turn;
    bool stopped, single;
    double baton_ns[2]; // time of an empty turn: with threads anywhere, and on one processor
    struct turn_clock clock;
    double rested_ns; // the processor time that it had used when it was stopped
    double late_ns;   // how long it worked between the end of its turn and that stop
    struct arm_rest rest;
};

// Ends bench in the same way as the process ended, so that bench's parent sees a kernel's crash as
// one.
_Noreturn static void end_alike(int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : code - SIGNAL_CODES;
    fflush(NULL);
    if (number > 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
    // The exit code must not say that the device was lost, because that was not the reason.
    _exit(code == 0 || code == EXIT_NO_DEVICE ? 1 : code);
}

// A SIGCONT that arrives meanwhile cancels SIGSTOP, so SIGSTOP is repeated until the process stops.
static int await_stop(struct arm_process *p)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int status;
    kill(p->pid, SIGSTOP);
    for (int look = 0;; look++) {
        const pid_t heard = waitpid(p->pid, &status, WUNTRACED | WNOHANG);
        if (heard > 0)
            return status;
        if (heard < 0 && errno != EINTR)
            _exit(1); // somebody else has collected its exit status
        if (look < SETTLE_LOOKS) {
            sched_yield();
        } else {
            nanosleep(&pause, NULL);
            kill(p->pid, SIGSTOP);
        }
    }
}

static void stop(struct arm_process *p)
{
    const double begun_ns = host_now_ns(), worked_ns = turn_worked_ns(&p->clock);
    const int status = await_stop(p);
    if (!WIFSTOPPED(status))
        end_alike(status);
    p->late_ns = fmin(turn_worked_ns(&p->clock) - worked_ns, host_now_ns() - begun_ns);
    p->stopped = true;
    frozen_set(&p->frozen, true);
    p->rested_ns = turn_worked_ns(&p->clock);
    for (int look = 0; look < SETTLE_LOOKS; look++) {
        const double now_ns = turn_worked_ns(&p->clock);
        if (now_ns == p->rested_ns)
            break;
        p->rested_ns = now_ns;
    }
}

// Whether the process was continued since it was reported as stopped, or has stopped once more.
static bool was_continued(const struct arm_process *p)
{
    siginfo_t heard = {0};
    return waitid(P_PID, (id_t)p->pid, &heard, WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0 &&
           heard.si_pid == p->pid;
}

static void look_whether_still(struct arm_process *p)
{
    const double worked_ns = p->stopped ? turn_worked_ns(&p->clock) - p->rested_ns : 0;
    if (!(worked_ns > (was_continued(p) ? still_ns : much_ns)))
        return;
    p->rested_ns += worked_ns;
    p->rest.strays++;
    p->rest.longest_ns = fmax(p->rest.longest_ns, worked_ns);
}

// Makes one turn and returns its time.
static double pass_baton(struct arm_process *p, enum arm_request request)
{
    struct arm_page *page = p->page;
    int status;
    look_whether_still(p);
    p->rest.turns++;
    page->request = request;
    atomic_store(&page->turn, ++p->turn);
    const double begun_ns = host_now_ns();
    if (p->stopped) {
        frozen_set(&p->frozen, false);
        kill(p->pid, SIGCONT);
    }
    futex_wake(&page->turn); // it may have been woken before, and then it waits for its turn
    p->stopped = false;
    for (uint32_t done; (done = atomic_load(&page->done)) != p->turn;) {
        if (futex_wait(&page->done, done, WAIT_MS) && waitpid(p->pid, &status, WNOHANG) > 0)
            end_alike(status);
    }
    const double took_ns = host_now_ns() - begun_ns;
    stop(p);
    return took_ns;
}

static struct turn_mark mark_turn(const struct arm_process *p)
{
    return p->single ? turn_mark_now(&p->clock) : (struct turn_mark){0};
}

// The time of an empty turn, without waits for a processor, because turns are also taken without
// them.
static double empty_turn_ns(struct arm_process *p)
{
    double turns[EMPTY_TURNS];
    for (int i = 0; i < EMPTY_TURNS; i++) {
        const struct turn_mark begin = mark_turn(p);
        const double took_ns = pass_baton(p, ARM_NOTHING);
        const struct turn_mark end = mark_turn(p);
        turns[i] = turn_time_ns(took_ns, 0, 0, &begin, &end);
    }
    return robust_median(turns, EMPTY_TURNS);
}

static void run_on(struct arm_process *p, bool single)
{
    const cpu_set_t *cpus = single ? &p->alone : &p->all;
    p->single = single;
    sched_setaffinity(p->pid, sizeof(*cpus), cpus); // if it is refused, the scheduler decides
}

// Measures while bench runs where it will run when a sample is taken.
static void time_empty_turns(struct arm_process *p)
{
    pass_baton(p, ARM_NOTHING); // the first turn maps and starts things, and does not count
    p->baton_ns[0] = empty_turn_ns(p);
    run_on(p, true);
    sched_setaffinity(0, sizeof(p->alone), &p->alone);
    p->baton_ns[1] = empty_turn_ns(p);
    sched_setaffinity(0, sizeof(p->all), &p->all);
    run_on(p, false);
}

// Runs in the child between fork and exec: system calls only. apart: it has namespaces of its own;
// without them, others would see what it mounts.
_Noreturn static void become_worker(struct arm_page *page, const int segments[3],
                                    const struct veil *veil, bool apart)
{
    char words[3][16];
    char *argv[] = {(char[]){"bench"}, (char[]){"keep"}, words[0], words[1], words[2], NULL};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        _exit(1);
    if (apart && !veil_draw(veil)) {
        page->bare = true;
        page->why_bare = errno;
    }
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        _exit(1);
    if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC))
        _exit(1);
    for (int i = 0; i < 3; i++)
        snprintf(words[i], sizeof(words[i]), "%d", segments[i]);
    execve("/proc/self/exe", argv, environ);
    _exit(1);
}

// Forks into namespaces of its own, and into a control group of its own if possible.
static long start_apart(struct frozen *frozen)
{
    enum { APART = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS };
    static bool told;
    int folder = -1;
    long pid = -1;
    if (frozen_make(frozen, &folder) == 0) {
        const struct clone_args args = {
            .flags = APART | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)folder};
        pid = syscall(SYS_clone3, &args, sizeof(args));
        close(folder);
        if (pid > 0 && frozen_open(frozen))
            return pid;
    }
    if (pid != 0 && getenv(FREEZER) && !told) {
        fprintf(stderr, "bench: no process of a library can be frozen: %s\n", strerror(errno));
        told = true;
    }
    return pid >= 0 ? pid : syscall(SYS_clone, SIGCHLD | APART, NULL, NULL, NULL, NULL);
}

static int start_process(struct arm_process *p, const int segments[3], const char *library,
                         struct error *err)
{
    struct veil veil;
    fflush(NULL);
    if (veil_make(&veil, library, err)) {
        veil_free(&veil);
        return -1;
    }
    long pid = start_apart(&p->frozen);
    const bool apart = pid >= 0;
    if (!apart) { // containers may forbid namespaces
        p->page->bare = true;
        p->page->why_bare = errno;
        pid = fork();
    }
    if (pid == 0)
        become_worker(p->page, segments, &veil, apart);
    const bool fits =
        text_copy(p->page->veiled, sizeof(p->page->veiled), veil.path ? veil.path : "");
    for (size_t i = 0; i < FOLDERS_MOST; i++) {
        p->folders[i] = veil.folders[i].path;
        veil.folders[i].path = NULL;
    }
    veil_free(&veil);
    if (pid < 0 || !fits)
        return error_set(err, "host: no process for a library: %s", strerror(errno));
    p->pid = (pid_t)pid;
    if (turn_clock_open(&p->clock, p->pid))
        return error_set(err, "host: the system does not say how long a library's process works");
    return 0;
}

// Makes the segment of the page; -1: there is none.
static int make_page(struct arm_process *p, struct error *err)
{
    const int segment = shmget(IPC_PRIVATE, sizeof(*p->page), IPC_CREAT | 0600);
    void *map = segment < 0 ? (void *)-1 : shmat(segment, NULL, 0);
    if (map == (void *)-1) {
        error_set(err, "host: no shared page for a library: %s", strerror(errno));
        if (segment >= 0)
            shmctl(segment, IPC_RMID, NULL);
        return -1;
    }
    shmctl(segment, IPC_RMID, NULL); // the system removes it with the last process that uses it
    p->page = map;
    return segment;
}

// Why some library of this process is bare (arm_page.h); 0: none is.
static int bare;

const char *arm_bare(void)
{
    static char text[256];
    if (bare)
        snprintf(text, sizeof(text),
                 "libraries have no namespaces of their own here (%s): they may see other builds%s",
                 strerror(bare),
                 getenv(FOLDERS) ? ", and may change no file" : ", and each other's files");
    return bare ? text : NULL;
}

// Whether the process, which has had its first turn and has loaded nothing yet, may be used.
static int check_bare(const struct arm_process *p, struct error *err)
{
    const char *folders = getenv(FOLDERS);
    if (!p->page->bare)
        return 0;
    bare = p->page->why_bare ? p->page->why_bare : EPERM;
    if (!folders || strcmp(folders, "required") != 0)
        return 0;
    return error_set(
        err,
        "host: within the sandbox a library can have no namespaces of its own (%s), so "
        "it could see the other build and its files; allow namespaces within "
        "namespaces, or, where the code is your own, say --sandbox=auto",
        strerror(bare));
}

// Copies the text that the process wrote, up to its end, as one line.
static void take_text(char out[ARM_TEXT], const struct arm_page *page)
{
    memcpy(out, page->text, ARM_TEXT);
    out[ARM_TEXT - 1] = '\0';
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = ' ';
    }
}

static int ask_to_load(struct arm_process *p, struct arm_loaded *loaded,
                       const struct arm_wanted *wanted, struct error *err)
{
    struct arm_page *page = p->page;
    if (!text_copy(page->path, sizeof(page->path), wanted->path) ||
        !text_copy(page->kernel, sizeof(page->kernel), wanted->kernel) ||
        !text_copy(page->kind, sizeof(page->kind), wanted->kind))
        return error_set(err, "%.100s...: the path or name is too long", wanted->path);
    page->form = *wanted->form;
    pass_baton(p, ARM_LOAD);
    const uint32_t finding = page->finding;
    *loaded = (struct arm_loaded){.finding = finding < ARM_FINDINGS ? finding : ARM_NO_LIBRARY,
                                  .threads = page->threads,
                                  .workspace_bytes = page->workspace_bytes,
                                  .stated = page->stated};
    take_text(loaded->text, page);
    run_on(p, loaded->threads <= 1);
    return 0;
}

static void arm_process_end(struct arm_process *process);

// Starts the process and lets it load the library. -1: no process could be started.
static int arm_process_start(struct arm_process **out, struct arm_loaded *loaded,
                             const struct host_memory *memory, const struct arm_wanted *wanted,
                             struct error *err)
{
    struct arm_process *p = xcalloc(1, sizeof(*p));
    p->frozen = FROZEN_NONE;
    int segments[3] = {-1, host_memory_segment(memory, HOST_INPUTS),
                       host_memory_segment(memory, HOST_OUTPUTS)};
    int status = -1;
    segments[0] = make_page(p, err);
    if (segments[0] < 0)
        goto done;
    host_processors(&p->alone, &p->all);
    status = start_process(p, segments, wanted->path, err);
    if (status)
        goto done;
    time_empty_turns(p);
    status = check_bare(p, err);
    if (status == 0)
        status = ask_to_load(p, loaded, wanted, err);
done:
    if (status) {
        arm_process_end(p);
        return -1;
    }
    *out = p;
    return 0;
}

// NULL is allowed.
static void arm_process_end(struct arm_process *p)
{
    if (!p)
        return;
    if (p->pid > 0) {
        turn_clock_close(&p->clock);
        kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    frozen_end(&p->frozen);
    for (size_t i = 0; i < FOLDERS_MOST; i++) {
        remove_folder(p->folders[i]);
        free(p->folders[i]);
    }
    if (p->page)
        shmdt(p->page);
    free(p);
}

// Reads a value of /proc/PID/status in bytes; 0: it is not there.
static double status_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? 1024 * strtod(at + strlen(name), NULL) : 0;
}

// The most memory that the process had of its own, without memory shared with bench; 0: not known.
static double arm_process_memory_bytes(const struct arm_process *p)
{
    char path[40], text[4096];
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)p->pid);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return fmax(status_bytes(text, "\nVmHWM:") - status_bytes(text, "\nRssShmem:"), 0);
}

// Calls reference() for the inputs of args, with memory that the process can write to; returns its
// code.
static int arm_process_reference(struct arm_process *p, const struct plumb_form_args *args,
                                 double *output)
{
    struct arm_page *page = p->page;
    const struct plumb_form_args kept = page->args[0];
    page->args[0] = *args;
    page->reference = output;
    pass_baton(p, ARM_REFERENCE);
    page->args[0] = kept;
    return page->code;
}

// Calls prepare() with args[0]; returns its code and sets `note`.
static int arm_process_prepare(struct arm_process *p, const struct plumb_form_args *args,
                               const char *pin, char note[ARM_TEXT])
{
    struct arm_page *page = p->page;
    page->args[0] = *args;
    page->has_pin = pin != NULL;
    text_copy(page->pin, sizeof(page->pin), pin ? pin : "");
    pass_baton(p, ARM_PREPARE);
    take_text(note, page);
    return page->code;
}

// Sets the buffer sets of later launches, at most ARM_SETS.
static void arm_process_sets(struct arm_process *p, const struct plumb_form_args *args,
                             uint32_t sets)
{
    memcpy(p->page->args, args, (sets < ARM_SETS ? sets : ARM_SETS) * sizeof(*args));
}

// Makes `launches` launches, the first on set `first`. Returns the code of the first that failed,
// or 0. *time_ns (may be NULL) is their time without that of an empty turn.
static int arm_process_launch(struct arm_process *p, uint32_t first, uint32_t sets,
                              uint32_t launches, double *time_ns)
{
    struct arm_page *page = p->page;
    page->first = first;
    page->sets = sets;
    page->launches = launches;
    if (!time_ns) {
        pass_baton(p, ARM_LAUNCH);
        return page->code;
    }
    const struct turn_mark begin = mark_turn(p);
    const double took_ns = pass_baton(p, ARM_LAUNCH);
    const struct turn_mark end = mark_turn(p);
    *time_ns = turn_time_ns(took_ns, p->baton_ns[p->single], launches, &begin, &end) +
               (p->late_ns > spin_ns ? p->late_ns : 0);
    return page->code;
}

static struct arm_rest arm_process_rest(struct arm_process *p)
{
    look_whether_still(p);
    return p->rest;
}

// The median time of an empty turn in ns.
static double arm_process_baton_ns(const struct arm_process *p)
{
    return p->baton_ns[p->single];
}

// ==== one side of a series ====

struct arm_record {
    struct arena arena;
    char *bytes; // the bytes of the file, from which images are borrowed
    struct record record;
    struct instances instances; // empty before arm_prepare()
};

int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->note, sizeof(state->note), format, list);
    va_end(list);
    state->role = role;
    state->state = why;
    return 1;
}

// ---- records ----

static const char first_word[] = "record\t";
static const long record_max = 1L << 30;

static bool is_record(const char *path)
{
    char word[sizeof(first_word)] = "";
    FILE *file = fopen(path, "re");
    const bool is = file && fread(word, 1, sizeof(word) - 1, file) == sizeof(word) - 1 &&
                    strcmp(word, first_word) == 0;
    if (file)
        fclose(file);
    return is;
}

static int read_record(struct arm_record *out, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    long size = -1;
    int status = -1;
    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        error_set(err, "%s: %s", path, strerror(errno));
    } else if (size > record_max) {
        error_set(err, "%s: a record of more than 1 GiB", path);
    } else {
        struct error why;
        out->bytes = xcalloc((size_t)size + 1, 1);
        if (fread(out->bytes, 1, (size_t)size, file) != (size_t)size)
            error_set(err, "%s: it became shorter while it was read", path);
        else if (record_parse(&out->record, out->bytes, (size_t)size, &out->arena, &why))
            error_set(err, "%s: %.900s", path, why.text);
        else
            status = 0;
    }
    if (file)
        fclose(file);
    return status;
}

static const char *kernel_name(const struct series_spec *spec, enum sample_role role)
{
    return role == ROLE_BASE && spec->base_kernel ? spec->base_kernel : spec->kernel;
}

static int load_record(struct arm *arm, enum sample_role role, const char *path,
                       const struct series_spec *spec, struct series_state *state)
{
    struct error why;
    if (!arm->ops->replay_open)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "a record, and the device %s replays none", arm->ops->kind);
    arm->record = xcalloc(1, sizeof(*arm->record));
    if (read_record(arm->record, path, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    const struct record *record = &arm->record->record;
    if (strcmp(record->kernel, kernel_name(spec, role)) != 0)
        return series_refuse(state, role, MEASURED_MISSING, "a record of the kernel %s",
                             record->kernel);
    // A record is the same in every regime.
    const struct problem problem = problem_in(&record->problem, spec->problem.regime);
    if (!problem_equal(&problem, &spec->problem))
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a record of another problem");
    text_copy(arm->note, sizeof(arm->note), record->note);
    return 0;
}

const struct record *arm_record(const struct arm *arm)
{
    return &arm->record->record;
}

static int open_instances(struct arm *arm, struct error *err)
{
    struct arm_record *r = arm->record;
    const uint32_t sets =
        arm->elsewhere.of ? arm->elsewhere.sets(arm->elsewhere.of) : arm->buffers->sets;
    struct record_places *where = xcalloc(sets, sizeof(*where));
    // There are more buffer sets than before, so all instances are bound again.
    instances_close(&r->instances);
    for (uint32_t set = 0; set < sets; set++)
        where[set] = arm->elsewhere.of ? arm->elsewhere.places(arm->elsewhere.of, set)
                                       : buffers_places(arm->buffers, set);
    return instances_open(&r->instances, arm->ops, arm->device, &r->record, where, sets, err);
}

struct instances *arm_instances(struct arm *arm)
{
    return arm->record ? &arm->record->instances : NULL;
}

// ---- libraries in processes of their own ----

// Reports what the process found, in the same words as for a library in this process.
static int refuse_loaded(const struct arm_loaded *loaded, enum sample_role role, const char *kind,
                         struct series_state *state)
{
    switch (loaded->finding) {
    case ARM_NO_LIBRARY:
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", loaded->text);
    case ARM_NO_KERNEL:
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    case ARM_OTHER_KIND:
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             loaded->text, kind);
    case ARM_NOT_STATED:
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "buffers() states none for this problem");
    case ARM_NOT_DONE:
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    default:
        return 0;
    }
}

static int load_process(struct arm *arm, enum sample_role role, const char *path,
                        const struct series_spec *spec, struct series_state *state,
                        struct error *err)
{
    const struct plumb_form form = check_abi_form(&spec->problem);
    const struct arm_wanted wanted = {path, kernel_name(spec, role), arm->ops->kind, &form};
    struct arm_loaded loaded;
    if (arm_process_start(&arm->process, &loaded, arm->ops->memory(arm->device), &wanted, err)) {
        arm->device->unable = true;
        return -1;
    }
    arm->workspace_bytes = loaded.workspace_bytes;
    arm->kernel.kernel.traits.threads = loaded.threads;
    arm->states = form.number_count > 0;
    arm->stated = loaded.stated;
    return refuse_loaded(&loaded, role, arm->ops->kind, state);
}

static int run_process(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                       double *time_ns)
{
    const struct arm *arm = self;
    return arm_process_launch(arm->process, first, sets, launches, time_ns);
}

int (*arm_run(const struct arm *arm))(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                                      double *time_ns)
{
    return arm->process ? run_process : NULL;
}

uint32_t arm_kernels(const struct arm *arm)
{
    return arm->record ? (uint32_t)arm->record->record.launch_count : 1;
}

struct arm_rest arm_rest(const struct arm *arm)
{
    return arm->process ? arm_process_rest(arm->process) : (struct arm_rest){0};
}

double arm_baton_ns(const struct arm *arm)
{
    return arm->process ? arm_process_baton_ns(arm->process) : 0;
}

// ---- libraries and records ----

static int load_library(struct arm *arm, enum sample_role role, const char *path, bool copy,
                        const struct series_spec *spec, struct series_state *state)
{
    const char *kind = arm->ops->kind;
    struct error why;
    if (module_load(&arm->module, path, copy, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    if (!module_find(&arm->kernel, &arm->module, kernel_name(spec, role)))
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    if (strcmp(arm->module.library->device, kind) != 0)
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             arm->module.library->device, kind);
    const struct plumb_form form = check_abi_form(&spec->problem);
    if (!call_supports(&arm->kernel, &form))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    arm->states = form.number_count > 0;
    if (arm->states && arm->kernel.buffers(&arm->stated, &form))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "buffers() states none for this problem");
    return 0;
}

int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const struct device_ops *ops, struct device_base *device, struct series_state *state,
             struct error *err)
{
    const char *path = role == ROLE_BASE ? spec->base : spec->head;
    arm->used = true;
    arm->path = path;
    arm->ops = ops;
    arm->device = device;
    arm->copied = copy;
    if (is_record(path))
        return load_record(arm, role, path, spec, state);
    return ops->memory && !spec->inside ? load_process(arm, role, path, spec, state, err)
                                        : load_library(arm, role, path, copy, spec, state);
}

void arm_release(struct arm *arm)
{
    struct arm_record *r = arm->record;
    if (r) {
        instances_close(&r->instances);
        arena_free(&r->arena);
        free(r->bytes);
        free(r);
    }
    arm_process_end(arm->process);
    module_release(&arm->module);
    *arm = ARM_NONE;
}

size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_form *form)
{
    if (arm->record)
        return arm->record->record.workspace_bytes;
    if (arm->process)
        return arm->workspace_bytes;
    return arm->used ? call_workspace(&arm->kernel, form) : 0;
}

double arm_memory_bytes(const struct arm *arm, const struct plumb_form *form)
{
    const double own = arm->process ? arm_process_memory_bytes(arm->process) : 0;
    return own + (double)arm_workspace_bytes(arm, form);
}

// Forks a process that ends with this one and runs on the processors of bench's parent, not on
// those reserved for bench.
static pid_t fork_beside(void)
{
    cpu_set_t others;
    const bool known = sched_getaffinity(getppid(), sizeof(others), &others) == 0;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
        _exit(1);
    if (pid == 0 && known)
        sched_setaffinity(0, sizeof(others), &others);
    return pid;
}

// Calls the reference of a library in this process, which reads its inputs on the host.
static int reference_inside(double *out, const struct arm *arm, const struct buffers *b,
                            uint32_t set, pid_t *apart, struct error *err)
{
    const struct parts *parts = &b->parts;
    void *copies[PARTS_MOST] = {0};
    int status = 0;
    for (int i = 0; i < parts->input_count && status == 0; i++) {
        copies[i] = xcalloc(parts->inputs[i].bytes, 1);
        status =
            arm->ops->read(arm->device, copies[i], b->inputs[i][set], parts->inputs[i].bytes, err);
    }
    if (apart)
        *apart = status ? -1 : fork_beside();
    const bool says = status == 0 && (!apart || *apart == 0);
    const int code =
        says ? arm->kernel.reference(&b->args[set].form, (const void *const *)copies, out) : 0;
    for (int i = 0; i < PARTS_MOST; i++)
        free(copies[i]);
    return code ? error_set(err, "reference() returned %d", code) : status;
}

// Calls the reference of a library in another process, which writes to shared memory.
static int reference_outside(double *out, const struct arm *arm, const struct buffers *b,
                             uint32_t set, struct error *err)
{
    const size_t bytes = b->parts.output.count * sizeof(*out);
    void *shared;
    if (arm->ops->alloc(&shared, arm->device, bytes, err))
        return -1;
    const int code = arm_process_reference(arm->process, &b->args[set], shared);
    const int status = code ? error_set(err, "reference() returned %d", code)
                            : arm->ops->read(arm->device, out, shared, bytes, err);
    arm->ops->free(arm->device, shared);
    return status;
}

int arm_reference(double *out, struct arm *arm, const struct buffers *buffers, uint32_t set,
                  pid_t *apart, struct error *err)
{
    if (!arm->process)
        return reference_inside(out, arm, buffers, set, apart, err);
    if (apart)
        *apart = -1;
    return apart ? 0 : reference_outside(out, arm, buffers, set, err);
}

static int ask_to_prepare(struct arm *arm, const char *pin)
{
    const struct buffers *buffers = arm->buffers;
    char note[ARM_TEXT];
    if (!arm->process)
        return call_prepare(&arm->kernel, buffers->args, arm->ops->stream(arm->device), pin,
                            arm->note, sizeof(arm->note));
    arm_process_sets(arm->process, buffers->args, buffers->sets);
    const int code = arm_process_prepare(arm->process, buffers->args, pin, note);
    text_copy(arm->note, sizeof(arm->note), note);
    return code;
}

int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct buffers *buffers, struct series_state *state, struct error *err)
{
    arm->buffers = buffers;
    if (arm->record) {
        struct error why;
        if (pin && strcmp(pin, arm->note) != 0)
            return series_refuse(state, role, MEASURED_UNSUPPORTED, "the record is not of '%.400s'",
                                 pin);
        if (open_instances(arm, &why) == 0)
            return 0;
        if (arm->device->loss != DEVICE_OK)
            return error_set(err, "%.1000s", why.text);
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "%.500s", why.text);
    }
    if (!arm->used)
        return 0;
    const int code = ask_to_prepare(arm, pin);
    arm->note[ARM_NOTE - 1] = '\0';
    if (arm->ops->sync(arm->device, err))
        return -1;
    if (code && pin)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "prepare() cannot reproduce '%.400s'", pin);
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "prepare() returned %d", code);
    return 0;
}

int arm_grow(struct arm *arm, struct error *err)
{
    if (arm->process)
        arm_process_sets(arm->process, arm->buffers->args, arm->buffers->sets);
    return arm->record ? open_instances(arm, err) : 0;
}

int arm_launch_one(struct arm *arm, uint32_t set, size_t launch)
{
    return instances_launch_one(&arm->record->instances, set, launch);
}

int arm_launch(void *self, uint32_t set, void *stream)
{
    const struct arm *arm = self;
    if (arm->record)
        return instances_launch(&arm->record->instances, set);
    if (arm->process)
        return arm_process_launch(arm->process, set, arm->buffers->sets, 1, NULL);
    return call_launch(&arm->kernel, &arm->buffers->args[set], stream);
}
