// SPDX-License-Identifier: Apache-2.0
//
// Runs child processes within limits, with a log of bounded size, and ends all their descendants
// with them, also those that left their process group or session.
//
// Each child runs under a keeper, a small process of ours that adopts orphaned descendants
// (PR_SET_CHILD_SUBREAPER). The keeper kills whatever is left in three cases: when the child ends,
// when it runs out of time, and when plumb itself dies, even by SIGKILL (PR_SET_PDEATHSIG). The
// child inherits no descriptors but 0, 1 and 2. A pipe reports how it ended, so the caller's
// handling of SIGCHLD does not matter and stays unchanged.
//
// Limits of time are seconds of the child's *own time*: of the wall clock without what the child
// and all that it started waited for processors that others had. So a child that works, sleeps or
// waits for a lock comes to its limit after as many seconds as on an idle machine, and a sound and
// quick child does not come to it because the machine is crowded. Where the system tells no waits
// (/proc/PID/schedstat), own time is the wall clock. PROCESS_PATIENCE times as many seconds of wall
// time are the end in any case. Limits below half a second are of the wall clock.
#ifndef PLUMB_PROCESS_H
#define PLUMB_PROCESS_H

#include "model/base.h"

#include <sched.h>

enum { PROCESS_PATIENCE = 20 };

struct process_limits {
    double time_s;         // own time of the child's whole life; 0: no limit
    uint64_t memory_bytes; // private writable memory of each process (RLIMIT_DATA); 0: no limit
    // Address space (RLIMIT_AS); 0: no limit. CUDA needs 0, because it reserves far more than it
    // uses.
    uint64_t address_bytes;
    // Threads of the child and all its descendants; 0: no limit. The kernel enforces it for users;
    // for root it is only watched.
    uint32_t processes;
    uint64_t file_bytes; // the largest file that it may write; 0: no limit
    // Limits that the kernel does not have. They are watched, and the child is ended when it
    // exceeds one.
    uint64_t together_bytes; // memory of all its processes that belongs to no file; 0: no limit
    uint64_t disk_bytes;     // disk blocks of everything in `folders`; 0: no limit
    const char *folders[4];  // ends with the first NULL
    double watch_s;          // the shortest time between two checks; 0: 0.25. Checking never takes
                             // more than a twentieth of a processor.
    // Core files are always off.
};

struct process_plan {
    const char *const *argv; // NULL-terminated; argv[0] is looked up in PATH of *this* process
    const char *const *env;  // NULL-terminated NAME=value; NULL: this process's environment
    const char *directory;   // where it starts; NULL: this process's directory
    const char *log_path;    // the file for stderr (and, with process_run(), stdout); NULL: dropped
    size_t log_bytes;        // the largest log, 0: 1 MiB. Lines in the middle are dropped and
                             // counted.
    struct process_limits limits;
    // The child and all its descendants avoid processors on which others measure, also those where
    // measuring begins later (processors.h). NULL: the scheduler decides.
    const struct processors_site *aside;
    // For process_run(): what the child prints goes to standard error as it comes, and into no log.
    // tick() is called about twenty times a second; where it returns false, the child is ended
    // (PROCESS_STOPPED). NULL: neither.
    bool (*tick)(void *context);
    void *tick_context;
};

enum process_end {
    PROCESS_EXITED,    // code: exit status
    PROCESS_SIGNALLED, // code: signal number
    PROCESS_TIMED_OUT, // killed after limits.time_s
    PROCESS_STOPPED,   // killed by process_stop()
    PROCESS_EXCEEDED   // killed because it exceeded a limit; code: enum process_excess
};
enum process_excess {
    PROCESS_WITHIN,
    PROCESS_TOO_MANY,
    PROCESS_TOO_LARGE,
    PROCESS_TOO_MUCH_DISK,
    PROCESS_HIDDEN,   // a process hides its open files, whose size is not known then
    PROCESS_UNWATCHED // /proc does not show its processes any more
};
struct process_result {
    enum process_end end;
    int code;
    double wall_s;
    bool crowded;          // PROCESS_TIMED_OUT: it still had own time, so the machine is to blame
    double cpu_s;          // user + system time of the child and the descendants that it waited for
    uint64_t memory_bytes; // the largest resident set among them
};
// Describes how it ended: "exit status 2", "signal 11 (Segmentation fault)", "killed after 30 s".
void process_describe(char *out, size_t size, const struct process_result *result);

// Checks the limits that the shell set for this program. False, with a line on standard error, if
// the stack is too small. `out_of_time` becomes the handler of SIGXCPU, which the kernel sends just
// before it ends the program for its processor time.
bool process_limits_suffice(void (*out_of_time)(int number));

