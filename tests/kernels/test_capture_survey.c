// SPDX-License-Identifier: Apache-2.0
//
// What a captured program's launches are counted as, however long it runs.
#include "tests/helpers/test.h"

#ifdef TEST_CUDA_HEADERS
#include "kernels/capture/capture.h"
#include "model/record/record.h"
#include "tests/helpers/helper_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct wish wishes[WISHES_MOST];
size_t wish_count = 1;
bool wish_times;
static char *folder;

bool allocation_of(uint64_t word, CUdeviceptr *base, size_t *bytes)
{
    (void)word, (void)base, (void)bytes;
    return false;
}

const char *taken_file(size_t wish)
{
    (void)wish;
    return NULL;
}

const char *taken_refused(size_t wish)
{
    (void)wish;
    return "";
}

static const struct record_parameter number = {0, 8};

static void launch(const struct function *function, uint32_t grid, uint64_t parameter,
                   uint32_t call)
{
    struct seen seen = SEEN_NONE;
    seen.function = function;
    seen.grid[0] = grid;
    memcpy(seen.bytes, &parameter, sizeof(parameter));
    survey_count(&seen, call);
}

static int read_back(struct survey *out, struct arena *arena)
{
    struct error err;
    char *path = xprintf("%s/survey.%d", folder, (int)getpid());
    size_t size;
    if (access(path, F_OK) != 0) {
        free(path);
        return -1;
    }
    char *text = helper_read(path, &size);
    const int status = survey_parse(out, text, size, arena, &err);
    free(path);
    free(text);
    return status;
}

static const struct survey_kernel *kernel_of(const struct survey *survey, const char *name)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (strcmp(survey->kernels[i].name, name) == 0)
            return &survey->kernels[i];
    }
    return NULL;
}

// A random generator's offset is another number in each launch: they are one line from the 65th on,
// and none is lost. A million of them take a moment, for none looks through those before it.
TEST(numbers_that_never_come_back_are_one_shape)
{
    enum { LAUNCHES = 1000000, APART = 64 };
    static struct function random = {.name = "random", .parameter_count = 1},
                           again = {.name = "again", .parameter_count = 1};
    struct arena arena = {0};
    struct survey survey;
    uint64_t launches = 0, of_random = 0;
    random.parameters = again.parameters = (struct record_parameter *)(uintptr_t)&number;
    for (uint32_t i = 0; i < LAUNCHES; i++)
        launch(i % 2 ? &random : &again, 4, i % 2 ? i : 7, i);
    survey_write();
    assert_int_equal(read_back(&survey, &arena), 0);
    for (size_t i = 0; i < survey.count; i++) {
        of_random += strcmp(survey.kernels[i].name, "random") == 0;
        launches += survey.kernels[i].launches;
    }
    assert_int_equal(of_random, APART + 1);
    assert_int_equal(launches, LAUNCHES);
    assert_int_equal(kernel_of(&survey, "again")->launches, LAUNCHES / 2);
    arena_free(&arena);
}

// CUPTI tells times some thousand launches later.
TEST(times_find_their_launches)
{
    static struct function quick = {.name = "quick"}, slow = {.name = "slow"};
    struct arena arena = {0};
    struct survey survey;
    for (uint32_t i = 0; i < 30000; i++)
        launch(i % 3 ? &quick : &slow, 1, 0, 5000000 + i);
    for (uint32_t i = 0; i < 30000; i++)
        survey_time(5000000 + i, i % 3 ? 10 : 1000);
    survey_time(4000000, 1e9); // nobody's
    survey_write();
    assert_int_equal(read_back(&survey, &arena), 0);
    assert_float_equal(kernel_of(&survey, "quick")->time_ns, 10, 1e-9);
    assert_float_equal(kernel_of(&survey, "slow")->time_ns, 1000, 1e-9);
    arena_free(&arena);
}

// The `launch` of a policy counts those of one name, whichever module each is of.
TEST(launches_of_a_name_are_counted_together)
{
    static struct function one = {.name = "twice"}, other = {.name = "twice"};
    struct arena arena = {0};
    struct survey survey;
    uint64_t first = 0;
    launch(&one, 1, 0, 0);
    launch(&one, 1, 0, 0);
    launch(&other, 2, 0, 0);
    survey_write();
    assert_int_equal(read_back(&survey, &arena), 0);
    for (size_t i = 0; i < survey.count; i++) {
        if (strcmp(survey.kernels[i].name, "twice") == 0 && survey.kernels[i].grid[0] == 2)
            first = survey.kernels[i].first;
    }
    assert_int_equal(first, 3);
    arena_free(&arena);
}

// Where a range that was asked for never opens, those that did are named.
TEST(ranges_are_named_once_and_counted)
{
    static const char *const names[] = {"layer", "block.1", "layer", "block.2", "a", "b", "c"};
    struct arena arena = {0};
    struct survey survey;
    wishes[0].range = "block.*";
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        survey_range(names[i]);
    survey_write();
    wishes[0].range = NULL;
    assert_int_equal(read_back(&survey, &arena), 0);
    assert_int_equal(survey.pushes, 2);
    assert_string_equal(survey.ranges, "layer, block.1, block.2, a, b, c");
    arena_free(&arena);
}

// Whoever is killed has told until then.
TEST(a_running_program_is_told_of)
{
    static struct function server = {.name = "server"};
    struct arena arena = {0};
    struct survey survey = {0};
    char *path = xprintf("%s/survey.%d", folder, (int)getpid());
    unlink(path);
    for (int i = 0; i < 300 && read_back(&survey, &arena); i++) {
        launch(&server, 1, 0, 0);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    assert_non_null(kernel_of(&survey, "server"));
    arena_free(&arena);
    free(path);
}

// What went wrong first is told; what follows from it is not.
TEST(the_first_note_is_told)
{
    struct arena arena = {0};
    struct survey survey;
    survey_note("the driver has no %s", "cuMemcpy");
    survey_note("nothing was watched");
    survey_write();
    assert_int_equal(read_back(&survey, &arena), 0);
    assert_string_equal(survey.note, "the driver has no cuMemcpy");
    arena_free(&arena);
}

static int set_up(void **state)
{
    folder = helper_directory();
    wishes[0] = (struct wish){.folder = folder};
    wish_times = true;
    return 0;
}

AROUND_ALL(set_up, NULL);

#else
int main(void)
{
    return program_skipped("CUDA", "its toolkit's headers are not here");
}
#endif
