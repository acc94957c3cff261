// SPDX-License-Identifier: Apache-2.0
//
// Reads commits and their files through libgit2. Nothing is written to the user's checkout, index,
// branches and configuration, and no git program is needed. Works on bare repositories.
//
// Input: a directory, and revisions as git writes them. Output: struct commit (model/result.h),
// whose strings live in the given arena; file contents and object ids. What a commit contains is
// hostile: names, sizes, symbolic links and messages are checked or refused here, with the commit
// and the path.
#ifndef PLUMB_REPOSITORY_H
#define PLUMB_REPOSITORY_H

#include "model/result.h"

struct repository;

// The version of libgit2 that is loaded.
const char *repository_library(void);

// Opens the repository that contains `directory`, as git would find it. A repository that a commit
// of another repository contains is not opened, because the commit would control its configuration.
// The caller closes.
int repository_open(struct repository **out, const char *directory, struct error *err);
void repository_close(struct repository *repository);
// Returns the root of the checkout, or the git directory of a bare repository: absolute, without a
// '/' at the end.
const char *repository_directory(const struct repository *repository);
bool repository_is_bare(const struct repository *repository); // there is no checkout
// Returns the last part of that path without ".git", which reports show. Borrowed until close.
const char *repository_name(const struct repository *repository);

// Makes the address at which the remote `origin`, or else `upstream`, shows a commit, with %s in
// place of its id. NULL: there is no remote, or its forge is not known. In the arena.
const char *repository_commit_url(const struct repository *repository, struct arena *arena);

// Says who is trusted in a checkout that may hold a stranger's pull request. The checkout is the
// user's own in two cases, neither of which a commit can bring about: there is no remote that it
// could come from and nothing was fetched, or git's configuration says plumb.trustCheckout = true.
// Otherwise the remote's branch is trusted to which its HEAD leads, of upstream or origin; without
// a HEAD its main or its master, if only one of them is there. A bare clone has no branches of
// remotes, so there it is HEAD.
struct repository_trust {
    bool own;
    char commit[OBJECT_ID_TEXT]; // id of the trusted branch's commit; "" when there is no such
                                 // branch
    const char *branch;          // the branch's name, a static text; NULL when there is no such
                                 // branch
    bool unclear;                // there is none because main and master are both there
};
void repository_trusted(struct repository_trust *out, const struct repository *repository);
// Whether the trusted branch has the commit, given by its full id. Where a shallow clone cannot
// tell, the answer is no.
bool repository_accepts(const struct repository *repository, const struct repository_trust *trust,
                        const char *commit);

// Whether the checked-out commit or the index has this path, so that git wrote the file there. -1:
// the commit or the index cannot be read.
int repository_tracks(bool *out, const struct repository *repository, const char *path,
                      struct error *err);
// Refuses (-1) a path that git wrote, if the checked-out commit may be a stranger's: a link in the
// path may lead anywhere, and a file or folder of results may be forged. 0 for a path outside of
// repositories.
enum brought {
    BROUGHT_LINKS,   // only links in the path are refused: for a path at which a new file replaces
                     // another
    BROUGHT_ANYTHING // the file or folder itself is refused, too: for a path that is also read
};
int repository_refuse_brought(const char *path, enum brought what, struct error *err);
// Finds the root of the innermost checkout around `path` whose commit may be a stranger's; files
// there may have been built from that commit. NULL: there is no such checkout. The caller frees.
int repository_strangers(char **root, const char *path, struct error *err);

// Reads the user's name and address from git's configuration, with all its files, includes and
// worktrees; in the arena. The error says how to set them.
int repository_user(char **name, char **mail, const struct repository *repository,
                    struct arena *arena, struct error *err);

// Finds one commit by any revision that git understands (HEAD, v1.2, abc123, main~3). A short name
// is refused if it stands for different commits: it may name a tag and a branch, or look like the
// digits of an id. refs/heads/main and the like name exactly that reference. The error says when
// the repository has no commit yet, and when the reason may be a shallow clone.
int repository_commit(struct commit *out, const struct repository *repository, const char *revision,
                      struct arena *arena, struct error *err);
// Finds the first parent of a commit. -1: the commit is a root, or lies at the edge of a shallow
// clone (the text says how to fetch the rest).
int repository_parent(struct commit *out, const struct repository *repository,
                      const struct commit *commit, struct arena *arena, struct error *err);
// Finds the commit at which a branch left another one; a pull request is compared with it.
int repository_merge_base(struct commit *out, const struct repository *repository, const char *a,
                          const char *b, struct arena *arena, struct error *err);
// Whether `ancestor` is an ancestor of `commit`; also true if the repository cannot tell, as at the
// edge of a shallow clone.
bool repository_descends(const struct repository *repository, const char *commit,
                         const char *ancestor);

