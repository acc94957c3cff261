// SPDX-License-Identifier: Apache-2.0
//
// bench's end: starts the process, passes the baton, and stops the process when it comes back. The
// stopwatch begins before the process may run and ends when it says that it is done, so that all it
// does is in its time; what a turn takes by itself, measured before the library is loaded, is
// subtracted, and so is what a library of one thread waited for its processor (turn_clock.h).
#include "kernels/bench/arm_process.h"

#include "kernels/bench/arm_page.h"
#include "kernels/bench/futex.h"
#include "kernels/bench/turn_clock.h"
#include "kernels/device/host.h"
#include "kernels/device/host_memory.h"
#include "model/base.h"
#include "model/robust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
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

// The folders of all builds, one a line, as bench's parent says in its environment; FOLDER/*: each
// folder in it is one.
#define VEIL_BUILDS "PLUMB_BUILDS"

// The folder of a control group of version 2 that is bench's own, if its parent gave it one.
#define FREEZER "PLUMB_FREEZER"

struct veil {
    char *text;          // owns the strings below
    char *own;           // the library's folder
    const char **hidden; // folders of builds that it does not lie in, and that of references
    size_t count;
    const char
        *among; // the folder in which its own lies beside others', hidden like those; or NULL
    char *path; // of the library then
    const char *freezer; // or NULL
};

// ---- what a library does not see ----

// A folder is hidden by binding another one over it, which needs no file system of its own; what
// filters a library's system calls (arm_worker.c) keeps it from taking that away.

static bool lies_in(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

// Among the folders in `all`, one is the library's: all are hidden, and it is seen in their place.
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

static void veil_make(struct veil *out, const char *library)
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
}

static void veil_free(struct veil *veil)
{
    free(veil->path);
    free(veil->hidden);
    free(veil->own);
    free(veil->text);
}

// In a process that has a mount namespace of its own: in place of each hidden folder lies the
// library's. Nothing but system calls. False where one could not be hidden.
static bool veil_draw(const struct veil *veil)
{
    if ((veil->count || veil->among || veil->freezer) &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return false;
    for (size_t i = 0; i < veil->count; i++) {
        if (mount(veil->own, veil->hidden[i], NULL, MS_BIND, NULL))
            return false;
    }
    if (veil->among && mount(veil->own, veil->among, NULL, MS_BIND, NULL))
        return false;
    return !veil->freezer || mount(veil->own, veil->freezer, NULL, MS_BIND, NULL) == 0;
}

// ---- a control group for each process, which freezes it while it stands still
//
// A stop ends by a signal, and a freeze does not. It comes after the stop and goes before the
// signal that ends that, some microseconds each, so it waits for nobody. Version 1 of control
// groups is not used: there either takes 70 us, and what is frozen cannot even be killed.

struct frozen {
    char *group; // NULL: none
    int state;   // of it, open
};
#define FROZEN_NONE ((struct frozen){.state = -1})

// Whoever tidies may take a group away while nobody is in it, so it is made again.
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

// A process that stands still does not work. The last of its threads says that it stopped a moment
// before it has left its processor, and on a busy machine it may leave much later: some 10 to 100
// us of the system's own work are then booked after the stop. Nothing of the library runs in them,
// for whoever runs again is first continued, which waitid() tells.
static const double still_ns = 5e3, much_ns = 1e6;

struct arm_process {
    pid_t pid;
    struct arm_page *page;
    cpu_set_t alone, all; // where a library of one thread runs, and where others do
    struct frozen frozen;
    uint32_t turn;
    bool stopped, single;
    double baton_ns[2]; // of an empty turn: threads where they like, and on one processor
    struct turn_clock clock;
    double rested_ns; // what it had worked when it was stopped
    struct arm_rest rest;
};

// Its end is ours, so that our parent sees a kernel's crash as one.
_Noreturn static void end_alike(int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : code - SIGNAL_CODES;
    fflush(NULL);
    if (number > 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
    // Whatever it ended with, it was not the device that is gone.
    _exit(code == 0 || code == EXIT_NO_DEVICE ? 1 : code);
}

// A SIGCONT that comes meanwhile takes SIGSTOP away, so it is sent again until it has been heeded.
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
            _exit(1); // somebody else has taken its end
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
    const int status = await_stop(p);
    if (!WIFSTOPPED(status))
        end_alike(status);
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

// Since we heard that it stopped: it was continued, or has stopped once more.
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

// One turn; what it took.
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
    futex_wake(&page->turn); // it may have been woken before, and waits for its turn
    p->stopped = false;
    for (uint32_t done; (done = atomic_load(&page->done)) != p->turn;) {
        if (futex_wait(&page->done, done, WAIT_MS) && waitpid(p->pid, &status, WNOHANG) > 0)
            end_alike(status);
    }
    const double took_ns = host_now_ns() - begun_ns;
    stop(p);
    return took_ns;
}

static double empty_turn_ns(struct arm_process *p)
{
    double turns[EMPTY_TURNS];
    for (int i = 0; i < EMPTY_TURNS; i++)
        turns[i] = pass_baton(p, ARM_NOTHING);
    return robust_median(turns, EMPTY_TURNS);
}

static void run_on(struct arm_process *p, bool single)
{
    const cpu_set_t *cpus = single ? &p->alone : &p->all;
    p->single = single;
    sched_setaffinity(p->pid, sizeof(*cpus), cpus); // where it is refused, the scheduler decides
}

// While bench itself is where it is when a sample is taken.
static void time_empty_turns(struct arm_process *p)
{
    pass_baton(p, ARM_NOTHING); // maps and starts
    p->baton_ns[0] = empty_turn_ns(p);
    run_on(p, true);
    sched_setaffinity(0, sizeof(p->alone), &p->alone);
    p->baton_ns[1] = empty_turn_ns(p);
    sched_setaffinity(0, sizeof(p->all), &p->all);
    run_on(p, false);
}

// In the child, between its birth and exec: nothing but system calls.
_Noreturn static void become_worker(const int segments[3], const struct veil *veil)
{
    static const char seen[] = "bench: a library's process may see other builds, or its group\n";
    char words[3][16];
    char *argv[] = {(char[]){"bench"}, (char[]){"keep"}, words[0], words[1], words[2], NULL};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        _exit(1);
    if (!veil_draw(veil) && write(STDERR_FILENO, seen, sizeof(seen) - 1) < 0)
        _exit(1);
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

// fork(), into namespaces of its own, and into a group of its own where there can be one.
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
    static bool told;
    veil_make(&veil, library);
    long pid = start_apart(&p->frozen);
    if (pid < 0) { // containers may forbid namespaces
        if (!told)
            fprintf(stderr, "bench: processes of libraries have no namespaces of their own: %s\n",
                    strerror(errno));
        told = true;
        pid = fork();
    }
    if (pid == 0)
        become_worker(segments, &veil);
    const bool fits =
        text_copy(p->page->veiled, sizeof(p->page->veiled), veil.path ? veil.path : "");
    veil_free(&veil);
    if (pid < 0 || !fits)
        return error_set(err, "host: no process for a library: %s", strerror(errno));
    p->pid = (pid_t)pid;
    if (turn_clock_open(&p->clock, p->pid))
        return error_set(err, "host: the system does not say how long a library's process works");
    return 0;
}

// The page's segment; -1: there is none.
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
    shmctl(segment, IPC_RMID, NULL); // it goes with the last process that has it
    p->page = map;
    return segment;
}

