// SPDX-License-Identifier: Apache-2.0
//
// Opens a repository, and finds out whose word counts in it and what in it came from a commit.
// revision.c resolves revisions, commits.c has commits and ranges, trees.c has the content of
// commits.
#include "runner/git/handle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- extensions of a repository, which a reader must know

// These extensions concern the settings of a checkout, the origin of objects, or the notation of
// paths; nothing of that is used here.
#define HARMLESS                                                                                   \
    "worktreeconfig", "partialclone", "relativeworktrees", "preciousobjects", "noop", "noop-v1",   \
        "compatobjectformat"

static void start_libgit2(void)
{
    static const char *extensions[] = {HARMLESS};
    git_libgit2_init(); // libgit2 counts these calls; there is no shutdown, because it is needed as
                        // long as the program runs
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_COUNT(extensions));
}

static bool is_harmless(const char *name, const char *value)
{
    static const char *const harmless[] = {HARMLESS};
    for (size_t i = 0; i < ARRAY_COUNT(harmless); i++) {
        if (strcmp(name, harmless[i]) == 0)
            return true;
    }
    return (strcmp(name, "objectformat") == 0 && strcmp(value, "sha1") == 0) ||
           (strcmp(name, "refstorage") == 0 && strcmp(value, "files") == 0);
}

// Finds the first extension that matters, with its name and value, "" if there is none. It is read
// from the repository's own configuration, where git writes extensions.
static void find_extension(char name[64], char value[64], const char *directory)
{
    git_buf found = {0};
    git_config *config = NULL;
    git_config_iterator *entries = NULL;
    git_config_entry *entry;
    name[0] = value[0] = '\0';
    if (git_repository_discover(&found, directory, 0, NULL))
        return;
    char *file = xprintf("%sconfig", found.ptr), *common = xprintf("%s../../config", found.ptr);
    if ((git_config_open_ondisk(&config, access(file, R_OK) == 0 ? file : common) == 0) &&
        git_config_iterator_glob_new(&entries, config, "extensions\\..*") == 0) {
        while (!name[0] && git_config_next(&entry, entries) == 0) {
            const char *word = strchr(entry->name, '.') + 1;
            if (!is_harmless(word, entry->value)) {
                text_copy(name, 64, word);
                text_copy(value, 64, entry->value);
            }
        }
    }
    git_config_iterator_free(entries);
    git_config_free(config);
    free(common);
    free(file);
    git_buf_dispose(&found);
}

static int refuse_extension(const char *directory, const char *name, const char *value,
                            struct error *err)
{
    if (strcmp(name, "objectformat") == 0)
        return error_set(err,
                         "%s: its objects are named by %.40s, which libgit2 %s cannot read; plumb "
                         "reads repositories with SHA-1",
                         directory, value, repository_library());
    if (strcmp(name, "refstorage") == 0)
        return error_set(err,
                         "%s: its branches are stored as %.40s, which libgit2 %s cannot read; `git "
                         "refs migrate --ref-format=files` stores them as files",
                         directory, value, repository_library());
    return error_set(err,
                     "%s: it needs the extension %.40s = %.40s, which libgit2 %s does not know",
                     directory, name, value, repository_library());
}

// Does what git_repository_open_ext() does, also if an extension is set to its default value.
static int open_git(git_repository **out, const char *directory, unsigned flags)
{
    static const char *all[] = {HARMLESS, "objectformat", "refstorage"};
    char name[64], value[64];
    start_libgit2();
    int code = git_repository_open_ext(out, directory, flags, NULL);
    if (code == 0 || code == GIT_ENOTFOUND || code == GIT_EOWNER)
        return code;
    find_extension(name, value, directory);
    if (name[0])
        return code;
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, all, ARRAY_COUNT(all));
    code = git_repository_open_ext(out, directory, flags, NULL);
    start_libgit2();
    return code;
}

