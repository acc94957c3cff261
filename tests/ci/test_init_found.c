// SPDX-License-Identifier: Apache-2.0
//
// What `plumb init` finds in repositories as they come, and what it says of the rest: CUTLASS as a
// submodule, two functions of one name, names that no #include can have, no checkout at all.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *scene, *checkout;
static struct plumb_outcome outcome;

static int make(void **state)
{
    scene = helper_submodules();
    checkout = xprintf("%s/own", scene);
    return 0;
}

static int set_up(void **state)
{
    helper_shell(scene, ".", "rm -rf own && git init -q -b main own && mkdir own/src");
    return 0;
}

AROUND_EACH(set_up, NULL);

AROUND_ALL(make, NULL);

static void init(const char *part)
{
    plumb_run(&outcome, checkout, (const char *const[]){"init", NULL}, 0);
    plumb_said(&outcome, 0, part);
}

static const char tall[] =
    "cat >src/tall.cu <<'END'\n#include \"cutlass/gemm/device/gemm.h\"\n"
    "__global__ void gemm(int m, int n, int k, const float *a, const float *b, float *c)\n"
    "{\n    if (m < 0) c[0] = a[k] + b[n];\n}\nEND\n"
    "git add src && git commit -q -m tall\n";

TEST(cutlass_is_found_in_a_submodule)
{
    helper_shell(scene, ".",
                 "rm -rf cutlass && git init -q -b main cutlass && cp -r '" TEST_DATA
                 "/cutlass/include' cutlass && git -C cutlass add . && "
                 "git -C cutlass commit -q -m cutlass");
    helper_shell(scene, "own", tall);
    helper_shell(scene, "own",
                 "git submodule --quiet add \"$PWD/../cutlass\" 3rdparty/cutlass && "
                 "git commit -q -m cutlass");
    init("shims/gemm.cu");
    assert_null(strstr(outcome.output, "CUTLASS_PATH"));
    assert_null(strstr(outcome.output, "First: "));
    char *policy = xprintf("%s/ci/plumb.cfg", checkout);
    assert_true(helper_says(policy, "export CUTLASS=3rdparty/cutlass; "));
    assert_true(helper_says(policy, "\tinput = \"3rdparty/cutlass/include\"\n"));
    helper_shell(scene, "own", "git add ci && git commit -q -m plumb");
    if (draws(10) == 10 && access("/usr/local/cuda/bin/nvcc", X_OK) == 0) {
        plumb_run(&outcome, checkout, (const char *const[]){"list", "kernels", NULL}, 0);
        plumb_said(&outcome, 0, "gemm ");
    }
    // Without it, as after a plain `git clone`.
    helper_shell(scene, ".",
                 "rm -rf own/ci && git -C own submodule --quiet deinit --all -f && "
                 "rm -rf own/.git/modules");
    init("First: submodule '3rdparty/cutlass' at commit ");
    plumb_said(&outcome, 0, "`git submodule update --init --recursive 3rdparty/cutlass`");
    assert_true(helper_says(policy, "export CUTLASS=3rdparty/cutlass; "));
    free(policy);
}

TEST(what_gets_no_shim_is_told)
{
    static const char body[] = "void gemm(int m, int n, int k, const float *a, const float *b, "
                               "float *c) {}";
    char *words = xprintf("echo '%s' >src/one.c; echo '%s' >src/two.c; echo '%s' >'src/a\"b.c'\n"
                          "sed -i s/gemm/quoted/ 'src/a\"b.c'; git add .; git commit -q -m three",
                          body, body, body);
    helper_shell(scene, "own", words);
    init("/own/ci/shims/two_gemm.c");
    plumb_said(&outcome, 0, "not understood: quoted of src/a\"b.c: its path has a character");
    // Where files have one name, too, it is their folder's.
    helper_shell(scene, "own",
                 "mkdir src/x src/y && cp src/one.c src/x/two.c && cp src/one.c "
                 "src/y/two.c && git add . && git commit -q -m five");
    init("/own/ci/shims/x_gemm.c");
    plumb_said(&outcome, 0, "/own/ci/shims/y_gemm.c");
    free(words);
}

