// SPDX-License-Identifier: Apache-2.0
//
// Control groups, and bubblewrap. The code lists what is shown inside, not what is hidden, so that
// a home, a key store or a socket that nobody thought of is not visible. Of /etc only the files
// that linkers and compilers read are shown.
#include "runner/child/sandbox.h"

#include "runner/child/files.h"
#include "runner/child/process.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- control groups
//
// Finds the folders, and makes the shell's commands. A version 2 group that contains processes
// cannot have children with limits; "beside our own group" therefore means below its parent.

struct limit {
    const char *controller;
    const char *files[2]; // names in version 1 and 2
    uint64_t per_100[2];  // the value that 100 stands for; 0: the number is used as it is
};

static const struct limit limits_known[GROUP_LIMITS] = {
    [GROUP_MEMORY] = {"memory", {"memory.limit_in_bytes", "memory.max"}, {0, 0}},
    [GROUP_TASKS] = {"pids", {"pids.max", "pids.max"}, {0, 0}},
    [GROUP_CPU] = {"cpu", {"cpu.shares", "cpu.weight"}, {1024, 100}},
};

// Another process that makes a group may remove ours while it is empty, between two of these
// commands; so they are repeated.
static const char shell[] =
    "while [ \"$1\" != -- ]; do\n"
    "    rmdir \"$1\"/plumb-*/*/*/ \"$1\"/plumb-*/*/ \"$1\"/plumb-*/ 2>/dev/null\n"
    "    group=$1/plumb-$$ tries=0\n"
    "    until { mkdir -p \"$group\" && echo \"$3\" >\"$group/$2\" &&\n"
    "            echo $$ >\"$group/cgroup.procs\"; } 2>/dev/null; do\n"
    "        tries=$((tries + 1))\n"
    "        [ $tries -lt 50 ] ||\n"
    "            { echo \"no control group can be made in $1\" >&2; exit 125; }\n"
    "    done\n"
    "    shift 3\n"
    "done\n"
    "shift\n"
    "exec \"$@\"\n";

// Puts the command into a version 2 group below its present one, whose folder it can then use. That
// group has no limit of its own; everything below it counts for the groups above.
static const char freezer_shell[] =
    "while IFS= read -r line; do\n"
    "    case $line in 0::*) own=${line#0::} ;; esac\n"
    "done </proc/self/cgroup\n"
    "own=$1${own#\"$2\"} tries=0\n"
    "rmdir \"$own\"/plumb-*/*/ \"$own\"/plumb-*/ 2>/dev/null\n"
    "group=$own/plumb-$$\n"
    "until { { mkdir \"$group\" || [ -d \"$group\" ]; } && cd \"$group\" &&\n"
    "        echo $$ >cgroup.procs; } 2>/dev/null; do\n"
    "    tries=$((tries + 1))\n"
    "    [ $tries -lt 50 ] || { echo \"no control group can be made in $own\" >&2; exit 125; }\n"
    "done\n"
    "shift 3\n"
    "exec \"$@\"\n";

static bool has_word(const char *list, const char *word, const char *between)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, between)) {
        const size_t size = strcspn(at, between);
        if (size == length && strncmp(at, word, length) == 0)
            return true;
        at += size;
    }
    return false;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

// Finds our group's path in the tree of a controller; NULL means version 2. False: there is none.
static bool find_own(char out[GROUP_PATH], const char *own, const char *controller)
{
    for (const char *at = own; *at; at = next_line(at)) {
        char names[128] = "", path[GROUP_PATH];
        const bool unified = sscanf(at, "0::%511[^\n]", path) == 1;
        if (!unified && sscanf(at, "%*d:%127[^:\n]:%511[^\n]", names, path) != 2)
            continue;
        if (unified ? !controller : controller && has_word(names, controller, ","))
            return text_copy(out, GROUP_PATH, path);
    }
    return false;
}