// Opens the repository of the checkout that has this .git. *out stays NULL if it belongs to no
// repository.
static int open_checkout(git_repository **out, const char *git, struct error *err)
{
    const int code = open_git(out, git, GIT_REPOSITORY_OPEN_NO_SEARCH);
    // A repository of another user is not read, so its commits bring nothing.
    if (code == 0 || code == GIT_ENOTFOUND || code == GIT_EOWNER)
        return 0;
    char name[64], value[64];
    find_extension(name, value, git);
    return name[0] ? refuse_extension(git, name, value, err)
                   : error_set(err, "%s: cannot open the repository: %s", git, git_words());
}

// ---- whose word counts in a checkout
//
// The checked-out commit may be a stranger's pull request. The repository's configuration and its
// remote branches are not part of any commit.

static bool configured(const struct repository *repository)
{
    git_config *config = NULL;
    int trusted = 0;
    if (git_repository_config_snapshot(&config, repository->git) ||
        git_config_get_bool(&trusted, config, "plumb.trustCheckout"))
        trusted = 0;
    git_config_free(config);
    return trusted != 0;
}

// Whether the repository's configuration has a remote. git_remote_list() is not used, because it
// matches names with a regular expression, which leaks memory in Debian's libgit2 1.5. If the
// configuration cannot be read, the answer is yes.
static bool has_remote(const struct repository *repository)
{
    static const char first[] = "remote.", last[] = ".url";
    git_config *config = NULL;
    git_config_iterator *entries = NULL;
    git_config_entry *entry;
    bool found = git_repository_config_snapshot(&config, repository->git) ||
                 git_config_iterator_new(&entries, config);
    while (!found && git_config_next(&entry, entries) == 0) {
        const size_t length = strlen(entry->name);
        found = strncmp(entry->name, first, sizeof(first) - 1) == 0 && length > sizeof(last) &&
                strcmp(entry->name + length - (sizeof(last) - 1), last) == 0;
    }
    git_config_iterator_free(entries);
    git_config_free(config);
    return found;
}

// Whether something was fetched here by its address alone, as some CI systems do, which make no
// remote.
static bool has_fetched(const struct repository *repository)
{
    const char *const folders[] = {git_repository_path(repository->git),
                                   git_repository_commondir(repository->git)};
    bool found = false;
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        struct stat there;
        char *path = xprintf("%sFETCH_HEAD", folders[i]);
        found |= stat(path, &there) == 0 && there.st_size > 0;
        free(path);
    }
    return found;
}

// ---- the index, where libgit2 cannot read it: a split one ("link"), or one that lists whole
// folders of a sparse checkout ("sdir"). Format: git's Documentation/gitformat-index.txt.

struct index_reader {
    const struct repository *repository;
    const unsigned char *bytes, *at, *end;
    uint32_t version;
    char name[4096];
};

static uint32_t number_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// Reads how many bytes of the previous entry's name are removed, in the encoding of offsets in pack
// files. -1: malformed.
static long read_strip(struct index_reader *r)
{
    unsigned long value = 0;
    for (int i = 0; i < 4 && r->at < r->end; i++) {
        const unsigned char c = *r->at++;
        value = (i ? (value + 1) << 7 : 0) | (c & 0x7f);
        if (!(c & 0x80))
            return (long)value;
    }
    return -1;
}

// Reads one entry's name. -1: malformed.
static int read_entry(struct index_reader *r, const unsigned char **entry)
{
    enum { FIXED = 62, EXTENDED = 0x40 };
    *entry = r->at;
    if (r->end - r->at < FIXED + 2)
        return -1;
    r->at += FIXED + (((*entry)[60] & EXTENDED) && r->version >= 3 ? 2 : 0);
    size_t kept = 0;
    if (r->version == 4) {
        const long strip = read_strip(r);
        if (strip < 0 || (size_t)strip > strlen(r->name))
            return -1;
        kept = strlen(r->name) - (size_t)strip;
    }
    const unsigned char *nul = memchr(r->at, '\0', (size_t)(r->end - r->at));
    if (!nul || kept + (size_t)(nul - r->at) >= sizeof(r->name))
        return -1;
    memcpy(r->name + kept, r->at, (size_t)(nul - r->at) + 1);
    r->at = nul + 1;
    if (r->version != 4) // to a multiple of eight, with at least one NUL
        r->at = *entry + (((size_t)(nul - *entry) + 8) & ~(size_t)7);
    return r->at <= r->end ? 0 : -1;
}