// A launcher that calls a function of another source is compiled with that source.
TEST(what_another_source_defines_is_compiled_too)
{
    helper_shell(scene, "own",
                 "echo 'void check_it(int line);' >src/check.h\n"
                 "echo 'void check_it(int line) { (void)line; }' >src/check.cu\n"
                 "cat >src/gemm.cu <<'END'\n#include \"check.h\"\n"
                 "__global__ void own(int m, int n, int k, float *a, float *b, float *c) {}\n"
                 "void gemm(int m, int n, int k, float *a, float *b, float *c)\n"
                 "{ own<<<m / 4, 32>>>(m, n, k, a, b, c); check_it(__LINE__); }\nEND\n"
                 "git add . && git commit -q -m check");
    init("/own/ci/shims/gemm.cu");
    if (access("/usr/local/cuda/bin/nvcc", X_OK))
        return; // nothing is built, so nothing is missed
    char *shim = xprintf("%s/ci/shims/gemm.cu", checkout);
    assert_true(helper_says(shim, "#include <src/check.cu>\n"));
    assert_null(strstr(outcome.output, "does not build"));
    free(shim);
}

// So is a C function.
TEST(what_another_c_source_defines_is_compiled_too)
{
    helper_shell(scene, "own",
                 "echo 'void clear(float *c, int count);' >src/clear.h\n"
                 "cat >src/clear.c <<'END'\n#include \"clear.h\"\n"
                 "void clear(float *c, int count) { while (count--) *c++ = 0; }\nEND\n"
                 "cat >src/gemm.c <<'END'\n#include \"clear.h\"\n"
                 "void gemm(unsigned m, unsigned n, unsigned k, float *a, float *b, float *c)\n"
                 "{\n    clear(c, (int)(m * n));\n    for (unsigned i = 0; i < m; i++)\n"
                 "        for (unsigned l = 0; l < k; l++)\n"
                 "            for (unsigned j = 0; j < n; j++)\n"
                 "                c[i * n + j] += a[i * k + l] * b[l * n + j];\n}\nEND\n"
                 "git add . && git commit -q -m clear");
    init("right          gemm of src/gemm.c\n");
    char *shim = xprintf("%s/ci/shims/gemm.c", checkout);
    assert_true(helper_says(shim, "#include <src/clear.c>\n"));
    free(shim);
}

// A repository of C gets a first kernel in C, and what it calls a product is told.
TEST(c_that_is_not_understood_is_told_and_no_reason_for_cuda)
{
    helper_shell(scene, "own",
                 "echo 'void igemm(int m, int n, int k, char *a, char *b, int *c) {}' >src/i.c\n"
                 "git add . && git commit -q -m integers");
    init("not understood: igemm of src/i.c: parameter 'char *a'\n");
    plumb_said(&outcome, 0, "/own/ci/shims/example_gemm.c\n");
    assert_null(strstr(outcome.output, "CUDA"));
    helper_shell(scene, "own",
                 "rm -r ci && git mv src/i.c src/i.cpp && git commit -q -m 'C++ alone'");
    init("--form=host-numbers` writes an example");
    plumb_said(&outcome, 0, "C++ is not searched for kernels of a CPU");
    plumb_said(&outcome, 0, "/own/ci/shims/example_gemm.c\n");
}

// HEAD is not there, so nothing is said of what it has.
TEST(sources_before_the_first_commit_are_told_to_be_unread)
{
    helper_shell(scene, "own",
                 "echo 'void gemm(int m, int n, int k, float *a, float *b, float *c) "
                 "{}' >src/one.c");
    init("There is no commit yet, and only committed sources are read: commit yours, then");
    assert_null(strstr(outcome.output, "HEAD has no function"));
}

