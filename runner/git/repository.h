// SPDX-License-Identifier: Apache-2.0
//
// Commits and their files, through libgit2, read-only: the user's checkout, index, branches and
// configuration are never touched, and no git program is needed. Works on bare repositories.
//
// In: a directory, revisions as git writes them. Out: struct commit (model/result.h), whose strings
// live in the arena given; file contents and object ids. What a commit contains is hostile: names,
// sizes, symbolic links and messages are checked or refused here, with the commit and the path.
#ifndef PLUMB_REPOSITORY_H
#define PLUMB_REPOSITORY_H

#include "model/result.h"

struct repository;

// The version of libgit2 that is loaded.
const char *repository_library(void);

// Finds the repository that `directory` lies in, like git does, but none that a commit of another
// repository brought along: the commit would write its configuration. Caller closes.
int repository_open(struct repository **out, const char *directory, struct error *err);
void repository_close(struct repository *repository);
// Root of the checkout, or the git directory of a bare repository: absolute, without a final '/'.
const char *repository_directory(const struct repository *repository);
bool repository_is_bare(const struct repository *repository); // there is no checkout
// Last part of that path without ".git": what reports show. Borrowed until close.
const char *repository_name(const struct repository *repository);

// The address at which the remote `origin`, or else `upstream`, shows a commit, %s in place of its
// id; NULL: there is no remote, or none of a forge whose addresses are known. In the arena.
const char *repository_commit_url(const struct repository *repository, struct arena *arena);

// Says whose word counts in a checkout that may hold a stranger's pull request. The checkout is the
// user's own where there is no remote that it could have come from, or where git's configuration
// says plumb.trustCheckout = true; no commit can say either. Else the remote's branch counts: HEAD,
// main or master of upstream or origin; or HEAD of a bare clone, which has no branches of remotes.
struct repository_trust {
    bool own;
    char commit[OBJECT_ID_TEXT]; // of the trusted branch; "" when there is none
    const char *branch;          // its name, static; NULL when there is none
};
void repository_trusted(struct repository_trust *out, const struct repository *repository);
// The trusted branch has the commit, given by its full id. Where a shallow clone cannot say, it has
// not.
bool repository_accepts(const struct repository *repository, const struct repository_trust *trust,
                        const char *commit);

// True when the commit that is checked out, or the index, has this path: then git wrote the file
// there. -1: the commit or the index cannot be read.
int repository_tracks(bool *out, const struct repository *repository, const char *path,
                      struct error *err);
// Refuses (-1) a path that git wrote while the commit that is checked out may be a stranger's: a
// link on the way may lead anywhere, and a file or folder of results may be made up. 0 for a path
// outside of repositories.
enum brought {
    BROUGHT_LINKS,   // links on the way: for a path that is written anew, in place of a file
    BROUGHT_ANYTHING // the file or folder too: for a path that is read as well
};
int repository_refuse_brought(const char *path, enum brought what, struct error *err);
// The root of the innermost checkout around `path` whose commit may be a stranger's: files there
// may have been built from that commit. NULL: there is no such checkout. Caller frees.
int repository_strangers(char **root, const char *path, struct error *err);

// The user's name and address as git's configuration says them, with all of its files, includes and
// worktrees; in the arena. The error says how to set it.
int repository_user(char **name, char **mail, const struct repository *repository,
                    struct arena *arena, struct error *err);

// One commit by any revision git understands (HEAD, v1.2, abc123, main~3). A short name that is a
// tag's and a branch's, or one that digits of an id look like, is refused unless all are one
// commit; refs/heads/main and its like are that reference only. The error says when the repository
// has no commit yet, and when a shallow clone may be why a revision is not there.
int repository_commit(struct commit *out, const struct repository *repository, const char *revision,
                      struct arena *arena, struct error *err);
// The first parent of a commit. -1: the commit is a root, or the edge of a shallow clone (the text
// says how to fetch the rest).
int repository_parent(struct commit *out, const struct repository *repository,
                      const struct commit *commit, struct arena *arena, struct error *err);
// The commit where a branch left another: what a pull request is compared with.
int repository_merge_base(struct commit *out, const struct repository *repository, const char *a,
                          const char *b, struct arena *arena, struct error *err);
// Whether `commit` comes after `ancestor`; also true where the repository cannot tell, as at the
// edge of a shallow clone.
bool repository_descends(const struct repository *repository, const char *commit,
                         const char *ancestor);