// Whether an index entry is a folder that contains the path. A folder that is not checked out is
// one entry, and its tree lists its content. 1: it contains the path; 0: it does not; -1: it cannot
// be read.
static int folder_has(const struct index_reader *r, const unsigned char *entry, const char *path)
{
    git_oid id;
    git_tree *tree = NULL;
    git_tree_entry *found = NULL;
    const size_t length = strlen(r->name);
    if (r->name[0] == '\0' || r->name[length - 1] != '/' || strncmp(path, r->name, length) != 0)
        return 0;
    memcpy(id.id, entry + 40, GIT_OID_RAWSZ);
    int code = git_tree_lookup(&tree, r->repository->git, &id);
    if (code == 0)
        code = git_tree_entry_bypath(&found, tree, path + length);
    git_tree_entry_free(found);
    git_tree_free(tree);
    return code == 0 ? 1 : code == GIT_ENOTFOUND ? 0 : -1;
}

static int index_file_has(const struct repository *repository, const char *name, const char *path,
                          bool shared);

// Whether the index on which a split index is based has the path. Names that the split index
// removes count, too, because the question is what may be there.
static int shared_has(struct index_reader *r, const char *path, bool shared)
{
    static const unsigned char none[GIT_OID_RAWSZ];
    while (r->end - r->at >= 8) {
        const uint32_t size = number_at(r->at + 4);
        if ((size_t)(r->end - r->at) - 8 < size)
            return -1;
        if (memcmp(r->at, "link", 4) == 0 && size >= sizeof(none) &&
            memcmp(r->at + 8, none, sizeof(none)) != 0) {
            char name[64];
            git_oid id;
            memcpy(id.id, r->at + 8, sizeof(none));
            snprintf(name, sizeof(name), "sharedindex.%s", git_oid_tostr_s(&id));
            return shared ? -1 : index_file_has(r->repository, name, path, true);
        }
        r->at += 8 + size;
    }
    return 0;
}

// 1: the path, or anything below it, is there; 0: it is not; -1: the index cannot be read.
static int index_bytes_have(struct index_reader *r, const char *path, bool shared)
{
    enum { HEAD = 12, TRAILER = 20 };
    const size_t length = strlen(path);
    if (r->end - r->at < HEAD + TRAILER || memcmp(r->at, "DIRC", 4) != 0)
        return -1;
    r->version = number_at(r->at + 4);
    const uint32_t count = number_at(r->at + 8);
    r->at += HEAD;
    r->end -= TRAILER;
    if (r->version < 2 || r->version > 4)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *entry;
        if (read_entry(r, &entry))
            return -1;
        if (strncmp(r->name, path, length) == 0 &&
            (r->name[length] == '\0' || r->name[length] == '/'))
            return 1;
        const int below = folder_has(r, entry, path);
        if (below)
            return below;
    }
    return shared_has(r, path, shared);
}

static int index_file_has(const struct repository *repository, const char *name, const char *path,
                          bool shared)
{
    char *file = xprintf("%s%s", git_repository_path(repository->git), name);
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    int found = -1;
    free(file);
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        const size_t size = (size_t)info.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            struct index_reader reader = {.repository = repository, .bytes = bytes, .at = bytes};
            reader.end = reader.bytes + size;
            found = index_bytes_have(&reader, path, shared);
            munmap(bytes, size);
        }
    }
    close(descriptor);
    return found;
}

