// SPDX-License-Identifier: Apache-2.0
//
// Which functions of a source look like a matrix product, and with what they are called.
#include "ci/init/init.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct arena arena;

static struct signature_list find(const char *file, const char *text)
{
    struct signature_list list = {0};
    signatures_find(&list, &(const struct source_text){file, text}, 1, &arena);
    return list;
}

TEST(parameters_are_known_by_name_and_type)
{
    const struct signature_list list =
        find("src/a.cu", "extern \"C\" __global__ void __launch_bounds__(256, 2)\n"
                         "sgemm(int M, int N, int K, float alpha, const float *__restrict__ d_A,\n"
                         "      const float* d_B, float beta, __half *C) { C[0] = 0; }\n");
    static const enum argument arguments[] = {ARG_M, ARG_N, ARG_K,    ARG_ALPHA,
                                              ARG_A, ARG_B, ARG_BETA, ARG_C};
    assert_int_equal(list.count, 1);
    const struct signature *s = &list.items[0];
    assert_true(s->understood);
    assert_int_equal(s->callee, CALLEE_KERNEL);
    assert_string_equal(s->name, "sgemm");
    assert_string_equal(s->in_type, "FP32");
    assert_string_equal(s->out_type, "FP16");
    assert_string_equal(s->out_spelled, "__half");
    assert_int_equal(s->count, ARRAY_COUNT(arguments));
    for (size_t i = 0; i < s->count; i++)
        assert_int_equal(s->arguments[i], arguments[i]);
}

TEST(what_launches_a_kernel_is_a_launcher)
{
    const struct signature_list list =
        find("a.cu", "static __device__ void helper(int m) {}\n"
                     "void run(int m, int n, int k, double *a, double *b, double *c, int lda,\n"
                     "         cudaStream_t s) { kernel<<<1, 2, 0, s>>>(a); }\n"
                     "void print(int m) { puts(\"<<<\"); }\n");
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].callee, CALLEE_LAUNCHER);
    assert_true(list.items[0].understood);
    assert_int_equal(list.items[0].arguments[7], ARG_STREAM);
    assert_string_equal(list.items[0].in_type, "FP64");
    const struct signature_list named =
        find("a.cu", "__global__ void g(bf16 *A, bf16 *B, bf16 *C, int M, int N, int K) {}\n");
    assert_true(named.count == 1 && named.items[0].understood);
    assert_string_equal(named.items[0].in_type, "BF16");
}