// Selects commits. range: "A..B" (in B but not in A), "A..", one revision (that commit alone),
// "ALL" (all that any branch, tag or HEAD reaches), "TAGS" (tagged commits), "LINE" (HEAD and its
// first parents).
struct commit_selection {
    const char *range;
    size_t steps;      // > 0: at most so many, evenly spaced, the first and last always among them
    bool first_parent; // walk first parents only: one commit per merge
    // Selects of a range or ALL only the first commit, and commits that differ from their first
    // parent in one of these files or folders (none: the whole tree), and counts the others.
    bool only_changes;
    const char *const *paths;
    size_t path_count;
};
struct commit_list {
    struct commit *items; // parents before children; by committer time where that leaves a choice
    size_t count;
    size_t passed_over; // of a selection by only_changes, before it was thinned out
};
int repository_select(struct commit_list *out, const struct repository *repository,
                      const struct commit_selection *selection, struct arena *arena,
                      struct error *err);

// Object id of a file or folder at a commit, "" when the path is not there: equal ids are equal
// contents. path "" is the whole tree. The id of a submodule, and of each path in it, is the commit
// that it is pinned to.
int repository_path_id(char out[OBJECT_ID_TEXT], const struct repository *repository,
                       const char *commit, const char *path, struct error *err);

// All files below the given paths (count 0: the whole tree) at a commit, links and submodules too.
// A path that is not there adds no files.
struct path_list {
    const char **items; // in the tree's order
    size_t count;
    bool links;             // a symbolic link is among them
    const char *submodules; // those at or around the paths, with their commits: equal texts are
                            // equal contents; "" without any
};
int repository_names(struct path_list *out, const struct repository *repository, const char *commit,
                     const char *const *paths, size_t path_count, struct arena *arena,
                     struct error *err);

// One file's bytes at a commit, NUL-terminated beyond `size` for convenience; at most 1 MiB.
// -1 when it is not there, not a regular file or larger. It may lie in a submodule. Caller frees.
int repository_read(char **out, size_t *size, const struct repository *repository,
                    const char *commit, const char *path, struct error *err);

// Writes the given paths (files or folders; count 0: the whole tree) of a commit under `directory`,
// which must be absolute and not exist yet, its parent must. Contents are the committed bytes: no
// filters, no line-end conversion, large-file pointers stay pointers. Submodules are written too,
// at the commits that are pinned, from the objects that are on this machine
// (runner/git/submodule.h). A path may lead into one. Refused, with the path: names that leave the
// directory, links that point out of the export, names that differ in case only on a file system
// that folds case. On failure nothing is left behind. 0, -1, or what follows; `err` says which.
enum export_end {
    EXPORT_REFUSED = 1, // the commit's fault: refused as above, or no path is there
    EXPORT_LACKS        // a submodule's commit is not on this machine
};

// A file is in memory while it is written: one that is larger than `allowed_bytes` (0: no such
// limit) is refused, one that is larger than `free_bytes` is this machine's failure.
struct export_terms {
    uint64_t allowed_bytes, free_bytes;
    const char *const *without; // paths of submodules that stay empty folders
    size_t without_count;
};
// Entries that the export holds otherwise than a person may expect.
struct export_seen {
    size_t count;
    char first[256]; // its path
};
struct exported {
    struct export_seen pointers; // of Git LFS, in place of files
    struct export_seen nameless; // submodules that .gitmodules does not name: empty folders
    struct export_seen absent;   // paths that are not in the commit
};
// out: may be NULL.
int repository_export(struct exported *out, const struct repository *repository, const char *commit,
                      const char *const *paths, size_t count, const struct export_terms *terms,
                      const char *directory, struct error *err);

// Counts the submodules that an export of the paths would write. Fails where that export would fail
// because of them; writes nothing.
int repository_submodules(size_t *out, const struct repository *repository, const char *commit,
                          const char *const *paths, size_t count, const struct export_terms *terms,
                          struct error *err);

// Files that differ between two commits, with lines added and removed (0 for binary files).
struct file_change {
    const char *path;     // in `to`; in `from` when it was deleted
    const char *old_path; // differs from path when renamed
    char status;          // A added, D deleted, M modified, R renamed, T changed type
    uint32_t added, removed;
};
struct file_change_list {
    struct file_change *items; // in the order of their paths
    size_t count;
};
int repository_changes(struct file_change_list *out, const struct repository *repository,
                       const char *from, const char *to, struct arena *arena, struct error *err);

// Lists files whose content nobody committed yet: tracked files of the checkout, at or below
// `paths` (none: all), that differ from the commit, and files that were added to the index. Missing
// files are passed over, for a sparse checkout lacks most.
int repository_edited(struct path_list *out, const struct repository *repository,
                      const char *commit, const char *const *paths, size_t path_count,
                      struct arena *arena, struct error *err);

// The id git gives these bytes as a blob: SHA-1 with collision detection. Used for cache keys and
// code ids.
void content_id(char out[OBJECT_ID_TEXT], const void *bytes, size_t size);

#endif
