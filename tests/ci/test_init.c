// SPDX-License-Identifier: Apache-2.0
//
// What `plumb init` writes builds and gates as it is: for each form from an empty repository, and
// for a history of one's own kernels without a line in it. CUDA forms are built and judged by their
// machine code where nvcc is; without it they are skipped aloud.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"

#include "model/result.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct plumb_outcome outcome;

static bool have_nvcc(void)
{
    return access("/usr/local/cuda/bin/nvcc", X_OK) == 0 ||
           system("command -v nvcc >/dev/null 2>&1") == 0;
}

static char *empty_repository(void)
{
    char *directory = helper_directory();
    git_repository *git = NULL;
    git_repository_init_options options;
    git_libgit2_init();
    git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.initial_head = "main";
    options.flags = GIT_REPOSITORY_INIT_MKPATH;
    assert_int_equal(git_repository_init_ext(&git, directory, &options), 0);
    git_repository_free(git);
    return directory;
}

static void plumb(const char *directory, const char *a, const char *b, const char *c, const char *d,
                  const char *e, const char *f)
{
    const char *argv[] = {a, b, c, d, e, f, NULL};
    plumb_run(&outcome, directory, argv, 0);
}

// `git add ci && git commit`: every file that init said it wrote. parent: NULL where there is none.
static void commit_what_was_written(const char *directory, size_t wanted, const char *parent)
{
    struct helper_file files[8];
    char id[OBJECT_ID_TEXT];
    size_t count = 0;
    char *said = xstrdup(outcome.output), *rest = said;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "wrote ", 6) != 0)
            continue;
        assert_true(count < ARRAY_COUNT(files));
        const char *path = strstr(line, "/ci/") + 1;
        files[count++] = (struct helper_file){path, helper_read(line + 6, NULL), 0};
    }
    assert_int_equal(count, wanted);
    helper_repo_commit(id, directory, "main", &parent, parent ? 1 : 0, 1, "plumb", files, count);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)files[i].contents);
    free(said);
}