TEST(what_is_not_understood_is_told_apart)
{
    static const struct {
        const char *text, *why;
    } of[] = {
        {"template <int BM> __global__ void g(int m, int n, int k, float *a, float *b, float *c) "
         "{}",
         "a template: instantiate it, as NAME<128, ...>"},
        {"template <typename T, int BM> __global__ void g(int m, int n, int k, T *a, T *b, T *c) "
         "{}",
         "a template: instantiate it, as NAME<float, ...>"},
        {"template <typename T, int N> __global__ void g(int m, int n, int k, T *a, T *b, T *c) "
         "{}\n"
         "template __global__ void g<float, sizeof(\"x\")>(int, int, int, float *, float *, float "
         "*);",
         "a template: instantiate it, as NAME<float, ...>"},
        {"__global__ void g(int m, int n, int k, float *a, float *b, float *c, int  tiles) {}",
         "parameter 'int tiles'"},
        {"__global__ void g(int m, int n, int k, float *a, half *b, float *c) {}",
         "parameter 'half *b'"},
        {"__global__ void g(int m, int n, float *a, float *b, float *c) {}",
         "not all of m, n, k, a, b, c"},
        {"__global__ void g(int m, int m, int k, float *a, float *b, float *c) {}",
         "parameter 'int m'"},
        {"__global__ void g(int m, int n, int k, struct x a, float *b, float *c) {}",
         "parameter 'struct x a'"},
        {"__global__ void g(int m, int n, int k, const float4 *a, float4 *b, float *c) {}",
         "parameter 'const float4 *a'"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(of); i++) {
        const struct signature_list list = find("a.cuh", of[i].text);
        if (list.count != 1 || list.items[0].understood)
            fail_msg("%s", of[i].text);
        assert_string_equal(list.items[0].why, of[i].why);
    }
}

TEST(templates_and_names_of_types_are_seen_through)
{
    static const char list_of_t[] =
        "(int m, int n, int k, const T *a, T *b, T *c, float alpha = 1) {}\n";
    static const struct {
        const char *before, *after, *name, *type, *spelled;
    } of[] = {
        {"template <typename T> __global__ void g", "", "g<float>", "FP32", "float"},
        {"template <class T> __global__ void g",
         "template __global__ void g<double>(int, int, int, const double *, double *, double *);\n",
         "g<double>", "FP64", "double"},
        {"template <typename T, int BM = 4> __global__ void g",
         "template __global__ void other<float, 8>(float *);\n"
         "template\n__global__ void g<half, 8>(int, int, int, const half *, half *, half *);\n",
         "g<half, 8>", "FP16", "half"},
        {"template <int BM = 64, int BN = 64>\n__global__ void g", "typedef float T;\n", "g<>",
         "FP32", "float"},
        {"#define T float\ntemplate <const int BM, const int BN> __global__ void g",
         "int main() { dim3 grid(1); g<96, 32><<<grid, 4>>>(1); }\n", "g<96, 32>", "FP32", "float"},
        {"#define T double // of all\n__global__ void g", "", "g", "FP64", "double"},
        {"using element = __half;\nusing T = element;\n__global__ void g", "", "g", "FP16",
         "__half"},
        {"#define FLOAT float\n#define T FLOAT\n__global__ void g", "", "g", "FP32", "float"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(of); i++) {
        char *text = xprintf("%s%s%s", of[i].before, list_of_t, of[i].after);
        const struct signature_list list = find("a.cu", text);
        if (list.count < 1 || !list.items[0].understood || strcmp(list.items[0].name, of[i].name))
            fail_msg("%s: %s, %s", text, list.count ? list.items[0].name : "nothing",
                     list.count && list.items[0].why ? list.items[0].why : "");
        assert_string_equal(list.items[0].in_type, of[i].type);
        assert_string_equal(list.items[0].in_spelled, of[i].spelled);
        if (strchr(of[i].name, '<'))
            assert_string_equal(list.items[0].called, "g");
        free(text);
    }
}

// A kernel of one size is a product of squares where its name says that it is one.
TEST(one_size_is_that_of_squares)
{
    const struct signature_list list =
        find("a.cu", "__global__ void matMulTiled(float *A, float *B, float *C, int width) {}\n"
                     "__global__ void vecMul(float *A, float *B, float *C, int n) {}\n");
    assert_int_equal(list.count, 2);
    assert_true(list.items[0].understood && list.items[0].square);
    assert_false(list.items[1].understood);
    assert_string_equal(list.items[1].why, "not all of m, n, k, a, b, c");
}

// Nor is axpby, but a wrong guess is told where it is tried.
TEST(one_size_with_alpha_and_beta_is_that_of_squares)
{
    const struct signature_list list = find(
        "a.cu", "__global__ void naive(float *d_A, float *d_B, float *d_C, float alpha, float "
                "beta, int N) {}\n"
                "__global__ void scaled(float *a, float *b, float *c, float alpha, int n) {}\n");
    assert_int_equal(list.count, 2);
    assert_true(list.items[0].understood && list.items[0].square);
    assert_false(list.items[1].understood);
}

TEST(a_name_is_called_in_its_namespaces)
{
    static const char parameters[] = "(int m, int n, int k, float *a, float *b, float *c)";
    const char *text = arena_printf(
        &arena,
        "namespace one { __global__ void own%s { if (m) { } } namespace { __global__ void "
        "inner%s {} }\nvoid run%s { own<<<m / 4, 32>>>(m, n, k, a, b, c); } }\n"
        "inline namespace two::three\n{ template <int N> __global__ void tiled%s {} }\n"
        "struct not_namespace { int x; }; __global__ void outer%s {}\n"
        "namespace short_of = one; void go() { tiled<8><<<m / 4, 32>>>(m, n, k, a, b, c); }\n",
        parameters, parameters, parameters, parameters, parameters);
    static const char *const names[] = {"one::own", "one::inner", "one::run",
                                        "two::three::tiled<8>", "outer"};
    static const char *const called[] = {"own", "inner", "run", "tiled", NULL};
    const struct signature_list list = find("a.cu", text);
    assert_int_equal(list.count, ARRAY_COUNT(names) + 1); // with go()
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        assert_string_equal(list.items[i].name, names[i]);
        assert_true(list.items[i].understood);
        if (called[i])
            assert_string_equal(list.items[i].called, called[i]);
        else
            assert_null(list.items[i].called);
    }
    assert_true(list.items[0].covered); // by run(), which calls it by half of its name
    char *deep = xcalloc(100000, 1);
    for (size_t i = 0; i + 14 < 99999; i += 14)
        memcpy(deep + i, "namespace ab {", 14);
    memcpy(deep + 99970, "void f(int m){}", 15);
    find("a.cu", deep);
    free(deep);
}

// A loader names what a library lacks as it is mangled.
TEST(the_source_that_defines_a_function_is_found)
{
    struct source_text texts[] = {
        {"a.cu", "void check_it(const char *file, int line);\nvoid f() { check_it(0, 1); }"},
        {"main.cu", "void check_it(const char *file, int line) {}\nint main() { f(); }"},
        {"b.cu", "void not_check_it() {}\nvoid check_it (const char *file, int line)\n{\n}"}};
    const struct sources sources = {.texts = texts, .text_count = ARRAY_COUNT(texts)};
    assert_string_equal(sources_defining(&sources, "_Z8check_itPKci", ".cu"), "b.cu");
    assert_string_equal(sources_defining(&sources, "check_it", ".cu"), "b.cu"); // extern "C"
    static const char *const none[] = {"_Z", "_Z99check_it", "_Z0", "", "_Z5otherv", "_Z-1a", "g"};
    assert_null(sources_defining(&sources, "check_it", ".c"));
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        assert_null(sources_defining(&sources, none[i], ".cu"));
}

TEST(a_template_is_given_what_a_launch_gives_it)
{
    static const char kernels[] =
        "template <int BM> __global__ void tiled(int m, int n, int k, float *a, float *b, float "
        "*c) {}\ntemplate <int BM> __global__ void named(int m, int n, int k, float *a, float *b, "
        "float *c) {}\n";
    static const struct source_text sources[] = {
        {"kernels.cuh", kernels},
        {"main.cu", "void run() { // tiled<8><<<m, 8>>>(m, n, k, a, b, c);\n"
                    "tiled<64><<<m / 64, 128>>>(m, n, k, a, b, c);\n"
                    "const int W = 4; named<W><<<m / 64, 128>>>(m, n, k, a, b, c); }"}};
    struct signature_list list = {0};
    signatures_find(&list, sources, 2, &arena);
    assert_int_equal(list.count, 3); // with run()
    assert_string_equal(list.items[0].name, "tiled<64>");
    assert_true(list.items[0].understood);
    assert_false(list.items[1].understood); // no number stands there
    assert_non_null(strstr(list.items[1].why, "a template"));
}

// What a launcher launches gets no shim of its own, and its source is compiled with the launcher's.
TEST(a_launcher_covers_its_kernels_in_other_sources)
{
    static const char parameters[] = "(int m, int n, int k, float *a, float *b, float *c) {}\n";
    static const char run[] =
        "void run(cublasHandle_t handle, int m, int n, int k, float *a, float "
        "*b, float *c)\n{ own<<<m / 4, 32>>>(m, n, k, a, b, c); }\n";
    const struct source_text sources[] = {
        {"src/own.cu", arena_printf(&arena, "__global__ void own%s", parameters)},
        {"run.cu", run},
        {"free.cu", arena_printf(&arena, "__global__ void free_one%s", parameters)},
        {"joined.cu",
         "#include \"free.cu\"\nvoid go(int m, int n, int k, float *a, float *b, float "
         "*c)\n{ free_one<<<m / 4, 32>>>(m, n, k, a, b, c); }\n"}};
    struct signature_list list = {0};
    signatures_find(&list, sources, ARRAY_COUNT(sources), &arena);
    assert_int_equal(list.count, 4);
    assert_true(list.items[0].covered && list.items[2].covered);
    assert_true(list.items[1].understood);
    assert_int_equal(list.items[1].arguments[0], ARG_HANDLE);
    assert_string_equal(list.items[1].beside, "src/own.cu");
    assert_null(list.items[3].beside); // it includes it
    // Of many kernels of one name a launcher has its own.
    const struct source_text each[] = {
        {"a.cu", arena_printf(&arena, "__global__ void own%s%s", parameters, run)},
        {"b.cu", arena_printf(&arena, "__global__ void own%s", parameters)}};
    struct signature_list own = {0};
    signatures_find(&own, each, ARRAY_COUNT(each), &arena);
    assert_null(own.items[1].beside);
}

TEST(c_files_give_only_what_is_understood)
{
    const struct signature_list list = find(
        "gemm.c", "// void no(int m, int n, int k, float *a, float *b, float *c) {}\n"
                  "#define X void no(int m, int n, int k, \\\n float *a, float *b, float *c) {}\n"
                  "void declared(int m, int n, int k, float *a, float *b, float *c);\n"
                  "static void other(int x) {}\n"
                  "void gemm(int m, int n, int k, float *a, float *b, float *c) {}\n");
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "gemm");
    assert_int_equal(list.items[0].callee, CALLEE_HOST);
}