// Finds where a tree is mounted, and which of its groups is shown there. False: it is not mounted.
static bool find_mount(char root[GROUP_PATH], char place[GROUP_PATH], const char *mounts,
                       const char *controller)
{
    for (const char *at = mounts; *at; at = next_line(at)) {
        char kind[32], options[256];
        const char *behind = strstr(at, " - ");
        if (!behind || behind > next_line(at) ||
            sscanf(behind, " - %31s %*s %255s", kind, options) != 2 ||
            sscanf(at, "%*s %*s %*s %511s %511s", root, place) != 2)
            continue;
        if (controller ? strcmp(kind, "cgroup") == 0 && has_word(options, controller, ",")
                       : strcmp(kind, "cgroup2") == 0)
            return true;
    }
    return false;
}

// Finds the folder of our own group. False: it is not shown here.
static bool find_folder(char out[GROUP_PATH], size_t *mount, const char *own, const char *mounts,
                        const char *controller)
{
    char path[GROUP_PATH], root[GROUP_PATH], place[GROUP_PATH];
    if (!find_own(path, own, controller) || !find_mount(root, place, mounts, controller))
        return false;
    const size_t shown = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, shown) != 0)
        return false;
    const char *rest = path + shown;
    *mount = strlen(place);
    return snprintf(out, GROUP_PATH, "%s%s", place, strcmp(rest, "/") == 0 ? "" : rest) <
           GROUP_PATH;
}

// Whether this version 2 group gives its children the limit. A group without processes can be asked
// to.
static bool gives(const char *group, const char *controller, bool ask)
{
    char path[GROUP_PATH + 32], text[256] = "";
    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", group);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    bool found = has_word(text, controller, " \n");
    if (!found && ask) {
        size = snprintf(text, sizeof(text), "+%s", controller);
        found = write(fd, text, (size_t)size) == size;
    }
    close(fd);
    return found && access(group, W_OK) == 0;
}

static bool find_unified(char out[GROUP_PATH], const char *own, const char *mounts,
                         const char *controller)
{
    size_t mount;
    if (!find_folder(out, &mount, own, mounts, NULL))
        return false;
    if (gives(out, controller, false))
        return true;
    char *slash = strrchr(out, '/');
    if (!slash || (size_t)(slash - out) <= mount) // its parent is the root, which belongs to nobody
        return false;
    *slash = '\0';
    return gives(out, controller, true);
}

int group_find(struct group *out, const char *own, const char *mounts, struct error *err)
{
    struct group found = {0};
    for (int i = 0; i < GROUP_LIMITS; i++) {
        struct group_tree *tree = &found.trees[i];
        const char *controller = limits_known[i].controller;
        size_t mount;
        tree->unified = find_unified(tree->path, own, mounts, controller);
        if (!tree->unified && (!find_folder(tree->path, &mount, own, mounts, controller) ||
                               access(tree->path, W_OK) != 0))
            tree->path[0] = '\0';
    }
    if (!found.trees[GROUP_MEMORY].path[0] || !found.trees[GROUP_TASKS].path[0])
        return error_set(err, "no control group here is ours to divide (Delegate= of a service "
                              "gives one)");
    *out = found;
    return 0;
}