// Whether the index has the path or anything below it: 1, 0, or -1 if that cannot be told.
static int is_in_index(const struct repository *repository, const char *path)
{
    git_index *index = NULL;
    if (git_repository_index(&index, repository->git))
        return index_file_has(repository, "index", path, false);
    char *below = xprintf("%s/", path);
    const bool found =
        git_index_get_bypath(index, path, 0) || git_index_find_prefix(NULL, index, below) == 0;
    free(below);
    git_index_free(index);
    return found;
}

int repository_tracks(bool *out, const struct repository *repository, const char *path,
                      struct error *err)
{
    char id[OBJECT_ID_TEXT] = "";
    git_commit *head = NULL;
    const bool unborn = git_repository_head_unborn(repository->git) == 1;
    if (!unborn && git_resolve(&head, repository, "HEAD", err) == 0) {
        char commit[OBJECT_ID_TEXT];
        git_oid_tostr(commit, sizeof(commit), git_commit_id(head));
        git_commit_free(head);
        if (repository_path_id(id, repository, commit, path, err))
            return -1;
    } else if (!unborn) {
        return -1;
    }
    const int found = id[0] ? 1 : is_in_index(repository, path);
    if (found < 0)
        return error_set(err,
                         "%s: the index cannot be read, so nobody can say whether %s came with the "
                         "commit; `git reset` makes it again",
                         repository->directory, path);
    *out = found;
    return 0;
}

// Whether the repository has the remote's branch. A remote's HEAD must be symbolic, as git makes
// it: whoever may push a branch can call it HEAD, and a fetch of all branches stores it under that
// name.
static bool has_branch(git_oid *commit, const struct repository *repository, const char *branch)
{
    git_reference *reference = NULL;
    char *name = xprintf("refs/remotes/%s", branch);
    const char *last = strchr(branch, '/') + 1;
    const bool found =
        git_reference_lookup(&reference, repository->git, name) == 0 &&
        (strcmp(last, "HEAD") != 0 || git_reference_type(reference) == GIT_REFERENCE_SYMBOLIC) &&
        git_named_commit(commit, repository, name) == 0;
    git_reference_free(reference);
    free(name);
    return found;
}

void repository_trusted(struct repository_trust *out, const struct repository *repository)
{
    // The second name of a pair decides nothing where the first one exists, too: one of them is the
    // main branch, and anybody who may push can add the other.
    static const struct {
        const char *name, *other;
    } branches[] = {{"upstream/HEAD", NULL},
                    {"origin/HEAD", NULL},
                    {"upstream/main", "upstream/master"},
                    {"upstream/master", NULL},
                    {"origin/main", "origin/master"},
                    {"origin/master", NULL}};
    git_oid commit, other;
    *out = (struct repository_trust){.own = configured(repository) ||
                                            !(has_remote(repository) || has_fetched(repository))};
    for (size_t i = 0; !out->own && i < ARRAY_COUNT(branches); i++) {
        if (!has_branch(&commit, repository, branches[i].name))
            continue;
        out->unclear = branches[i].other && has_branch(&other, repository, branches[i].other);
        if (out->unclear)
            return;
        git_oid_tostr(out->commit, sizeof(out->commit), &commit);
        out->branch = branches[i].name;
        return;
    }
    // In a bare clone the remote's branches are its own, and no commit is checked out.
    if (!out->own && repository_is_bare(repository) &&
        git_named_commit(&commit, repository, "HEAD") == 0) {
        git_oid_tostr(out->commit, sizeof(out->commit), &commit);
        out->branch = "HEAD";
    }
}

bool repository_accepts(const struct repository *repository, const struct repository_trust *trust,
                        const char *commit)
{
    struct arena arena = {0};
    struct commit shared;
    struct error ignored;
    const bool accepted =
        trust->branch &&
        repository_merge_base(&shared, repository, trust->commit, commit, &arena, &ignored) == 0 &&
        strcmp(shared.id, commit) == 0;
    arena_free(&arena);
    return accepted;
}

