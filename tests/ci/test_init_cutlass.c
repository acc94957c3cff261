// SPDX-License-Identifier: Apache-2.0
//
// The shims that `plumb init` writes for device kernels of CUTLASS: each is compiled against a
// stand-in for CUTLASS (data/cutlass), loaded and called, and multiplies what its own words say:
// for every layout of A, B and C. Without a C++ compiler they are only read, aloud.
#include "ci/init/shims.h"
#include "ci/init/sources.h"
#include "kernels/kernel.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 3, N = 5, K = 4, LAYOUTS = 8 };
static const char *const spelled[2] = {"cutlass::layout::RowMajor", "cutlass::layout::ColumnMajor"};

static struct signature_list find(const char *text)
{
    struct signature_list list = {0};
    cutlass_find(&list, "src/mine.cu", text, &scratch.arena);
    return list;
}

// A source of a kernel whose A, B and C lie as the bits of `layouts` say (1: by columns).
static const char *source_of(enum cutlass_device device, unsigned layouts)
{
    const char *a = spelled[layouts & 1], *b = spelled[layouts >> 1 & 1],
               *c = spelled[layouts >> 2];
    if (device == CUTLASS_ADAPTER)
        return arena_printf(&scratch.arena,
                            "#include \"cutlass/gemm/device/gemm_universal_adapter.h\"\n"
                            "using ElementA = float; using LayoutA = %s; // of A\n"
                            "using ElementB = float;\nusing LayoutB = %s;\n"
                            "using ElementC = float; using LayoutC = %s;\n"
                            "using Kernel = cutlass::gemm::kernel::GemmUniversal<%d, ElementA, "
                            "LayoutA,\n    ElementB, LayoutB, ElementC, LayoutC>;\n"
                            "using Mine = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;\n"
                            "int main() { return 0; }\n",
                            a, b, c, layouts % 2 ? 3 : 4);
    return arena_printf(
        &scratch.arena,
        "#include \"cutlass/gemm/device/gemm.h\"\n"
        "using number = float;\nusing layout_of_a = %s;\n"
        "using Mine = typename cutlass::gemm::device::%s<\n    number, layout_of_a, "
        "float, %s, number, %s>;\n",
        a, device == CUTLASS_UNIVERSAL ? "GemmUniversal" : "Gemm", b, c);
}

static bool compiled(const char *library, const char *shim)
{
    char *command =
        xprintf("c++ -std=c++17 -O0 -shared -fPIC -fvisibility=hidden -I%s -I%s "
                "-I%s/cutlass/include -I%s/cutlass/tools/util/include -o %s -x c++ %s",
                scratch.folder, TEST_SOURCE "/kernels", TEST_DATA, TEST_DATA, library, shim);
    const int code = system(command);
    free(command);
    return code == 0;
}

static int64_t place(bool along_second, int64_t i, int64_t j, int64_t rows, int64_t columns)
{
    return along_second ? i * columns + j : j * rows + i;
}

// Right where the problem's layout says that A and B lie so.
static void assert_multiplies(const struct plumb_kernel *kernel, int32_t layout)
{
    const bool a_along_k = layout == PLUMB_TN || layout == PLUMB_NN;
    const bool b_along_k = layout == PLUMB_TN || layout == PLUMB_TT;
    float a[M * K], b[K * N], c[M * N], wanted;
    struct plumb_args args = {
        .problem = {M, N, K, PLUMB_FP32, PLUMB_FP32, layout, 1, 0, 0}, .a = a, .b = b, .c = c};
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i * i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i * i % 11 - 4);
    assert_int_equal(kernel->supports(&args.problem), 1);
    assert_true(kernel->workspace(&args.problem) <= 256);
    assert_int_equal(kernel->launch(&args, NULL), 0);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            wanted = 0;
            for (int l = 0; l < K; l++)
                wanted += a[place(a_along_k, i, l, M, K)] * b[place(!b_along_k, l, j, K, N)];
            assert_true(c[i * N + j] == wanted);
        }
    }
    args.problem.layout = (layout + 1) % 4;
    assert_int_equal(kernel->supports(&args.problem), 0);
    args.problem.layout = layout;
    args.problem.in_type = PLUMB_BF16;
    assert_int_equal(kernel->supports(&args.problem), 0);
}