// Reads a file of /proc; such files report no size.
static bool read_whole(char *out, size_t size, const char *path)
{
    FILE *file = fopen(path, "re");
    const size_t used = file ? fread(out, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    out[used] = '\0';
    return used > 0 && used < size - 1;
}

enum { PROC_SIZE = 1 << 18 };

static int group_here(struct group *out, struct error *err)
{
    char *own = xcalloc(PROC_SIZE, 1), *mounts = xcalloc(PROC_SIZE, 1);
    const bool known = read_whole(own, PROC_SIZE, "/proc/self/cgroup") &&
                       read_whole(mounts, PROC_SIZE, "/proc/self/mountinfo");
    const int status = known ? group_find(out, own, mounts, err)
                             : error_set(err, "/proc does not say which control group this is");
    free(own);
    free(mounts);
    return status;
}

const char *const *group_argv(const struct group *group, const struct group_limits *limits,
                              const char *const *argv, struct arena *arena)
{
    size_t count = 0, used = 0;
    while (argv[count])
        count++;
    const char **words = arena_alloc(arena, (count + 6 + 3 * GROUP_LIMITS) * sizeof(*words));
    words[used++] = "sh";
    words[used++] = "-c";
    words[used++] = shell;
    words[used++] = "plumb";
    for (int i = 0; i < GROUP_LIMITS; i++) {
        const struct group_tree *tree = &group->trees[i];
        const struct limit *limit = &limits_known[i];
        const uint64_t per_100 = limit->per_100[tree->unified];
        if (!tree->path[0] || !limits->most[i])
            continue;
        words[used++] = arena_strdup(arena, tree->path);
        words[used++] = limit->files[tree->unified];
        words[used++] = arena_printf(
            arena, "%llu",
            (unsigned long long)(per_100 ? limits->most[i] * per_100 / 100 : limits->most[i]));
    }
    words[used++] = "--";
    for (size_t i = 0; i <= count; i++)
        words[used++] = argv[i];
    return words;
}

static const char *const mode_names[] = {"auto", "require", "off"};

int sandbox_mode_parse(enum sandbox_mode *out, const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(mode_names); i++) {
        if (strcmp(mode_names[i], name) == 0) {
            *out = (enum sandbox_mode)i;
            return 0;
        }
    }
    return -1;
}

// ---- bubblewrap

enum { BACKGROUND = 20 }; // weight of a build; others have 100

#define FREEZER "PLUMB_FREEZER"                        // the variable that a command looks for
static const char freezer_folder[] = "/sys/fs/cgroup"; // its path inside the sandbox

struct argument_list {
    const char **items;
    size_t count, capacity;
};

static void add(struct argument_list *words, const char *word)
{
    words->items = xgrow(words->items, words->count, &words->capacity, sizeof(*words->items));
    words->items[words->count++] = word;
    words->items = xgrow(words->items, words->count, &words->capacity, sizeof(*words->items));
    words->items[words->count] = NULL;
}

static void add_bind(struct argument_list *words, const char *how, const char *from, const char *to)
{
    add(words, how);
    add(words, from);
    add(words, to);
}

static const char *const roots[] = {"/usr",   "/bin",    "/sbin", "/lib",       "/lib32",
                                    "/lib64", "/libx32", "/opt",  "/nix/store", "/gnu/store"};

bool sandbox_shows(const char *path)
{
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++) {
        const size_t length = strlen(roots[i]);
        if (strncmp(path, roots[i], length) == 0 && (path[length] == '/' || !path[length]))
            return true;
    }
    return false;
}

// Adds a system folder from `where`, read-only. If /bin and the like are links into /usr, they stay
// links.
static void add_root(struct argument_list *words, const char *where, const char *root,
                     struct arena *arena)
{
    char target[PATH_MAX];
    const char *from = arena_printf(arena, "%s%s", where, root);
    ssize_t length = readlink(from, target, sizeof(target) - 1);
    if (length > 0)
        add_bind(words, "--symlink", arena_strndup(arena, target, (size_t)length), root);
    else
        add_bind(words, "--ro-bind-try", from, root);
}

// Adds the system of an image only: nothing of this machine is mounted.
static void add_image(struct argument_list *words, const char *image, struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++)
        add_root(words, image, roots[i], arena);
    add_root(words, image, "/etc", arena);
}