// Three quarters of this machine's memory; the rest keeps the machine responsive.
uint64_t process_fair_memory(void);

// Runs a child until it ends; its standard input is empty. -1: it could not be started (not found,
// no directory, no log file).
int process_run(struct process_result *out, const struct process_plan *plan, struct error *err);

// Does the same without a log file, which a kill would leave behind. *said is the end of the
// child's output, at most log_bytes; the caller frees it. The plan must have log_bytes and no
// log_path.
int process_capture(struct process_result *out, char **said, const struct process_plan *plan,
                    struct error *err);

// Starts a child with which lines are exchanged. -1: it could not be started. The caller calls
// process_stop().
struct process;
int process_start(struct process **out, const struct process_plan *plan, struct error *err);
// Writes the whole text. -1: the child is gone, or did not read it within timeout_s of own time.
int process_write(struct process *process, const char *text, double timeout_s);

enum process_line {
    PROCESS_LINE,         // one line, without its '\n'
    PROCESS_LINE_LONG,    // a line that is longer than `size` allows or contains a NUL; it is
                          // dropped completely
    PROCESS_LINE_TIMEOUT, // no line came within timeout_s, or the allowed time is over
    PROCESS_LINE_END      // the child closed its output or ended
};
// All that is read from now on, until the next call, may take so long together.
void process_allow(struct process *process, double seconds);
// After PROCESS_LINE_TIMEOUT: the child still had own time, so the machine is to blame.
bool process_crowded(const struct process *process);
// One line. timeout_s: own time, too.
enum process_line process_read(struct process *process, char *out, size_t size, double timeout_s);
// Closes the child's input, so that it reads an end; process_stop() follows.
void process_hang_up(struct process *process);
// Waits up to grace_s until the child ends by itself (its input is closed), then kills it with all
// its descendants, and frees it. NULL is allowed; `out` may be NULL.
void process_stop(struct process_result *out, struct process *process, double grace_s);

// ==== processors for those that measure ====
//
// Each child that measures has a core to itself, whichever plumb on this machine started it, and
// children that only compute avoid those cores.
//
// Who has a core is known by a name in the kernel: a socket is bound to that name and to no file.
// When the program that holds the socket ends, for whatever reason, the socket is gone and nothing
// is left behind. Programs in different network namespaces (containers) do not see each other.

enum { PROCESSORS_TEXT = 64 };

// Which machine's processors are used. A zeroed one means those of this program on this machine.
struct processors_site {
    const char *root;      // put before /sys; NULL: ""
    const char *scope;     // a scope for the names; NULL: the one that all programs share
    const cpu_set_t *ours; // NULL: the processors that this thread may use
};

extern const struct processors_site processors_here;

// A core that was taken; zeroed: none.
struct processors {
    cpu_set_t set;
    int held; // the socket's descriptor plus 1; 0: none
};

// Takes a free core, if possible one near the device on `bus` (NULL: no device). It is the last
// free one, because interrupts and other work prefer the first. At least one core is left for
// everybody else. If there are too few cores, or names cannot be bound, nothing is taken and `why`
// has the reason.
bool processors_take(struct processors *out, const struct processors_site *site, const char *bus,
                     struct error *why);
void processors_give_back(struct processors *processors); // a zeroed one does nothing

// Writes the processors' numbers as a text, "7,23"; "none" when there are none.
void processors_text(char out[PROCESSORS_TEXT], const struct processors *processors);

// Returns the number of this machine's cores; 0: not known. *taken is the number of cores on which
// somebody measures now.
size_t processors_cores(size_t *taken, const struct processors_site *site);

// Finds the processors on which nobody on this machine measures, for work that only computes.
// False: either all of ours are measured on, or nobody measures anywhere; *out then has all of
// ours.
bool processors_aside(cpu_set_t *out, const struct processors_site *site);

// ---- which processors share a core, and which lie near a device

// A core. Its hyperthreads can delay each other, so they are given away together.
struct core {
    int number;    // the number of its first processor, ours or not, so that it is the same for
                   // everybody
    cpu_set_t set; // those of its processors that are ours
};

struct topology {
    struct core *items; // in ascending order
    size_t count;
};

// Reads which processors share a core. `root` is put before /sys; "" means this machine. If /sys
// does not tell, each processor counts as a core.
void topology_read(struct topology *out, const char *root, const cpu_set_t *ours,
                   struct arena *arena);

// Finds the processors near a PCI device, "0000:1b:00.0". False: not known, and *out is empty.
bool topology_near(cpu_set_t *out, const char *root, const char *bus);

// Parses a list as the kernel writes it, "0-3,8". -1: it is no such list.
int topology_parse(cpu_set_t *out, const char *text);

#endif