// But one that is called as a product is no helper: that it gets no shim is told.
TEST(c_files_tell_of_a_product_that_is_not_understood)
{
    const struct signature_list list =
        find("gemm.c", "void igemm(int m, int n, int k, const int8_t *a, const int8_t *b, int *c) "
                       "{}\nvoid axpy(int n, float a, const float *x, float *y) {}\n");
    assert_int_equal(list.count, 1);
    assert_false(list.items[0].understood);
    assert_string_equal(list.items[0].why, "parameter 'const int8_t *a'");
}

TEST(an_integer_has_types_of_several_words)
{
    static const char *const sizes[] = {"unsigned", "unsigned long", "long long int", "long"};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        const struct signature_list list = find(
            "gemm.c",
            arena_printf(&arena, "void gemm(float *a, float *b, float *c, %s m, %s n, %s k) {}",
                         sizes[i], sizes[i], sizes[i]));
        assert_int_equal(list.count, 1);
        assert_true(list.items[0].understood);
        assert_int_equal(list.items[0].arguments[3], ARG_M);
    }
    const struct signature_list list =
        find("gemm.c", "void gemm(int m, int n, int k, long double *a, long double *b, "
                       "long double *c) {}");
    assert_true(list.count == 1 && !list.items[0].understood);
}

TEST(hostile_sources_come_to_an_end)
{
    static const char *const texts[] = {
        "",
        "void",
        "void ",
        "void f",
        "void f(",
        "void f(int m",
        "void f(int m)",
        "void f(){",
        "/* void f(",
        "\"void f(int m",
        "'\\",
        "#define x \\",
        "#",
        "void __launch_bounds__",
        "void __launch_bounds__(",
        "void f(,,,){}",
        "void f(int){}",
        "void f(* * *){}",
        "}}}}void {",
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const struct signature_list list = find("a.cu", texts[i]);
        for (size_t j = 0; j < list.count; j++)
            assert_false(list.items[j].understood);
    }
    char *deep = xcalloc(100000, 1);
    memset(deep, '(', 99999);
    memcpy(deep, "void f", 6);
    find("a.cu", deep);
    free(deep);
    // As many beginnings as a file of 1 MiB holds: each is looked at once, not to the file's end.
    static const char *const begins[] = {"void f(", "void f(){", "void f(int m){}"};
    for (size_t i = 0; i < ARRAY_COUNT(begins); i++) {
        const size_t length = strlen(begins[i]), count = ((size_t)1 << 20) / length;
        char *many = xcalloc(count * length + 1, 1);
        for (size_t j = 0; j < count; j++)
            memcpy(many + j * length, begins[i], length);
        find("a.cu", many);
        free(many);
    }
}

int main(void)
{
    int failed = test_main();
    arena_free(&arena);
    return failed;
}

// What `plumb init` knows of a repository before it asks anything.
TEST(sources_of_a_repository_say_what_builds_them)
{
    void *fixture = NULL;
    struct sources sources;
    struct error err;
    assert_int_equal(helper_opened_set_up(&fixture), 0);
    const struct helper_opened *opened = fixture;
    assert_int_equal(sources_read(&sources, opened->open, &arena, &err), 0);
    assert_true(sources.committed && sources.names_c);
    assert_false(sources.names_cuda || sources.names_cpp);
    assert_int_equal(sources.input_count, 2); // what a build reads, and no README
    assert_string_equal(sources.inputs[0], "include");
    assert_string_equal(sources.inputs[1], "kernels");
    assert_non_null(strstr(sources.folders, "-Iinclude"));
    assert_int_equal(helper_opened_tear_down(&fixture), 0);
}