static void add_system(struct argument_list *words, struct arena *arena)
{
    static const char *const etc[] = {"/etc/alternatives", "/etc/ld.so.cache",  "/etc/ld.so.conf",
                                      "/etc/ld.so.conf.d", "/etc/localtime",    "/etc/passwd",
                                      "/etc/group",        "/etc/nsswitch.conf"};
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++)
        add_root(words, "", roots[i], arena);
    for (size_t i = 0; i < ARRAY_COUNT(etc); i++)
        add_bind(words, "--ro-bind-try", etc[i], etc[i]);
}

// Adds the driver's nodes, after --dev, which would hide them. CUDA finds the GPU through /sys.
static void add_gpu(struct argument_list *words, struct arena *arena)
{
    DIR *dev = opendir("/dev");
    for (struct dirent *entry; dev && (entry = readdir(dev));) {
        if (strncmp(entry->d_name, "nvidia", 6) == 0 || strcmp(entry->d_name, "dxg") == 0) {
            const char *path = arena_printf(arena, "/dev/%s", entry->d_name);
            add_bind(words, "--dev-bind-try", path, path);
        }
    }
    if (dev)
        closedir(dev);
    add_bind(words, "--ro-bind-try", "/sys", "/sys");
}

// Appends the command, and copies all words into the arena.
static const char *const *close_words(struct argument_list *words, const char *const *argv,
                                      struct arena *arena)
{
    add(words, "--");
    for (; *argv; argv++)
        add(words, *argv);
    const char **kept = arena_copy(arena, words->items, (words->count + 1) * sizeof(*kept));
    free(words->items);
    return kept;
}

static void add_environment(struct argument_list *words, const char *const *env,
                            struct arena *arena)
{
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        assert(equals && equals > *env);
        add_bind(words, "--setenv", arena_strndup(arena, *env, (size_t)(equals - *env)),
                 equals + 1);
    }
}

static const char *const *wrap(const char *program, const struct sandbox_view *view,
                               const char *const *argv, struct arena *arena)
{
    static const char *const fixed[] = {
        "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"};
    struct argument_list words = {0};
    add(&words, program);
    for (size_t i = 0; i < ARRAY_COUNT(fixed); i++)
        add(&words, fixed[i]);
    if (view->root)
        add_image(&words, view->root, arena);
    else
        add_system(&words, arena);
    add(&words, "--proc");
    add(&words, "/proc");
    add(&words, "--dev");
    add(&words, "/dev");
    static const char *const memory[] = {"/tmp", "/dev/shm"}; // in memory, and so limited in size
    for (size_t i = 0; i < ARRAY_COUNT(memory); i++) {
        add_bind(&words, "--size", "1073741824", "--tmpfs");
        add(&words, memory[i]);
    }
    if (view->gpu)
        add_gpu(&words, arena);
    for (size_t i = 0; i < view->bind_count; i++) {
        const struct sandbox_bind *bind = &view->binds[i];
        add_bind(&words, bind->writable ? "--bind" : "--ro-bind", bind->from, bind->to);
    }
    if (view->freezes) { // used by freezer_shell
        add_bind(&words, "--bind", "/proc/self/cwd", freezer_folder);
        add_bind(&words, "--setenv", FREEZER, freezer_folder);
    }
    if (view->proc_read_only) {
        add(&words, "--remount-ro");
        add(&words, "/proc");
    }
    // /dev and the root are in memory, too: they become read-only once everything is mounted below
    // them.
    add_bind(&words, "--remount-ro", "/dev", "--remount-ro");
    add(&words, "/");
    add_environment(&words, view->env, arena);
    add(&words, "--chdir");
    add(&words, view->directory ? view->directory : "/tmp");
    return close_words(&words, argv, arena);
}