static void add_to_policy(const char *directory, const char *text)
{
    char *path = xprintf("%s/ci/plumb.cfg", directory);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

TEST(host_form_is_measured_right_from_an_empty_repository)
{
    char *directory = empty_repository();
    plumb(directory, "init", "--form", "host", NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "plumb gate --base HEAD");
    add_to_policy(directory, "[toolchain \"none\"]\n\tset = CC=no-such-compiler\n");
    commit_what_was_written(directory, 4, NULL);
    plumb(directory, "run", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 new"); // so its result is right
    plumb(directory, "gate", "--base", "HEAD", NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
    // A toolchain of another CC is another compiler, as the policy's comments say.
    plumb(directory, "gate", "--base", "HEAD", "--head-toolchain", "none", NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN, "no-such-compiler");
    // Again it keeps what is there, and names what differs.
    plumb(directory, "init", "--form", "host", NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "plumb.cfg, which differs from what init writes; --force");
    plumb_said(&outcome, CONCLUDE_OK, "plumb_kernel.h\n");
    plumb(directory, "gate", "--base", "HEAD", "--head-toolchain", "none", NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN, "no-such-compiler"); // the edited policy is still there
    helper_discard(directory);
    free(directory);
}

// A kernel that is no GEMM: an example with its buffers and its reference, which its result meets.
TEST(kernels_that_are_no_gemm_have_an_example_that_works)
{
    static const struct helper_file file = {
        "src/sum.cu", "__global__ void sum_rows(const float *x, float *y, int rows) {}\n", 0};
    char *directory = empty_repository(), id[OBJECT_ID_TEXT];
    plumb(directory, "init", "--form", "host-numbers", NULL, NULL, NULL);
    commit_what_was_written(directory, 3, NULL);
    plumb(directory, "gate", "--base", "HEAD", NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same"); // launched once, and checked
    helper_discard(directory);
    free(directory);
    directory = empty_repository();
    helper_repo_commit(id, directory, "main", NULL, 0, 0, "sum", &file, 1);
    plumb(directory, "init", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "not understood: sum_rows of src/sum.cu");
    plumb_said(&outcome, CONCLUDE_OK, "/ci/shims/softmax.cu");
    plumb_said(&outcome, CONCLUDE_OK, "CUDA kernels that are no GEMM");
    char *policy = xprintf("%s/ci/plumb.cfg", directory);
    assert_false(helper_says(policy, "\ttrust = device-code\n")); // such kernels have no record
    free(policy);
    commit_what_was_written(directory, 3, id);
    if (have_nvcc()) {
        plumb(directory, "gate", "--static", "--base", "HEAD", NULL, NULL);
        plumb_said(&outcome, CONCLUDE_OK, "OK: 2 same");
    } else {
        print_message("there is no nvcc: the softmax for CUDA is not built\n");
    }
    helper_discard(directory);
    free(directory);
}

TEST(cuda_forms_build_and_gate_from_an_empty_repository)
{
    static const char *const forms[] = {"cuda-nn", "cuda-tn", "cuda-column"};
    if (!have_nvcc()) {
        skip_without("nvcc", "there is no nvcc: the CUDA forms of init are not tried");
    }
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        char *directory = empty_repository();
        plumb(directory, "init", "--form", forms[i], NULL, NULL, NULL);
        plumb_said(&outcome, CONCLUDE_OK, "plumb gate --static");
        commit_what_was_written(directory, 4, NULL);
        plumb(directory, "gate", "--static", "--base", "HEAD", NULL, NULL);
        plumb_said(&outcome, CONCLUDE_OK, "OK: 3 same");
        helper_discard(directory);
        free(directory);
    }
}

static const char source[] =
    "#include <stdio.h>\n"
    "__global__ void dgemm(int M, int N, int K, double alpha, const double *A, const double *B,\n"
    "                      double beta, double *C)\n{\n"
    "    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
    "    double sum = 0;\n"
    "    if (x >= M || y >= N)\n        return;\n"
    "    for (int i = 0; i < K; i++)\n        sum += A[x * K + i] * B[i * N + y];\n"
    "    C[x * N + y] = alpha * sum%s;\n}\n"
    "void run_dgemm(int M, int N, int K, double alpha, double *A, double *B, double beta,\n"
    "               double *C)\n{\n"
    "    dgemm<<<dim3((M + 31) / 32, (N + 31) / 32), dim3(32, 32)>>>(M, N, K, alpha, A, B, beta, "
    "C);\n}\n"
    "int main(void)\n{\n    return puts(\"its own benchmark\");\n}\n";

TEST(history_that_never_heard_of_plumb_is_gated_without_a_line_by_hand)
{
    char ids[2][OBJECT_ID_TEXT];
    char *directory = empty_repository(), *outside = helper_directory();
    char *policy = xprintf("%s/plumb.cfg", outside);
    const char *parent = ids[0];
    for (size_t i = 0; i < 2; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        char *text = xprintf(source, i ? " + beta * C[x * N + y]" : "");
#pragma GCC diagnostic pop
        const struct helper_file file = {"src/dgemm.cu", text, 0};
        helper_repo_commit(ids[i], directory, "main", &parent, i, (int)i, "dgemm", &file, 1);
        free(text);
    }
    plumb(directory, "init", "--outside", outside, NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "/overlay/shims/run_dgemm.cu");
    assert_null(strstr(outcome.output, "shims/dgemm.cu")); // its launcher knows the grid
    if (have_nvcc()) {
        plumb(directory, "gate", "--static", "-p", policy, NULL, NULL);
        plumb_said(&outcome, CONCLUDE_OK, "run_dgemm 4096x4096x4096:fp64");
        assert_null(strstr(outcome.output, "does not build"));
    } else {
        print_message("there is no nvcc: the shim is not built\n");
    }
    free(policy);
    helper_discard(outside);
    helper_discard(directory);
    free(outside);
    free(directory);
}

// Each library has only what its kernel runs, though both come from one source; a source at the top
// of a repository is not taken for the shim of the same name.
TEST(a_change_of_one_function_leaves_the_other_as_it_was)
{
    static const char *const sums[2] = {"c[0] = a[0] * b[0];", "c[0] = b[0] * a[0] + 1;"};
    char ids[2][OBJECT_ID_TEXT];
    const char *parent = ids[0];
    char *directory = empty_repository(), *outside = helper_directory(), *lines[2] = {0};
    char *policy = xprintf("%s/plumb.cfg", outside);
    for (size_t i = 0; i < 2; i++) {
        char *text = xprintf(
            "void first(int m, int n, int k, float *a, float *b, float *c) { %s }\n"
            "void second(int m, int n, int k, float *a, float *b, float *c) { c[1] = a[1]; }\n",
            sums[i]);
        const struct helper_file file = {"first.c", text, 0};
        helper_repo_commit(ids[i], directory, "main", &parent, i, (int)i, "sums", &file, 1);
        free(text);
    }
    plumb(directory, "init", "--no-check", "--outside", outside, NULL,
          NULL); // they are no products
    plumb_said(&outcome, CONCLUDE_OK, "/overlay/shims/second.c");
    for (size_t i = 0; i < 2; i++) {
        plumb(directory, "list", "kernels", ids[i], "-p", policy, "-q");
        plumb_said(&outcome, CONCLUDE_OK, "second  ");
        lines[i] = xstrdup(outcome.output);
    }
    assert_string_not_equal(lines[0], lines[1]);
    assert_string_equal(strstr(lines[0], "second  "), strstr(lines[1], "second  "));
    for (size_t i = 0; i < 2; i++)
        free(lines[i]);
    free(policy);
    helper_discard(outside);
    helper_discard(directory);
    free(outside);
    free(directory);
}

TEST(a_first_kernel_needs_no_cutlass_and_copies_of_its_headers_are_not_searched)
{
    static const struct helper_file files[] = {
        {"gemm.cu",
         "#include <cutlass/util/print.hpp>\ntemplate <class A, class B>\n"
         "__global__ void gemm(int m, int n, int k, A *a, B *b, float *c) {}\n",
         0},
        {"src/cutlass/util/print.hpp", "__global__ void theirs(int m, int n, int k) {}\n", 0},
        {"src/cutlass/own.cu", "__global__ void ours(int m, int n, int k) {}\n", 0}};
    char *directory = empty_repository(), id[OBJECT_ID_TEXT];
    helper_repo_commit(id, directory, "main", NULL, 0, 0, "copied", files, ARRAY_COUNT(files));
    plumb(directory, "init", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "not understood: gemm of gemm.cu");
    plumb_said(&outcome, CONCLUDE_OK, "not understood: ours of src/cutlass/own.cu");
    assert_null(strstr(outcome.output, "theirs"));
    assert_null(strstr(outcome.output, "CUTLASS"));
    char *policy = xprintf("%s/ci/plumb.cfg", directory);
    assert_false(helper_says(policy, "CUTLASS"));
    free(policy);
    helper_discard(directory);
    free(directory);
}

// A header of a copied library is included by its path below "include"; its own kernels are not
// searched. A kernel that is no function here has another way.
TEST(a_copied_library_is_found_by_the_folder_of_its_headers)
{
    static const struct helper_file files[] = {
        {"src/tall.cu",
         "#include \"cutlass/cutlass.h\"\n"
         "__global__ void gemm(int m, int n, int k, float *a, float *b, float *c) {}\n",
         0},
        {"own/cutlass/include/cutlass/cutlass.h", "// theirs\n", 0},
        {"own/cutlass/tools/x.cu", "__global__ void theirs(int m, int n, int k) {}\n", 0}};
    char *directory = empty_repository(), id[OBJECT_ID_TEXT];
    helper_repo_commit(id, directory, "main", NULL, 0, 0, "tall", files, ARRAY_COUNT(files));
    plumb(directory, "init", "--no-check", NULL, NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "plumb capture --write -- PROGRAM");
    assert_null(strstr(outcome.output, "theirs"));
    char *policy = xprintf("%s/ci/plumb.cfg", directory);
    assert_true(helper_says(policy, "-Iown/cutlass/include "));
    free(policy);
    helper_discard(directory);
    free(directory);
}

TEST(forms_that_there_are_not_say_which_there_are)
{
    char *directory = empty_repository();
    plumb(directory, "init", "--form", "fortran", NULL, NULL, NULL);
    plumb_said(&outcome, 4,
               "--form=fortran: is cuda-nn, cuda-tn, cuda-column, host, numbers or "
               "host-numbers");
    assert_false(helper_exists(directory, "ci"));
    helper_discard(directory);
    free(directory);
}