// ---- what a commit put into a checkout: repositories, folders and links
//
// A commit can make no file or folder
// named .git, so everything below such a name is git's own.

static int is_strangers(bool *out, const struct repository *repository, struct error *err)
{
    struct repository_trust trust;
    struct commit head;
    struct arena arena = {0};
    int status = 0;
    repository_trusted(&trust, repository);
    *out = !trust.own;
    // Without a commit nothing is accepted.
    if (!trust.own && git_repository_head_unborn(repository->git) != 1) {
        status = repository_commit(&head, repository, "HEAD", &arena, err);
        *out = status == 0 && !repository_accepts(repository, &trust, head.id);
    }
    arena_free(&arena);
    return status;
}

// Whether `root` is a checkout that has the path from a stranger's commit. `built`: files that git
// does not know count, too, because they may have been made from that commit. -1: it cannot be
// told.
static int checkout_brought(bool *out, const char *root, const char *path, bool built,
                            struct error *err)
{
    struct repository outer = {.directory = xstrdup(root)};
    struct stat there;
    char *git = xprintf("%s/.git", root);
    bool tracked = built;
    int status = 0;
    *out = false;
    if (lstat(git, &there) == 0)
        status = open_checkout(&outer.git, git, err);
    if (status == 0 && outer.git && !built)
        status = repository_tracks(&tracked, &outer, path + strlen(root) + 1, err);
    if (status == 0 && outer.git && tracked)
        status = is_strangers(out, &outer, err);
    git_repository_free(outer.git);
    free(git);
    free(outer.directory);
    return status;
}

// Whether a checkout around the path brought it. All checkouts around it are asked, because a
// commit can make the path appear to lie in a repository of its own.
static int is_brought(bool *out, const char *path, struct error *err)
{
    char *root = xstrdup(path);
    int status = 0;
    *out = false;
    for (char *slash; status == 0 && !*out && (slash = strrchr(root, '/')) && slash > root;) {
        *slash = '\0';
        status = checkout_brought(out, root, path, false, err);
    }
    free(root);
    return status;
}

int repository_strangers(char **root, const char *path, struct error *err)
{
    char *real = realpath(path, NULL), *inside = xprintf("%s/.", real ? real : "");
    bool found = false;
    int status = 0;
    start_libgit2(); // counted, as in repository_open()
    for (char *slash; status == 0 && !found && (slash = strrchr(inside, '/')) && slash > inside;) {
        *slash = '\0';
        status = checkout_brought(&found, inside, NULL, true, err);
    }
    *root = found ? inside : NULL;
    if (!found)
        free(inside);
    free(real);
    return status;
}

// Whether a repository came with the commit of another one in whose checkout it lies, with its
// files and configuration. It does not count if the outer one is the user's own.
static int is_brought_repository(bool *out, git_repository *git, struct error *err)
{
    const char *path = git_repository_path(git); // with a '/' at the end
    char *head = xprintf("%sHEAD", path);
    *out = false;
    const int status = strstr(path, "/.git/") ? 0 : is_brought(out, head, err);
    free(head);
    return status;
}

static int entry_is_brought(bool *out, const char *folder, const char *name, struct error *err)
{
    char *real = realpath(*folder ? folder : ".", NULL);
    char *path = real ? xprintf("%s/%s", real, name) : NULL;
    *out = false;
    // A path that does not exist was not brought.
    const int status = path ? is_brought(out, path, err) : 0;
    free(path);
    free(real);
    return status;
}

