// SPDX-License-Identifier: Apache-2.0
//
// Ids where memory ends, whichever allocation is the last: a process that has none left says so and
// ends, and no id is that of half a text.
// Label: unsanitized
#include "runner/build/build.h"
#include "runner/code/code_id.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static long asked;                             // allocations
static long first = LONG_MAX, last = LONG_MAX; // of those that are not given

static bool gives(void)
{
    const bool given = asked < first || asked > last;
    asked++;
    if (!given)
        errno = ENOMEM;
    return given;
}

// This program's own, in place of the C library's.
void *malloc(size_t size)
{
    return gives() ? __libc_malloc(size) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return gives() ? __libc_calloc(count, size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    return gives() ? __libc_realloc(memory, size) : NULL;
}

typedef int make_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err);

// Whether an id came without these allocations, which is then the right one.
static bool comes_without(long from, long to, make_id *make, const char *path, const char *right)
{
    static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    char id[OBJECT_ID_TEXT] = "";
    struct error err;
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        for (size_t i = 0; i < ARRAY_COUNT(faults); i++)
            signal(faults[i], SIG_DFL); // which cmocka takes for a test that failed
        asked = 0;
        first = from;
        last = to;
        if (make(id, path, &err))
            _exit(1);
        _exit(write(ends[1], id, sizeof(id)) == sizeof(id) ? 0 : 2);
    }
    close(ends[1]);
    const ssize_t told = read(ends[0], id, sizeof(id));
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (told == sizeof(id)) {
        if (strcmp(id, right) != 0)
            fail_msg("another id without allocations %ld to %ld", from, to);
        return true;
    }
    // An error, out of memory, or a fault of the C library, of which fts_open() has one.
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 4);
    return false;
}

// Memory that ends, and memory that is there again for the next who asks.
static void no_half(make_id *make, const char *path)
{
    char right[OBJECT_ID_TEXT];
    struct error err;
    long none = 0;
    for (int i = 0; i < 2; i++) { // the first readies libraries besides
        asked = 0;
        if (make(right, path, &err))
            fail_msg("%s", err.text);
    }
    const long all = asked;
    for (long i = 0; i < all; i++) {
        none += !comes_without(i, LONG_MAX, make, path, right);
        none += !comes_without(i, i, make, path, right);
    }
    print_message("no id without %ld of 2 x %ld allocations\n", none, all);
    assert_true(none >= 10); // its text grows five times
}

AROUND_ALL(library_set_up, library_tear_down);

TEST(a_librarys_id_is_whole_or_none)
{
    library_compile("plain", library_plain, "");
    char *path = library_path("plain.so");
    no_half(code_id, path);
    free(path);
}

static int id_in_output(char out[OBJECT_ID_TEXT], const char *path, struct error *err)
{
    char *library = xprintf("%s/a.so", path);
    const int status =
        code_ids((char(*)[OBJECT_ID_TEXT])out, (const char *[]){library}, 1, path, NULL, err);
    free(library);
    return status;
}

// What lies beside the library counts: enough for a text that grows.
TEST(the_id_of_a_library_in_its_output_is_whole_or_none)
{
    char *folder = library_path("output"), *real;
    library_shell("mkdir output");
    library_compile("output/a", library_plain, "");
    library_shell("for i in $(seq 100); do echo $i >output/table.$i; done");
    real = realpath(folder, NULL);
    no_half(id_in_output, real);
    free(real);
    free(folder);
}

static int overlay_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err)
{
    struct arena arena = {0};
    struct overlay overlay;
    const int status = overlay_open(&overlay, path, &arena, err);
    if (status == 0)
        memcpy(out, overlay.id, OBJECT_ID_TEXT);
    arena_free(&arena);
    return status;
}

TEST(an_overlays_id_is_whole_or_none)
{
    char *folder = library_path("overlay");
    library_shell("mkdir overlay && for i in $(seq 100); do echo $i >overlay/table.$i; done");
    no_half(overlay_id, folder);
    free(folder);
}