// A submodule's files are not HEAD's own.
TEST(a_folder_of_headers_in_a_submodule_is_taken_from_the_build_file)
{
    helper_shell(scene, ".",
                 "rm -rf parts && git init -q -b main parts && mkdir parts/include && "
                 "echo 'typedef float real;' >parts/include/real.h && git -C parts add . && "
                 "git -C parts commit -q -m parts");
    helper_shell(scene, "own",
                 "git submodule --quiet add \"$PWD/../parts\" deps/parts && "
                 "git submodule --quiet add \"$PWD/../parts\" deps/other && "
                 "printf 'add_subdirectory(deps/other)\n# include_directories(deps/other/src)\n"
                 "target_include_directories(own PRIVATE src ${CMAKE_SOURCE_DIR}/deps/parts/"
                 "include)\n' >CMakeLists.txt && "
                 "printf '#include \"real.h\"\nvoid gemm(int m, int n, int k, const real *a, "
                 "const real *b, real *c)\n{ for (int i = 0; i < m; i++) for (int j = 0; j < n; "
                 "j++) { real s = 0; for (int l = 0; l < k; l++) s += a[i * k + l] * b[l * n + j]; "
                 "c[i * n + j] = s; } }\n' >src/one.c && sed -i s/real/float/g src/one.c && "
                 "sed -i 's/float.h/real.h/' src/one.c && git add . && git commit -q -m one");
    init("right          gemm of src/one.c");
    char *policy = xprintf("%s/ci/plumb.cfg", checkout);
    assert_true(helper_says(policy, " -Ideps/parts/include"));
    assert_true(helper_says(policy, "\tinput = \"deps/parts/include\"\n"));
    assert_false(helper_says(policy, "deps/other"));
    free(policy);
}

// A folder that no build file names is none that init knows: what to write is told.
TEST(a_header_that_is_not_found_needs_its_folder)
{
    helper_shell(scene, "own",
                 "printf '#include \"away.h\"\nvoid gemm(int m, int n, int k, float *a, float *b, "
                 "float *c) {}\n' >src/one.c && git add . && git commit -q -m one");
    init("does not build gemm of src/one.c: src/one.c:1: ");
    plumb_said(&outcome, 0, "needs its folder: -I in build.command, and an `input =` line.\n");
}

// Its advice is an option of its own.
TEST(what_cannot_be_written_goes_elsewhere)
{
    helper_shell(scene, "own", "mkdir -p ci/plumb.cfg/full");
    plumb_run(&outcome, checkout, (const char *const[]){"init", "--force", NULL}, 0);
    plumb_said(&outcome, 4, "ci/plumb.cfg: cannot be written: ");
    plumb_said(&outcome, 4, "; `--outside DIR` writes to another folder");
    assert_null(strstr(outcome.output, "--out\n"));
}

// The folders above it are made.
TEST(outside_may_be_a_new_folder)
{
    helper_shell(scene, "own",
                 "echo 'void gemm(int m, int n, int k, float *a, float *b, float *c) "
                 "{}' >src/one.c && git add . && git commit -q -m one");
    char *deep = xprintf("%s/new/deep", scene);
    plumb_run(&outcome, checkout,
              (const char *const[]){"init", "--no-check", "--outside", deep, NULL}, 0);
    plumb_said(&outcome, 0, "/new/deep/plumb.cfg");
    free(deep);
}