// Whether a part of the path up to `end` was brought. The parts before the last are checked if they
// are links; the last one is checked if it `counts`.
static int part_is_brought(bool *out, const char *path, const char *end, bool counts,
                           struct error *err)
{
    struct stat there;
    char *part = xprintf("%.*s", (int)(end - path), path), *slash = strrchr(part, '/');
    const char *name = slash ? slash + 1 : part;
    int status = 0;
    *out = false;
    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
        (counts || (lstat(part, &there) == 0 && S_ISLNK(there.st_mode)))) {
        char *folder = xprintf("%.*s", slash ? (int)(slash - part) + 1 : 0, part);
        status = entry_is_brought(out, folder, name, err);
        free(folder);
    }
    free(part);
    return status;
}

int repository_refuse_brought(const char *path, enum brought what, struct error *err)
{
    start_libgit2(); // counted, as in repository_open()
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    for (const char *end = path; end < path + length;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        const bool last = end >= path + length;
        bool brought;
        if (part_is_brought(&brought, path, last ? path + length : end,
                            last && what == BROUGHT_ANYTHING, err))
            return -1;
        if (brought)
            return error_set(err,
                             "%.*s: %scame with the commit that is checked out, which may be a "
                             "stranger's; name another one (or `git config plumb.trustCheckout "
                             "true` if this repository's commits are yours)",
                             (int)(end - path), path, what == BROUGHT_LINKS ? "a link that " : "");
    }
    return 0;
}

// ---- the repository itself

const char *repository_library(void)
{
    static char text[48];
    int major, minor, revision;
    git_libgit2_version(&major, &minor, &revision);
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, revision);
    return text;
}

static char *without_slash(const char *path)
{
    char *copy = xstrdup(path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    return copy;
}

// The last part of the path without ".git"; for ".../x/.git" it is x.
static char *name_of(const char *directory)
{
    char *path = without_slash(directory);
    char *slash = strrchr(path, '/');
    if (slash && slash > path && strcmp(slash, "/.git") == 0) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    char *name = xstrdup(slash && slash[1] ? slash + 1 : path);
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".git") == 0)
        name[length - 4] = '\0';
    free(path);
    return name;
}

// Finds a repository of another user, for which libgit2 1.5 only reports that there is none. NULL:
// there is none here or above. The caller frees.
static char *foreign_repository(const char *directory)
{
    char *at = realpath(directory, NULL);
    while (at && *at) {
        struct stat git;
        char *path = xprintf("%s/.git", at), *head = xprintf("%s/HEAD", at);
        char *objects = xprintf("%s/objects", at);
        const bool found = stat(path, &git) == 0 || // or a bare one
                           (access(objects, F_OK) == 0 && stat(head, &git) == 0);
        free(objects);
        free(head);
        free(path);
        if (found && git.st_uid != geteuid())
            return at;
        char *slash = found ? NULL : strrchr(at, '/');
        if (slash)
            *slash = '\0';
        else
            *at = '\0';
    }
    free(at);
    return NULL;
}

int repository_open(struct repository **out, const char *directory, struct error *err)
{
    git_repository *git = NULL;
    char extension[64], value[64];
    bool brought;
    const int code = open_git(&git, directory, 0);
    char *foreign =
        code == GIT_ENOTFOUND || code == GIT_EOWNER ? foreign_repository(directory) : NULL;
    if (foreign) {
        error_set(
            err,
            "%s: the repository belongs to another user; if you trust it: git config --global "
            "--add safe.directory %s",
            directory, foreign);
        free(foreign);
        return -1;
    }
    if (code == GIT_ENOTFOUND)
        return error_set(err, "%s: no git repository here or above; run this inside one",
                         directory);
    if (code == GIT_EOWNER)
        return error_set(err,
                         "%s: the repository belongs to another user; if you trust it: git config "
                         "--global --add safe.directory <its path, or '*'>",
                         directory);
    if (code) {
        error_set(err, "%s: cannot open the repository: %s", directory, git_words());
        find_extension(extension, value, directory);
        return extension[0] ? refuse_extension(directory, extension, value, err) : -1;
    }
    if (is_brought_repository(&brought, git, err)) {
        git_repository_free(git);
        return -1;
    }
    if (brought) {
        error_set(err,
                  "%s: a repository that came with the commit of the one around it, which may be a "
                  "stranger's; run this outside of it",
                  git_repository_path(git));
        git_repository_free(git);
        return -1;
    }
    const char *work = git_repository_workdir(git);
    struct repository *repository = xcalloc(1, sizeof(*repository));
    repository->git = git;
    repository->directory = without_slash(work ? work : git_repository_path(git));
    repository->name = name_of(repository->directory);
    *out = repository;
    return 0;
}

