// SPDX-License-Identifier: Apache-2.0
//
// Plans with their cubins: what goes together, what the record of a problem holds, what counts for
// the code id, and what is refused by name.
#include "runner/bench/measure.h"
#include "runner/code/code_id.h"
#include "runner/code/plan_file.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN                                                                                       \
    "[kernel]\n\tname = add\n\tin = fp32\n\tout = fp32\n[launch \"one\"]\n\tcubin = add.cubin\n"   \
    "\tentry = _Z3addPfi\n\tgrid = ceil_div(m, 64)\n\tblock = 64\n\tparameter = pointer c\n"       \
    "\tparameter = int32 n\n"

// A kernel of a pointer and a number, where a compiler could have put them.
static struct cubin_plan add_cubin(void)
{
    struct cubin_plan plan = library_usual_cubin;
    plan.parameter_count = 2;
    plan.parameters[0].offset = 16;
    plan.parameters[0].bytes = 8;
    plan.parameters[1].offset = 24;
    plan.parameters[1].bytes = 4;
    return plan;
}

static void write_cubin(const char *name, const struct cubin_plan *plan)
{
    struct cubin cubin;
    char *path = library_path(name);
    cubin_make(&cubin, plan);
    helper_write(path, cubin.bytes, cubin.used);
    free(path);
}

static char *write_plan(const char *text)
{
    char *path = library_path("add.plan");
    helper_write_text(path, text);
    return path;
}

// "": it opens.
static const char *trouble_of(const char *text)
{
    static struct error err;
    struct plan_file file;
    char *path = write_plan(text);
    err.text[0] = '\0';
    if (plan_file_open(&file, path, &err) == 0)
        plan_file_close(&file);
    free(path);
    return err.text;
}

static const char *id_of(const char *text)
{
    static char ids[8][OBJECT_ID_TEXT];
    static int next;
    char *out = ids[next++ % 8], *path = write_plan(text);
    struct plan_file file;
    struct error err;
    if (plan_file_open(&file, path, &err) || plan_file_code_id(out, &file, &err))
        fail_msg("%s", err.text);
    plan_file_close(&file);
    free(path);
    return out;
}

AROUND_ALL(library_set_up, library_tear_down);

TEST(parameters_lie_where_the_device_code_says)
{
    const struct cubin_plan plan = add_cubin();
    struct problem problem;
    struct bench_outcome outcome;
    struct error err;
    struct arena arena = {0};
    struct record record;
    size_t size;
    write_cubin("add.cubin", &plan);
    char *path = write_plan(PLAN), *to = library_path("add.record");
    assert_int_equal(problem_parse(&problem, "200x48x8:fp32", &err), 0);
    assert_int_equal(record_of_plan(&outcome, to, path, &problem, 132, &err), 0);
    if (outcome.state != MEASURED_OK)
        fail_msg("%s", outcome.detail);
    char *bytes = helper_read(to, &size);
    if (record_parse(&record, bytes, size, &arena, &err))
        fail_msg("%s", err.text);
    assert_string_equal(record.kernel, "add");
    assert_int_equal(record.image_count, 1);
    struct cubin cubin;
    cubin_make(&cubin, &plan);
    assert_int_equal(record.images[0].size, cubin.used);
    assert_memory_equal(record.images[0].bytes, cubin.bytes, cubin.used);
    const struct record_launch *launch = &record.launches[0];
    assert_int_equal(launch->grid[0], 4);
    assert_int_equal(launch->parameters[0].offset, 16);
    assert_int_equal(launch->addresses[0].at, 16);
    assert_int_equal(launch->bytes[24], 48);
    // A problem that the plan does not do leaves no file.
    unlink(to);
    assert_int_equal(problem_parse(&problem, "200x48x8:bf16", &err), 0);
    assert_int_equal(record_of_plan(&outcome, to, path, &problem, 132, &err), 0);
    assert_int_equal(outcome.state, MEASURED_UNSUPPORTED);
    assert_false(helper_exists("/", to));
    arena_free(&arena);
    free(bytes);
    free(path);
    free(to);
}