// The text that the process wrote, cut at its end, as one line.
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

int arm_process_start(struct arm_process **out, struct arm_loaded *loaded,
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
    status = ask_to_load(p, loaded, wanted, err);
done:
    if (status) {
        arm_process_end(p);
        return -1;
    }
    *out = p;
    return 0;
}

void arm_process_end(struct arm_process *p)
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
    if (p->page)
        shmdt(p->page);
    free(p);
}

// Of /proc/PID/status, in bytes; 0: it is not there.
static double status_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? 1024 * strtod(at + strlen(name), NULL) : 0;
}

double arm_process_memory_bytes(const struct arm_process *p)
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

int arm_process_reference(struct arm_process *p, const struct plumb_form_args *args, double *output)
{
    struct arm_page *page = p->page;
    const struct plumb_form_args kept = page->args[0];
    page->args[0] = *args;
    page->reference = output;
    pass_baton(p, ARM_REFERENCE);
    page->args[0] = kept;
    return page->code;
}

int arm_process_prepare(struct arm_process *p, const struct plumb_form_args *args, const char *pin,
                        char note[ARM_TEXT])
{
    struct arm_page *page = p->page;
    page->args[0] = *args;
    page->has_pin = pin != NULL;
    text_copy(page->pin, sizeof(page->pin), pin ? pin : "");
    pass_baton(p, ARM_PREPARE);
    take_text(note, page);
    return page->code;
}

void arm_process_sets(struct arm_process *p, const struct plumb_form_args *args, uint32_t sets)
{
    memcpy(p->page->args, args, (sets < ARM_SETS ? sets : ARM_SETS) * sizeof(*args));
}

int arm_process_launch(struct arm_process *p, uint32_t first, uint32_t sets, uint32_t launches,
                       double *time_ns)
{
    struct arm_page *page = p->page;
    page->first = first;
    page->sets = sets;
    page->launches = launches;
    if (!time_ns) {
        pass_baton(p, ARM_LAUNCH);
        return page->code;
    }
    const struct turn_mark begin = p->single ? turn_mark_now(&p->clock) : (struct turn_mark){0};
    const double took_ns = pass_baton(p, ARM_LAUNCH);
    const struct turn_mark end = p->single ? turn_mark_now(&p->clock) : (struct turn_mark){0};
    *time_ns = fmax(turn_time_ns(took_ns, p->baton_ns[p->single], &begin, &end), 1);
    return page->code;
}

struct arm_rest arm_process_rest(struct arm_process *p)
{
    look_whether_still(p);
    return p->rest;
}

double arm_process_baton_ns(const struct arm_process *p)
{
    return p->baton_ns[p->single];
}
