// SPDX-License-Identifier: Apache-2.0
//
// Folders are removed whole, and nothing beside them.
#include "runner/child/files.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(remove_does_not_follow_links_and_opens_closed_folders)
{
    struct error err;
    char *directory = helper_directory(), *tree = xprintf("%s/tree", directory);
    char *command = xprintf("cd '%s' && mkdir -p safe tree/a/b && touch safe/file tree/a/b/c && "
                            "ln -s ../safe tree/link && chmod 000 tree/a/b && chmod 555 tree/a",
                            directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(files_remove(tree, &err), 0);
    assert_false(helper_exists(directory, "tree"));
    assert_true(helper_exists(directory, "safe/file"));
    assert_int_equal(files_remove(tree, &err), 0); // again: not there is fine
    helper_discard(directory);
    free(command);
    free(tree);
    free(directory);
}

TEST(a_scratch_folder_that_cannot_be_made_is_told_and_has_no_name)
{
    struct error err = {""};
    char out[64] = "before", *kept = xstrdup(getenv("TMPDIR"));
    setenv("TMPDIR", "/proc/self", 1);
    assert_int_equal(files_temporary(out, sizeof(out), &err), -1);
    assert_non_null(strstr(err.text, "/proc/self/plumb-"));
    assert_string_equal(out, "");
    setenv("TMPDIR", kept, 1);
    free(kept);
}

// A user who is not root must be let into his own folders first, and not into another's.
static int remove_as_nobody(const char *directory)
{
    enum { NOBODY = 65534 };
    struct error err;
    char *own = xprintf("%s/own", directory), *foreign = xprintf("%s/foreign", directory);
    char *make = xprintf("mkdir -p '%s/a/b' && touch '%s/a/b/c' && chmod 000 '%s/a/b' && "
                         "chmod 555 '%s/a' '%s'",
                         own, own, own, own, own);
    int code = 0;
    if (setgid(NOBODY) || setuid(NOBODY))
        code = 77;
    else if (system(make) != 0)
        code = 1;
    else if (files_remove(own, &err) || access(own, F_OK) == 0)
        code = 2;
    else if (files_remove(foreign, &err) == 0)
        code = 3;
    else if (!strstr(err.text, "foreign: cannot remove: Permission denied"))
        code = 4;
    free(make);
    free(foreign);
    free(own);
    return code;
}

TEST(remove_is_for_folders_of_ones_own)
{
    char *directory = helper_directory();
    char *command = xprintf(
        "cd '%s' && chmod 777 . && mkdir -p foreign/kept && touch foreign/kept/x", directory);
    int status;
    assert_int_equal(system(command), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(remove_as_nobody(directory));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(helper_exists(directory, "foreign/kept/x"));
    helper_discard(directory);
    free(command);
    free(directory);
    if (WEXITSTATUS(status) == 77)
        skip_without("root", "this user cannot become another one");
    assert_int_equal(WEXITSTATUS(status), 0);
}

// Puts a link in the place of a closed folder and the folder in the place of the link, again and
// again, as a build could while it is measured.
_Noreturn static void exchange(const char *directory)
{
    char *closed = xprintf("%s/own/closed", directory), *link = xprintf("%s/own/link", directory);
    for (;;)
        renameat2(AT_FDCWD, closed, AT_FDCWD, link, RENAME_EXCHANGE);
}

// What the link leads to is in `outside`, whose rights stay. Returns 77 if this user cannot become
// another one.
static int size_beside_an_exchange(const char *directory)
{
    enum { NOBODY = 65534, LOOKS = 20000 };
    char *own = xprintf("%s/own", directory), *outside = xprintf("%s/outside", directory);
    char *make =
        xprintf("mkdir -p '%s/closed' '%s' && ln -s ../outside '%s/link' && chmod 755 '%s'", own,
                outside, own, outside);
    struct stat status = {0};
    pid_t other = -1;
    int code = 0;
    if (setgid(NOBODY) || setuid(NOBODY))
        code = 77;
    else if (system(make) != 0 || (other = fork()) < 0)
        code = 1;
    if (other == 0)
        exchange(directory);
    char *closed = xprintf("%s/closed", own);
    for (int i = 0; i < LOOKS && code == 0; i++) {
        fchmodat(AT_FDCWD, closed, 0, AT_SYMLINK_NOFOLLOW); // it may be the link now
        files_size(own);
        if (stat(outside, &status) || (status.st_mode & 0777) != 0755)
            code = 2;
    }
    if (other > 0)
        kill(other, SIGKILL);
    free(closed);
    free(make);
    free(outside);
    free(own);
    return code;
}

TEST(a_size_opens_no_folder_to_which_a_link_leads)
{
    char *directory = helper_directory();
    int status;
    assert_int_equal(chmod(directory, 0777), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(size_beside_an_exchange(directory));
    assert_int_equal(waitpid(child, &status, 0), child);
    helper_discard(directory);
    free(directory);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_without("root", "this user cannot become another one");
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(a_size_is_of_all_that_is_there)
{
    char *directory = helper_directory();
    char *command =
        xprintf("cd '%s' && mkdir a && head -c 100000 /dev/zero >a/b && ln -s a c", directory);
    char *none = xprintf("%s/none", directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(files_size(none), 0);
    assert_true(files_size(directory) >= 100000 && files_size(directory) < 200000);
    helper_discard(directory);
    free(none);
    free(command);
    free(directory);
}

// Deeper than a path may be long, and than there are descriptors; some of it closed to its owner.
TEST(remove_takes_any_depth)
{
    struct error err;
    char *directory = helper_directory(), *tree = xprintf("%s/tree", directory);
    const int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdir(tree, 0777), 0);
    assert_int_equal(chdir(tree), 0);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdir("nested-folder", 0777), 0);
        assert_int_equal(mkdir("moved-0", i % 7 ? 0777 : 0500), 0);
        assert_int_equal(chdir("nested-folder"), 0);
    }
    assert_int_equal(close(open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), 0);
    assert_int_equal(fchdir(home), 0);
    assert_int_equal(files_remove(tree, &err), 0);
    assert_false(helper_exists(directory, "tree"));
    close(home);
    helper_discard(directory);
    free(tree);
    free(directory);
}

TEST(read_takes_texts_and_nothing_else)
{
    char *directory = helper_directory();
    char *command = xprintf("cd '%s' && printf abc >text && ln -s text link && mkfifo pipe && "
                            "printf 'a\\0b' >bytes && mkdir folder",
                            directory);
    static const char *const refused[] = {"link", "pipe", "bytes", "folder", "none"};
    assert_int_equal(system(command), 0);
    char *path = xprintf("%s/text", directory), *text = files_read(path, 3);
    assert_string_equal(text, "abc");
    assert_null(files_read(path, 2));
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        char *other = xprintf("%s/%s", directory, refused[i]);
        assert_null(files_read(other, 100));
        free(other);
    }
    helper_discard(directory);
    free(text);
    free(path);
    free(command);
    free(directory);
}

TEST(copy_makes_a_new_file)
{
    struct error err;
    char *directory = helper_directory();
    char *command = xprintf("cd '%s' && head -c 200000 /dev/urandom >from && chmod +x from && "
                            "ln -s from link && printf there >there",
                            directory);
    assert_int_equal(system(command), 0);
    char *from = xprintf("%s/from", directory), *to = xprintf("%s/to", directory);
    char *there = xprintf("%s/there", directory), *link = xprintf("%s/link", directory);
    char *same = xprintf("cmp -s '%s' '%s' && test -x '%s'", from, to, to);
    assert_int_equal(files_copy(from, to, &err), 0);
    assert_int_equal(system(same), 0);
    assert_int_equal(files_copy(from, there, &err), -1);
    assert_true(helper_says(there, "there"));
    assert_int_equal(files_copy(link, there, &err), -1);
    helper_discard(directory);
    free(same);
    free(link);
    free(there);
    free(to);
    free(from);
    free(command);
    free(directory);
}

// A log in a file that is open already: its beginning and its end stay, and its end can be read.
TEST(a_log_of_an_open_file_keeps_both_ends)
{
    struct log log;
    char *directory = helper_directory(), *path = xprintf("%s/log", directory);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    log_attach(&log, dup(fd), 80);
    log_write(&log, "first\n", 6);
    for (int i = 0; i < 100; i++)
        log_write(&log, "between\n", 8);
    log_write(&log, "last\0\n", 6);
    log_close(&log);
    char *all = log_tail_of(fd, 1000), *end = log_tail_of(fd, 12), *none = log_tail_of(-1, 10);
    assert_ptr_equal(strstr(all, "first\nbetween\n"), all);
    assert_non_null(strstr(all, " bytes dropped ...]\n"));
    assert_string_equal(end, "last?\n"); // a whole line, and a text
    assert_string_equal(none, "");
    free(none);
    free(end);
    free(all);
    close(fd);
    helper_discard(directory);
    free(path);
    free(directory);
}