void repository_close(struct repository *repository)
{
    if (!repository)
        return;
    git_repository_free(repository->git);
    free(repository->directory);
    free(repository->name);
    free(repository);
}

const char *repository_directory(const struct repository *repository)
{
    return repository->directory;
}

bool repository_is_bare(const struct repository *repository)
{
    return git_repository_workdir(repository->git) == NULL;
}

const char *repository_name(const struct repository *repository)
{
    return repository->name;
}

int repository_user(char **name, char **mail, const struct repository *repository,
                    struct arena *arena, struct error *err)
{
    git_signature *user = NULL;
    const int code = git_signature_default(&user, repository->git);
    if (code == GIT_ENOTFOUND)
        return error_set(err, "git's configuration has no user.name and user.email");
    if (code)
        return error_set(err, "git's configuration: %s", git_words());
    *name = arena_strdup(arena, user->name);
    *mail = arena_strdup(arena, user->email);
    git_signature_free(user);
    return 0;
}

// ---- the address of a commit's page

// Splits https://host/owner/name.git, ssh://git@host:22/owner/name and git@host:owner/name into
// "host" and "owner/name"; false: it has another form.
static bool split_remote(char host[256], char path[256], const char *url)
{
    const char *scheme = strstr(url, "://"), *at = scheme ? scheme + 3 : url;
    const char *end = at + strcspn(at, scheme ? "/" : ":"),
               *user = memchr(at, '@', (size_t)(end - at));
    at = user ? user + 1 : at;
    if (*end == '\0' || (!scheme && !user) ||
        snprintf(host, 256, "%.*s", (int)(end - at), at) > 255)
        return false;
    host[strcspn(host, ":")] = '\0'; // a port belongs to ssh, or to an unknown server
    const size_t length = strlen(end + 1),
                 git = length > 4 && !strcmp(end + 1 + length - 4, ".git") ? 4 : 0;
    if (snprintf(path, 256, "%.*s", (int)(length - git), end + 1) > 255)
        return false;
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    return path[0] && host[0] && path[strspn(path, plain)] == '\0' &&
           host[strspn(host, plain)] == '\0' && !strchr(host, '/');
}

static const char *commit_page(const char *url, struct arena *arena)
{
    static const struct {
        const char *host, *commits;
    } forges[] = {{"github", "commit"},     {"gitlab", "-/commit"}, {"codeberg", "commit"},
                  {"bitbucket", "commits"}, {"gitea", "commit"},    {"forgejo", "commit"}};
    char host[256], path[256];
    for (size_t i = 0; split_remote(host, path, url) && i < ARRAY_COUNT(forges); i++) {
        if (strstr(host, forges[i].host))
            return arena_printf(arena, "https://%s/%s/%s/%%s", host, path, forges[i].commits);
    }
    return NULL;
}

const char *repository_commit_url(const struct repository *repository, struct arena *arena)
{
    static const char *const remotes[] = {"remote.origin.url", "remote.upstream.url"};
    git_config *config = NULL;
    const char *url, *found = NULL;
    if (git_repository_config_snapshot(&config, repository->git))
        return NULL;
    for (size_t i = 0; !found && i < ARRAY_COUNT(remotes); i++) {
        if (git_config_get_string(&url, config, remotes[i]) == 0)
            found = commit_page(url, arena);
    }
    git_config_free(config);
    return found;
}