// Puts systemd-run in front, which makes the scope and becomes the command in it.
static const char *const *in_scope(const char *scope, const struct sandbox_view *view,
                                   const char *const *argv, struct arena *arena)
{
    static const char *const fixed[] = {"--scope", "--quiet", "--collect"};
    struct argument_list words = {0};
    add(&words, "systemd-run");
    add(&words, scope);
    for (size_t i = 0; i < ARRAY_COUNT(fixed); i++)
        add(&words, fixed[i]);
    if (view->memory_bytes) {
        add(&words, "--property");
        add(&words, arena_printf(arena, "MemoryMax=%llu", (unsigned long long)view->memory_bytes));
    }
    if (view->tasks) {
        add(&words, "--property");
        add(&words, arena_printf(arena, "TasksMax=%u", view->tasks));
    }
    if (view->background) {
        add(&words, "--property");
        add(&words, arena_printf(arena, "CPUWeight=%d", BACKGROUND));
    }
    return close_words(&words, argv, arena);
}

static const char *const *in_freezer(const struct sandbox *sandbox, const char *const *argv,
                                     struct arena *arena)
{
    const char *const fixed[] = {
        "sh", "-c", freezer_shell, "plumb", sandbox->groups, sandbox->groups_root};
    struct argument_list words = {0};
    for (size_t i = 0; i < ARRAY_COUNT(fixed); i++)
        add(&words, fixed[i]);
    return close_words(&words, argv, arena);
}

const char *const *sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *asked,
                                const char *const *argv, struct arena *arena)
{
    struct sandbox_view view = *asked;
    if (!sandbox->active)
        return argv;
    view.freezes = asked->freezes && sandbox->freezes;
    argv = wrap(sandbox->program, &view, argv, arena);
    if (view.freezes)
        argv = in_freezer(sandbox, argv, arena);
    if (sandbox->scope)
        return in_scope(sandbox->scope, &view, argv, arena);
    const struct group_limits limits = {{[GROUP_MEMORY] = view.memory_bytes,
                                         [GROUP_TASKS] = view.tasks,
                                         [GROUP_CPU] = view.background ? BACKGROUND : 0}};
    return sandbox->grouped ? group_argv(&sandbox->group, &limits, argv, arena) : argv;
}

const char *const *sandbox_environment(const struct sandbox *sandbox, struct arena *arena)
{
    static const char *const names[] = {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};
    const char **env = arena_alloc(arena, (ARRAY_COUNT(names) + 1) * sizeof(*env));
    size_t used = 0;
    for (size_t i = 0; sandbox->scope && i < ARRAY_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value)
            env[used++] = arena_printf(arena, "%s=%s", names[i], value);
    }
    return env;
}

// Runs `true` in an empty sandbox; `said` gets bubblewrap's output.
static int try_once(struct process_result *result, char **said, struct error *err)
{
    static const char *const command[] = {"true", NULL};
    static const char *const empty[] = {NULL};
    struct arena arena = {0};
    struct sandbox_view view = {0};
    struct process_plan plan = {
        .argv = wrap("bwrap", &view, command, &arena),
        .env = empty,
        .log_bytes = 4096,
        .limits = {.time_s = 20},
    };
    int code = process_capture(result, said, &plan, err);
    arena_free(&arena);
    return code;
}

static bool works(char reason[512])
{
    struct process_result result;
    struct error err;
    char *said = NULL, ending[64];
    if (try_once(&result, &said, &err)) {
        snprintf(reason, 512, "%.400s", err.text);
    } else if (result.end != PROCESS_EXITED || result.code != 0) {
        said[strcspn(said, "\n")] = '\0';
        char *pages = strstr(said, ". See <"); // a distribution's hint about another program
        if (pages)
            *pages = '\0';
        process_describe(ending, sizeof(ending), &result);
        snprintf(reason, 512, "bubblewrap does not work here: %s", *said ? said : ending);
    } else {
        reason[0] = '\0';
    }
    free(said);
    return !reason[0];
}