// Each function is launched in every layout: kept is what is right, and the others lie beside.
TEST(what_is_written_was_tried)
{
    static const char sources[] =
        "mkdir include && echo 'typedef double real;' >include/real.h\n"
        "cat >CMakeLists.txt <<'END'\nadd_compile_options(-DOWN) # -DOTHER\nEND\n"
        "cat >src/all.c <<'END'\n#include \"real.h\"\n"
        "#define EACH for (int i = 0; i < m; i++) for (int j = 0; j < n; j++)\n"
        "#define SUM(a, b) for (int l = 0; l < k; l++) sum += (a) * (b)\n"
        "void rows(int m, int n, int k, const float *a, const float *b, float *c)\n"
        "{ EACH { float sum = 0; SUM(a[i * k + l], b[l * n + j]); c[i * n + j] = sum; } }\n"
        "void columns(int m, int n, int k, const float *a, int lda, const float *b, int ldb,\n"
        "             float *c, int ldc)\n"
        "{ EACH { float sum = 0; SUM(a[l * lda + i], b[j * ldb + l]); c[j * ldc + i] = sum; } }\n"
        "void wide(int m, int n, int k, const double *a, const double *b, double *c)\n"
        "{ EACH { real sum = 0; SUM(a[i * k + l], b[j * k + l]); c[i * n + j] = sum; } }\n"
        "void square(int m, int n, int k, const float *a, const float *b, float *c)\n"
        "{ EACH { float sum = 0; SUM(a[i * m + l], b[l * m + j]); c[i * m + j] = sum; } }\n"
        "void adds(int m, int n, int k, const float *a, const float *b, float *c)\n"
        "{ EACH { float sum = 0; SUM(a[i * k + l], b[l * n + j]); c[i * n + j] = sum + 0 * c[i * n "
        "+ j]; } }\n"
        "void wrong(int m, int n, int k, const float *a, const float *b, float *c)\n"
        "{ for (int i = 0; i < m * n; i++) c[i] = 1; }\n"
        "void dies(int m, int n, int k, const float *a, const float *b, float *c)\n"
        "{ *(volatile int *)0 = 1; }\n"
        "#ifndef OWN\nvoid gone(void) { not C }\n#endif\nEND\n"
        "cat >src/torn.c <<'END'\n"
        "void torn(int m, int n, int k, const float *a, const float *b, float *c) { no_type x; }\n"
        "END\n"
        "git add . && git commit -q -m all\n";
    helper_shell(scene, "own", sources);
    init("right          rows of src/all.c\n");
    plumb_said(&outcome, 0, "right          columns of src/all.c, as column-major\n");
    plumb_said(&outcome, 0, "right          wide of src/all.c, B transposed\n");
    plumb_said(&outcome, 0, "right          square of src/all.c, for m = n = k alone\n");
    plumb_said(&outcome, 0, "right          adds of src/all.c, C cleared before, for it is read\n");
    plumb_said(&outcome, 0, "wrong          wrong of src/all.c: in 16 ways; ");
    plumb_said(&outcome, 0, "wrong          dies of src/all.c: in 16 ways; the process died");
    plumb_said(&outcome, 0, "does not build torn of src/torn.c: src/torn.c:1: ");
    plumb_said(&outcome, 0, "/own/ci/shims/dies.c.off\n");
    helper_shell(scene, "own", "git add ci && git commit -q -m plumb");
    plumb_run(&outcome, checkout, (const char *const[]){"gate", "--base", "HEAD", NULL}, 0);
    plumb_said(&outcome, 0, "OK: 5 same");
    // Untried it is as it was: a guess, and the first gate finds out.
    plumb_run(&outcome, checkout, (const char *const[]){"init", "--no-check", "--force", NULL}, 0);
    plumb_said(&outcome, 0, "/own/ci/shims/dies.c\n");
    helper_shell(scene, "own",
                 "git rm -q src/torn.c && rm ci/shims/torn.c ci/shims/dies.c && "
                 "git add ci && git commit -q -m guessed");
    plumb_run(&outcome, checkout, (const char *const[]){"gate", "--base", "HEAD", NULL}, 0);
    plumb_said(&outcome, 3, "gives wrong results");
}

TEST(bare_repository_has_nothing_to_write_to)
{
    helper_shell(scene, "own", tall);
    helper_shell(scene, ".", "rm -rf bare.git && git clone -q --bare own bare.git");
    char *bare = xprintf("%s/bare.git", scene);
    plumb_run(&outcome, bare, (const char *const[]){"init", NULL}, 0);
    plumb_said(&outcome, 4, "has no checkout to write to; give --outside DIR");
    assert_false(helper_exists(bare, "ci"));
    plumb_run(&outcome, bare,
              (const char *const[]){"accept", "--level", "3%", "--who", "T", "-m", "x", "k*", NULL},
              0);
    plumb_said(&outcome, 4, "has no checkout to write to; give --file FILE");
    assert_false(helper_exists(bare, "baselines"));
    plumb_run(&outcome, bare, (const char *const[]){"init", "--outside", "../beside", NULL}, 0);
    plumb_said(&outcome, 0, "../beside/plumb.cfg");
    free(bare);
}
