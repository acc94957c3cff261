// SPDX-License-Identifier: Apache-2.0
//
// Profiles that are not shipped: written and read back, refused by line, and figures set by option.
#include "ci/settings/gpu_file.h"
#include "ci/settings/text_file.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(struct gpu_profile *out, const char *text, struct error *err)
{
    return gpu_file_read(out, helper_file(text), err);
}

TEST(every_shipped_profile_comes_back_from_its_file)
{
    for (size_t i = 0; i < gpu_count; i++) {
        struct buffer text = {0};
        struct gpu_profile read;
        struct gpu shipped = *gpus[i];
        struct error err;
        gpu_file_write(&text, &shipped);
        if (read_text(&read, text.bytes, &err))
            fail_msg("%s", err.text);
        assert_string_equal(read.gpu.name, shipped.name);
        assert_string_equal(read.gpu.summary, shipped.summary);
        for (size_t j = 0; j < gpu_figure_count(); j++) {
            const struct figure *a = gpu_figure(&shipped, gpu_figure_key(j));
            const struct figure *b = gpu_figure(&read.gpu, gpu_figure_key(j));
            assert_true(a->value == b->value);
            if (a->value != 0)
                assert_string_equal(a->source, b->source);
        }
        gpu_profile_free(&read);
        buffer_free(&text);
    }
}

// On the GPU of the model's constants a file of measured figures is as sure as the shipped ones.
TEST(a_measured_file_of_the_fitted_gpu_has_its_bands)
{
    static const char *const names[] = {"h200-sxm", "l40s"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct buffer text = {0};
        struct gpu_profile read;
        struct gpu shipped = *gpu_find(names[i]);
        struct problem problem;
        struct traits none = {0};
        struct error err;
        gpu_file_write(&text, &shipped);
        assert_int_equal(read_text(&read, text.bytes, &err), 0);
        assert_int_equal(problem_parse(&problem, "4096x4096x4096:bf16:stream", &err), 0);
        struct predict_input in = {.gpu = &shipped, .problem = &problem, .traits = &none};
        const double as_shipped = model_find("hopper")->predict(&in).band;
        in.gpu = &read.gpu;
        assert_true(as_shipped > 0 && model_find("hopper")->predict(&in).band == as_shipped);
        gpu_profile_free(&read);
        buffer_free(&text);
    }
}

TEST(values_carry_units_and_a_base_gives_the_rest)
{
    struct gpu_profile p;
    struct error err;
    assert_int_equal(read_text(&p,
                               "[gpu \"mine\"]\nbase = H100_SXM\n"
                               "[figure \"dram_bytes_s\"]\nvalue = 1.93 TB/s\nsource = here\n"
                               "[figure \"clock_hz\"]\nsource = here\nvalue = 1410 MHz\n"
                               "[figure \"l2_bytes\"]\nvalue = 40 MiB\nsource = here\n"
                               "[figure \"launch_s\"]\nvalue = 2.5 us\nsource = here\n",
                               &err),
                     0);
    assert_string_equal(p.gpu.name, "mine");
    assert_true(p.gpu.dram_bytes_s.value == 1.93e12 && p.gpu.clock_hz.value == 1.41e9);
    assert_true(p.gpu.l2_bytes.value == 41943040 && p.gpu.launch_s.value > 2.49e-6);
    assert_true(p.gpu.sm_count.value == 132); // the base's
    gpu_profile_free(&p);
}

TEST(what_is_not_understood_is_refused_with_its_line)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[figure \"sm_count\"]\nvalue = 1\n", "begins with [gpu"},
        {"", "no section [gpu"},
        {"[gpu]\n", ":1: one section"},
        {"[gpu \"a\"]\nbase = no-such\n", ":2: base = no-such"},
        {"[gpu \"a\"]\ncolour = red\n", ":2: unknown key gpu.colour"},
        {"[gpu \"a\"]\n[figure \"warp_cores\"]\nvalue = 1\n", ":2: warp_cores is no figure"},
        {"[gpu \"a\"]\n[figure \"sm_count\"]\nvalue = many\nsource = x\n", ":3: sm_count = 'many'"},
        {"[gpu \"a\"]\n[figure \"sm_count\"]\nvalue = -1\nsource = x\n", "not negative"},
        {"[gpu \"a\"]\n[figure \"clock_hz\"]\nvalue = 1.4 TB/s\nsource = x\n", "in Hz"},
        {"[gpu \"a\"]\n[figure \"clock_hz\"]\nvalue = 1.4 GHz\n", "names no source"},
        {"[gpu \"a\"]\n[figure \"clock_hz\"]\nvalue = nan\nsource = x\n", ":3: clock_hz"},
        {"[gpu \"a\"]\n[figure \"clock_hz\"]\nvalue = 1e999\nsource = x\n", ":3: clock_hz"},
        {"[gpu \"a\"]\n[include]\npath = /etc/passwd\n", ":2"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct gpu_profile p;
        struct error err;
        assert_int_equal(read_text(&p, cases[i].text, &err), -1);
        if (!strstr(err.text, cases[i].expected))
            fail_msg("'%s' is not in '%s'", cases[i].expected, err.text);
    }
}

TEST(figures_are_set_on_the_command_line)
{
    struct gpu_option option = {
        .name = "h200-sxm", .sets = {"dram_bytes_s=2 TB/s", "sm_count=66"}, .set_count = 2};
    struct gpu_profile p;
    struct error err;
    assert_int_equal(gpu_option_resolve(&p, &option, &err), 0);
    assert_true(p.gpu.dram_bytes_s.value == 2e12 && p.gpu.sm_count.value == 66);
    assert_string_equal(p.gpu.sm_count.source, "--set");
    gpu_profile_free(&p);
    static const char *const bad[] = {"sm_count", "cores=3", "sm_count=x", "=", "clock_hz=1 us"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        option = (struct gpu_option){.name = "h200-sxm", .sets = {bad[i]}, .set_count = 1};
        assert_int_equal(gpu_option_resolve(&p, &option, &err), -1);
    }
    option = (struct gpu_option){.name = "no-such"};
    assert_int_equal(gpu_option_resolve(&p, &option, &err), -1);
    option = (struct gpu_option){.name = "/no/such/file"};
    assert_int_equal(gpu_option_resolve(&p, &option, &err), -1);
}

// FP32 is what FMA units do, and never the rate of TF32 on tensor cores.
TEST(fp32_is_the_rate_of_fma_units)
{
    for (size_t i = 0; i < gpu_count; i++) {
        const struct gpu *gpu = gpus[i];
        if (gpu->flops_clk_fp32.value > 256)
            fail_msg("%s: %g FLOP a clock in FP32", gpu->name, gpu->flops_clk_fp32.value);
        if (gpu->flops_clk_tf32.value > 0)
            assert_true(gpu->flops_clk_fp32.value <= gpu->flops_clk_tf32.value);
    }
    assert_true(gpu_find("b200")->clock_hz.value > gpu_find("b200-1300")->clock_hz.value);
}