// Runs `true` with these words. If it fails, returns false and the first line of the output.
static bool tries(const struct sandbox *sandbox, const char *const *argv, char said_first[256])
{
    struct arena arena = {0};
    const struct process_plan plan = {.argv = argv,
                                      .env = sandbox_environment(sandbox, &arena),
                                      .log_bytes = 4096,
                                      .limits = {.time_s = 20}};
    struct process_result result;
    struct error err = {""};
    char *said = NULL;
    const bool started = process_capture(&result, &said, &plan, &err) == 0;
    const bool ok = started && result.end == PROCESS_EXITED && result.code == 0;
    snprintf(said_first, 256, "%.200s", said ? said : err.text);
    said_first[strcspn(said_first, "\n")] = '\0';
    free(said);
    arena_free(&arena);
    return ok;
}

static const char *const nothing[] = {"true", NULL};

static bool find_scope(struct sandbox *sandbox, char why[256])
{
    const struct sandbox_view view = {.memory_bytes = (uint64_t)1 << 30, .tasks = 64};
    struct arena arena = {0};
    sandbox->scope = geteuid() == 0 ? "--system" : "--user";
    if (!tries(sandbox, in_scope(sandbox->scope, &view, nothing, &arena), why))
        sandbox->scope = NULL;
    arena_free(&arena);
    return sandbox->scope != NULL;
}

static bool find_group(struct sandbox *sandbox, char why[256])
{
    const struct group_limits limits = {
        {[GROUP_MEMORY] = (uint64_t)1 << 30, [GROUP_TASKS] = 64, [GROUP_CPU] = BACKGROUND}};
    struct arena arena = {0};
    struct error err;
    if (group_here(&sandbox->group, &err))
        snprintf(why, 256, "%.200s", err.text);
    else
        sandbox->grouped =
            tries(sandbox, group_argv(&sandbox->group, &limits, nothing, &arena), why);
    arena_free(&arena);
    return sandbox->grouped;
}

// Tries the freezer as a command would use it.
static void find_freezer(struct sandbox *sandbox)
{
    static const char *const command[] = {
        "sh", "-c",
        "group=$" FREEZER "/try; mkdir $group && echo 1 >$group/cgroup.freeze && rmdir $group",
        NULL};
    const struct sandbox_view view = {.freezes = true};
    struct arena arena = {0};
    char *mounts = xcalloc(PROC_SIZE, 1);
    sandbox->freezes = read_whole(mounts, PROC_SIZE, "/proc/self/mountinfo") &&
                       find_mount(sandbox->groups_root, sandbox->groups, mounts, NULL);
    if (strcmp(sandbox->groups_root, "/") == 0)
        sandbox->groups_root[0] = '\0';
    if (!sandbox->freezes)
        text_copy(sandbox->no_freezer, sizeof(sandbox->no_freezer),
                  "version 2 of control groups is not shown here");
    else
        sandbox->freezes =
            tries(sandbox, sandbox_argv(sandbox, &view, command, &arena), sandbox->no_freezer);
    free(mounts);
    arena_free(&arena);
}

static void find_limits(struct sandbox *sandbox)
{
    char scope[256], group[256];
    if (!find_scope(sandbox, scope) && !find_group(sandbox, group))
        snprintf(sandbox->no_group, sizeof(sandbox->no_group), "systemd-run: %.200s; %.200s", scope,
                 group);
}

int sandbox_probe(struct sandbox *out, enum sandbox_mode mode, struct error *err)
{
    struct sandbox sandbox = {.program = "bwrap", .required = mode == SANDBOX_REQUIRE};
    if (mode == SANDBOX_OFF)
        text_copy(sandbox.reason, sizeof(sandbox.reason), "switched off");
    else
        sandbox.active = works(sandbox.reason);
    if (sandbox.active) {
        find_limits(&sandbox);
        find_freezer(&sandbox);
    }
    if (mode == SANDBOX_REQUIRE && !sandbox.active)
        return error_set(err,
                         "no sandbox, but it is required: %s; " SANDBOX_WAY
                         ", or, where the code is your own, set sandbox = auto",
                         sandbox.reason);
    *out = sandbox;
    return 0;
}
