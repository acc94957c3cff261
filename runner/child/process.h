// SPDX-License-Identifier: Apache-2.0
//
// Child processes that cannot outstay their welcome: limits, a log of bounded size, and an end that
// takes all descendants along, also those that left their process group or session.
//
// Each child runs under a keeper, a small process of ours that adopts orphaned descendants
// (PR_SET_CHILD_SUBREAPER), kills whatever is left when the child ends, when it runs out of time,
// and when plumb itself dies, even by SIGKILL (PR_SET_PDEATHSIG). The child inherits no descriptors
// but 0, 1 and 2. How it ended comes through a pipe, so the caller's SIGCHLD handling is not
// touched and does not matter.
#ifndef PLUMB_PROCESS_H
#define PLUMB_PROCESS_H

#include "model/base.h"

#include <sched.h>

struct process_limits {
    double wall_s;         // whole life of the child; 0: none
    uint64_t memory_bytes; // per process, private writable memory (RLIMIT_DATA); 0: none
    // Address space (RLIMIT_AS); 0: none, and it must be for CUDA, which reserves far more than it
    // uses.
    uint64_t address_bytes;
    // Threads of the child and all that it starts; 0: none. The kernel holds users to it, root is
    // only watched.
    uint32_t processes;
    uint64_t file_bytes; // largest file it may write; 0: none
    // Limits that the kernel does not have. They are watched, and the child is ended when it
    // exceeds one.
    uint64_t together_bytes; // memory of all its processes that no file has; 0: none
    uint64_t disk_bytes;     // of what lies in `folders`, as blocks; 0: none
    const char *folders[4];  // up to the first NULL
    double watch_s;          // how often at most; 0: 0.25. Never a twentieth of a processor.
    // Core files are always off.
};

struct process_plan {
    const char *const *argv; // NULL-terminated; argv[0] is looked up in PATH of *this* process
    const char *const *env;  // NULL-terminated NAME=value; NULL: this process's own
    const char *directory;   // where it starts; NULL: here
    const char *log_path;    // stderr (and, for process_run, stdout) goes here; NULL: dropped
    size_t log_bytes;        // most the log may hold, 0: 1 MiB. Middle lines are dropped, counted.
    struct process_limits limits;
    // It and all that it starts keep away from processors that others measure on, also from those
    // where that begins later (processors.h). NULL: they go where the scheduler puts them.
    const struct processors_site *aside;
};

enum process_end {
    PROCESS_EXITED,    // code: exit status
    PROCESS_SIGNALLED, // code: signal number
    PROCESS_TIMED_OUT, // killed after limits.wall_s
    PROCESS_STOPPED,   // killed by process_stop()
    PROCESS_EXCEEDED   // killed for what it used; code: enum process_excess
};
enum process_excess { PROCESS_WITHIN, PROCESS_TOO_MANY, PROCESS_TOO_LARGE, PROCESS_TOO_MUCH_DISK };
struct process_result {
    enum process_end end;
    int code;
    double wall_s;
    double cpu_s;          // user + system, of the child and those it waited for
    uint64_t memory_bytes; // largest resident set among them
};
// "exit status 2", "signal 11 (Segmentation fault)", "killed after 30 s".
void process_describe(char *out, size_t size, const struct process_result *result);

// Checks the limits that the shell set for this program: false, with a line on standard error,
// where the stack is too small. `out_of_time` is called as SIGXCPU's handler just before the kernel
// would end the program for its processor time.
bool process_limits_suffice(void (*out_of_time)(int number));

// Three quarters of this machine's memory: what is left keeps the machine alive.
uint64_t process_fair_memory(void);

// Runs to the end; standard input is empty. -1 when it could not be started (not found, no
// directory, no log file).
int process_run(struct process_result *out, const struct process_plan *plan, struct error *err);

// process_run() without a log file, which a kill would leave behind: *said is the end of the
// child's output, at most log_bytes. Caller frees. plan: no log_path, and log_bytes.
int process_capture(struct process_result *out, char **said, const struct process_plan *plan,
                    struct error *err);

// Starts a child that one talks with in lines. -1 as above. Caller stops it.
struct process;
int process_start(struct process **out, const struct process_plan *plan, struct error *err);
// Writes the whole text; -1 when the child is gone or does not read within timeout_s.
int process_write(struct process *process, const char *text, double timeout_s);

enum process_line {
    PROCESS_LINE,         // one line, without its '\n'
    PROCESS_LINE_LONG,    // longer than `size` allows, or with a NUL in it: dropped whole
    PROCESS_LINE_TIMEOUT, // none within timeout_s
    PROCESS_LINE_END      // the child closed its output or ended
};
enum process_line process_read(struct process *process, char *out, size_t size, double timeout_s);
// Closes the child's input, which then reads an end; process_stop() follows.
void process_hang_up(struct process *process);
// Waits up to grace_s for the child to end by itself (after its input was closed), then kills it
// and all it started; frees. NULL is allowed, `out` may be NULL.
void process_stop(struct process_result *out, struct process *process, double grace_s);

// ==== processors for those that measure ====
//
// Each child that measures has a core to itself, whichever plumb of this machine started it, and
// children that only compute keep away from those cores.
//
// A name in the kernel tells who has a core: a socket is bound to that name and to no file. The
// socket ends with the program that holds it, however that ends, and leaves nothing behind.
// Programs in another network namespace (another container) do not see each other.

enum { PROCESSORS_TEXT = 64 };

// The place whose processors are meant. A zeroed one is this program's own, on this machine.
struct processors_site {
    const char *root;      // before /sys; NULL: ""
    const char *scope;     // of the names; NULL: the one that all share
    const cpu_set_t *ours; // NULL: those that this thread may use
};

extern const struct processors_site processors_here;

// One core; zeroed: none.
struct processors {
    cpu_set_t set;
    int held; // the socket, and 1; 0: none
};

// Takes a free core, near the device on `bus` (NULL: none) if there is one: the last one, because
// interrupts and other work like the first. At least one core is left for all others: where there
// are too few, or names cannot be had, nothing is taken and `why` says it.
bool processors_take(struct processors *out, const struct processors_site *site, const char *bus,
                     struct error *why);
void processors_give_back(struct processors *processors); // a zeroed one does nothing

// The processors' numbers as a text, "7,23"; "none" when there are none.
void processors_text(char out[PROCESSORS_TEXT], const struct processors *processors);

// The number of this machine's cores; 0: it is not known. *taken: the number of cores on which
// somebody measures now.
size_t processors_cores(size_t *taken, const struct processors_site *site);

// The processors on which nobody here measures, for work that only computes. False: somebody
// measures on each of ours, or nobody anywhere; *out then has all of ours.
bool processors_aside(cpu_set_t *out, const struct processors_site *site);

// ---- which processors of this machine are one core, and which lie near a device

// Hyperthreads of one core compute one at a time where they share, so they are given away together.
struct core {
    int number;    // of its first processor, ours or not: the same for whoever asks
    cpu_set_t set; // its processors that are ours
};

struct topology {
    struct core *items; // rising
    size_t count;
};

// `root` stands before /sys, "" for this machine's own. Where /sys does not say which processors
// share a core, each processor is a core.
void topology_read(struct topology *out, const char *root, const cpu_set_t *ours,
                   struct arena *arena);

// The processors beside a PCI device, "0000:1b:00.0". False: it is not known, *out is empty.
bool topology_near(cpu_set_t *out, const char *root, const char *bus);

// "0-3,8": as the kernel writes them. -1: it is no such list.
int topology_parse(cpu_set_t *out, const char *text);

#endif