// Selects commits. range: "A..B" (in B but not in A), "A..", one revision (only that commit), "ALL"
// (every commit that a branch, a tag or HEAD reaches), "TAGS" (tagged commits), "LINE" (HEAD and
// its first parents).
struct commit_selection {
    const char *range;
    size_t steps;      // > 0: the most commits, evenly spaced; the first and the last are always
                       // among them
    bool first_parent; // only first parents are followed, so that a merge gives one commit
    // Selects from a range or ALL only the first commit and those commits that change one of these
    // files or folders relative to their first parent (none: the whole tree). The others are
    // counted.
    bool only_changes;
    const char *const *paths;
    size_t path_count;
};
struct commit_list {
    struct commit *items; // parents before children; among others, by committer time
    size_t count;
    size_t passed_over; // number of commits that only_changes left out, before the selection was
                        // thinned
};
int repository_select(struct commit_list *out, const struct repository *repository,
                      const struct commit_selection *selection, struct arena *arena,
                      struct error *err);

// Finds the object id of a file or folder at a commit, "" when the path does not exist: equal ids
// mean equal contents. The path "" is the whole tree. The id of a submodule, and of each path in
// it, is the commit that it is pinned to.
int repository_path_id(char out[OBJECT_ID_TEXT], const struct repository *repository,
                       const char *commit, const char *path, struct error *err);

// Lists all files at or below the given paths (count 0: the whole tree) at a commit, including
// links and submodules. A path that does not exist adds none.
struct path_list {
    const char **items; // in the order of the tree
    size_t count;
    bool links;             // one of them is a symbolic link
    const char *submodules; // the submodules at or around the paths with their commits, as one
                            // text: equal texts mean equal contents; "" without submodules
};
int repository_names(struct path_list *out, const struct repository *repository, const char *commit,
                     const char *const *paths, size_t path_count, struct arena *arena,
                     struct error *err);

// Reads one file at a commit, at most 1 MiB; a NUL follows its `size` bytes. It may lie in a
// submodule. -1 when it does not exist, is no regular file or is larger. The caller frees.
int repository_read(char **out, size_t *size, const struct repository *repository,
                    const char *commit, const char *path, struct error *err);

// Writes the given paths (files or folders; count 0: the whole tree) of a commit under `directory`.
// This must be an absolute path that does not exist yet; its parent must exist. Contents are the
// committed bytes: there are no filters and no line-end conversion, and large-file pointers stay
// pointers. Submodules are written, too, at the commits to which they are pinned, from the objects
// on this machine (runner/git/submodule.h); a path may lead into one. These are refused, with the
// path: names that leave the directory, links that point out of the export, and, on a file system
// that ignores case, names that differ in case only. After a failure nothing is left behind.
// Returns 0, -1, or one of these; `err` has the reason.
enum export_end {
    EXPORT_REFUSED = 1, // the commit is to blame: something was refused, or none of the paths
                        // exists
    EXPORT_LACKS        // a submodule's commit is not on this machine
};

// Limits of an export. A file is in memory while it is written. A file larger than `allowed_bytes`
// (0: no such limit) is refused; a file larger than `free_bytes` is this machine's failure.
struct export_terms {
    uint64_t allowed_bytes, free_bytes;
    const char *const *without; // paths of submodules that become empty folders
    size_t without_count;
};
// Entries that the export contains in a form that a person may not expect.
struct export_seen {
    size_t count;
    char first[256]; // path of the first one
};
struct exported {
    struct export_seen pointers; // pointers of Git LFS, which stand in place of files
    struct export_seen nameless; // submodules that .gitmodules does not list; they become empty
                                 // folders
    struct export_seen absent;   // paths that the commit does not have
};
// `out` may be NULL.
int repository_export(struct exported *out, const struct repository *repository, const char *commit,
                      const char *const *paths, size_t count, const struct export_terms *terms,
                      const char *directory, struct error *err);

// Counts the submodules that an export of the paths would write, without writing. Fails where they
// would make that export fail.
int repository_submodules(size_t *out, const struct repository *repository, const char *commit,
                          const char *const *paths, size_t count, const struct export_terms *terms,
                          struct error *err);

// Lists the files that differ between two commits, with the numbers of lines added and removed (0
// for binary files).
struct file_change {
    const char *path;     // in `to`; for a deleted file, in `from`
    const char *old_path; // differs from `path` if the file was renamed
    char status;          // A added, D deleted, M modified, R renamed, T changed type
    uint32_t added, removed;
};
struct file_change_list {
    struct file_change *items; // sorted by path
    size_t count;
};
int repository_changes(struct file_change_list *out, const struct repository *repository,
                       const char *from, const char *to, struct arena *arena, struct error *err);

// Lists files with content that nobody has committed: tracked files of the checkout, at or below
// `paths` (none: all), that differ from the commit, and files that were added to the index. Missing
// files are ignored, because a sparse checkout lacks most files.
int repository_edited(struct path_list *out, const struct repository *repository,
                      const char *commit, const char *const *paths, size_t path_count,
                      struct arena *arena, struct error *err);

// Computes the id that git gives these bytes as a blob: SHA-1 with collision detection. Used for
// cache keys and code ids.
void content_id(char out[OBJECT_ID_TEXT], const void *bytes, size_t size);

#endif