static int32_t layout_named(const char *name)
{
    static const char *const names[] = {"TN", "NN", "NT", "TT"};
    for (int32_t i = 0; i < 4; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    fail_msg("layout %s", name);
    return -1;
}

static void one_shim(enum cutlass_device device, unsigned layouts)
{
    const char *text = source_of(device, layouts);
    const struct signature_list list = find(text);
    struct buffer shim = {0};
    assert_int_equal(list.count, 1);
    const struct signature *s = &list.items[0];
    if (!s->understood)
        fail_msg("%s: %s", text, s->why);
    assert_int_equal(s->device, device);
    assert_string_equal(s->called, "mine");
    assert_string_equal(s->in_type, "FP32");
    struct signature in_folder = *s;
    in_folder.file = "mine.cu";
    const struct call call = shim_call(FORM_CUTLASS, s);
    shim_write(&shim, &in_folder, FORM_CUTLASS, &call, s->called);
    const char *library = scratch_in("mine.so"), *path = scratch_in("shim.cu");
    helper_write_text(scratch_in("mine.cu"), text);
    helper_write_text(scratch_in("plumb_kernel.h"), "#include \"kernel.h\"\n");
    helper_write(path, shim.bytes, shim.length);
    buffer_free(&shim);
    assert_true(compiled(library, path));
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    plumb_library_function entry;
    void *symbol = dlsym(loaded, "plumb_library");
    assert_non_null(symbol);
    memcpy(&entry, &symbol, sizeof(entry));
    assert_string_equal(entry()->kernels[0].name, "mine");
    assert_multiplies(&entry()->kernels[0], layout_named(s->layout));
    dlclose(loaded);
}

static bool have_compiler(void)
{
    return system("command -v c++ >/dev/null 2>&1") == 0;
}

AROUND_ALL(scratch_set_up, scratch_tear_down);

TEST(every_layout_of_each_device_kernel_is_called_as_it_lies)
{
    if (!have_compiler()) {
        skip_without("g++", "there is no C++ compiler: the shims for CUTLASS are not built");
    }
    for (unsigned layouts = 0; layouts < LAYOUTS; layouts++) {
        one_shim(CUTLASS_ADAPTER, layouts);
        one_shim(layouts % 2 ? CUTLASS_UNIVERSAL : CUTLASS_GEMM, layouts);
    }
}

TEST(what_is_no_plain_product_says_why)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"void f() { using G = cutlass::gemm::device::Gemm<float, RowMajor, float, RowMajor, "
         "float, "
         "RowMajor>; }",
         "inside of a function"},
        {"using G = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;", "element types"},
        {"using G = cutlass::gemm::device::Gemm<cutlass::float_e4m3_t, RowMajor, "
         "cutlass::float_e4m3_t, ColumnMajor, float, RowMajor>;",
         "FP8"},
        {"using G = cutlass::gemm::device::Gemm<float, ColumnMajorInterleaved<32>, float, "
         "RowMajor, "
         "float, RowMajor>;",
         "layouts"},
        {"using G = cutlass::gemm::device::Gemm<float, RowMajor, double, RowMajor, float, "
         "RowMajor>;",
         "two types"},
        {"using H = cutlass::half_t;\nusing G = cutlass::gemm::device::Gemm<H, RowMajor, H, "
         "RowMajor, "
         "float, RowMajor, H>;",
         "16 bits"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct signature_list list = find(cases[i].text);
        assert_int_equal(list.count, 1);
        assert_false(list.items[0].understood);
        if (!strstr(list.items[0].why, cases[i].why))
            fail_msg("%s: %s", cases[i].text, list.items[0].why);
    }
    assert_int_equal(find("// using G = cutlass::gemm::device::Gemm<float>;\n"
                          "using R = cutlass::reference::device::Gemm<float>;\n"
                          "using using = using; using = ; using X = X; using")
                         .count,
                     0);
}

TEST(types_are_those_of_the_source)
{
    const struct signature_list list =
        find("using Layout = cutlass::layout::RowMajor;\nusing In = cutlass::bfloat16_t;\n"
             "using First = cutlass::gemm::device::Gemm<In, Layout, In, "
             "cutlass::layout::ColumnMajor,\n    float, Layout, float, "
             "cutlass::arch::OpClassTensorOp>;\n"
             "using Second = cutlass::gemm::device::GemmUniversal<float, Layout, float, Layout, "
             "float,\n    Layout, float, cutlass::arch::OpClassTensorOp>;\n");
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].in_type, "BF16");
    assert_string_equal(list.items[0].out_type, "FP32");
    assert_string_equal(list.items[0].layout, "TN");
    assert_string_equal(list.items[0].called, "mine");
    assert_string_equal(list.items[1].in_type, "TF32");
    assert_string_equal(list.items[1].out_type, "FP32");
    assert_string_equal(list.items[1].layout, "NN");
    assert_string_equal(list.items[1].called, "mine-Second");
}