TEST(the_functions_of_a_plans_cubins_are_read)
{
    const struct cubin_plan plan = add_cubin();
    struct code_function_list list;
    struct arena arena = {0};
    struct error err;
    write_cubin("add.cubin", &plan);
    char *path = write_plan(PLAN);
    if (code_resources(&list, path, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(list.count, 1);
    assert_true(list.complete);
    assert_string_equal(list.items[0].name, "_Z3addPfi");
    assert_string_equal(list.items[0].architecture, "sm_90");
    assert_int_equal(list.items[0].registers, plan.registers);
    free(path);
    // A cubin that is launched twice is there once.
    path =
        write_plan(PLAN "[launch \"two\"]\n\tcubin = add.cubin\n\tentry = _Z3addPfi\n\tgrid = 1\n"
                        "\tblock = 64\n\tparameter = pointer c\n\tparameter = int32 n\n");
    if (code_resources(&list, path, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(list.count, 1);
    arena_free(&arena);
    free(path);
}

TEST(launches_and_device_code_make_the_code_id)
{
    struct cubin_plan plan = add_cubin();
    write_cubin("add.cubin", &plan);
    write_cubin("other.cubin", &plan);
    char first[OBJECT_ID_TEXT];
    text_copy(first, sizeof(first), id_of(PLAN));
    static const char *const same[] = {
        "# A comment\n" PLAN,
        "[kernel]\n\tname = other\n\tin=fp32\n\tout = fp32\n\tsummary = what it is\n\tstages = 4\n"
        "[launch \"one\"]\ncubin = other.cubin\nentry = _Z3addPfi\ngrid =   ceil_div(m,  64)\n"
        "block = 64 ; a comment\nparameter = pointer c\nparameter = int32 n\n",
    };
    static const char *const different[] = {
        PLAN "\tshared = 1024\n",
        PLAN "\tcluster = 2\n",
        "[kernel]\n\tname = add\n\tin = fp32\n\tout = fp32\n[launch \"one\"]\n\tcubin = add.cubin\n"
        "\tentry = _Z3addPfi\n\tgrid = ceil_div(m, 32)\n\tblock = 64\n\tparameter = pointer c\n"
        "\tparameter = int32 n\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(same); i++)
        assert_string_equal(id_of(same[i]), first);
    for (size_t i = 0; i < ARRAY_COUNT(different); i++)
        assert_string_not_equal(id_of(different[i]), first);
    plan.code[20] ^= 1;
    write_cubin("add.cubin", &plan);
    assert_string_not_equal(id_of(PLAN), first);
}

TEST(what_does_not_go_together_is_refused_by_name)
{
    struct cubin_plan plan = add_cubin();
    char *cubin = library_path("add.cubin"), *elsewhere = library_path("elsewhere");
    unlink(cubin);
    assert_non_null(strstr(trouble_of(PLAN), "add.plan:5: cubin add.cubin: there is no file"));
    write_cubin("elsewhere", &plan);
    assert_int_equal(symlink(elsewhere, cubin), 0);
    assert_non_null(strstr(trouble_of(PLAN), "there is no file add.cubin"));
    unlink(cubin);
    helper_write_text(cubin, "not a cubin");
    assert_non_null(strstr(trouble_of(PLAN), "add.cubin is not a cubin"));
    plan.kernel = "_Z3subPfi";
    write_cubin("add.cubin", &plan);
    assert_non_null(strstr(trouble_of(PLAN), "there is no function _Z3addPfi"));
    plan = add_cubin();
    write_cubin("add.cubin", &plan);
    assert_string_equal(trouble_of(PLAN), "");
    // Whatever the problem: the parameters are not those of the code.
    assert_non_null(
        strstr(trouble_of("[kernel]\n\tname = add\n\tin = fp32\n\tout = fp32\n[launch \"one\"]\n"
                          "\tcubin = add.cubin\n\tentry = _Z3addPfi\n\tgrid = 1\n\tblock = 64\n"
                          "\tparameter = pointer c\n\tparameter = int64 n\n"),
               "add.plan:5: _Z3addPfi: parameter 1 has 4 bytes at 24, and this says 8"));
    assert_non_null(strstr(trouble_of(PLAN "\tparameter = int32 m\n"),
                           "add.plan:5: _Z3addPfi has 2 parameters, and this says 3"));
    // A cubin may lie about its parameters too.
    plan.parameters[1].bytes = 0;
    write_cubin("add.cubin", &plan);
    assert_non_null(strstr(trouble_of(PLAN), "cannot be read"));
    free(cubin);
    free(elsewhere);
}
