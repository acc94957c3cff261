// SPDX-License-Identifier: Apache-2.0
//
// The texts that `plumb init` writes: kernels of several types and layouts have problems of their
// own, and a function is called as its matrices lie.
#include "ci/init/init.h"
#include "ci/settings/policy.h"
#include "tests/helpers/test.h"

#include <string.h>

static struct policy written(enum form form, const struct shim_group *groups, size_t count)
{
    const struct shim_policy plan = {
        .form = form, .arch = "90a", .groups = groups, .group_count = count, .libraries = ""};
    struct buffer text = {0};
    struct policy policy;
    struct error err;
    shim_policy_write(&text, &plan);
    if (policy_parse(&policy, text.bytes, text.length, "p.cfg", &err))
        fail_msg("%s", err.text);
    buffer_free(&text);
    return policy;
}

TEST(what_can_be_recorded_is_timed_from_records)
{
    for (enum form form = FORM_CUDA_NN; form < FORMS; form++) {
        for (int recorded = 0; recorded < 2; recorded++) {
            const struct shim_group group = {
                .name = "main", .in_type = "FP32", .recorded = recorded};
            struct policy policy = written(form, &group, 1);
            assert_int_equal(policy.kernel_count, 1);
            assert_int_equal(policy.kernels[0].device_code, recorded);
            policy_free(&policy);
        }
    }
}

TEST(kernels_of_other_types_have_problems_of_their_own)
{
    const char *first[] = {"plain"}, *others[] = {"half", "sum"};
    const struct shim_group groups[] = {
        {"main", "FP32", "FP32", "NN", false, false, first, 1},
        {"FP16-FP32-TN", "FP16", "FP32", "TN", true, true, others, 2}};
    const struct policy_device device = {.name = "gpu", .kind = "cuda"};
    struct policy policy = written(FORM_CUDA_NN, groups, 2);
    assert_int_equal(policy.set_count, 2);
    for (size_t i = 0; i < 3; i++) {
        const char *name = i ? others[i - 1] : "plain";
        const struct policy_kernel *rule = policy_rule(&policy, name, &device);
        const struct policy_set *set = policy_set_find(&policy, rule->sets[0]);
        assert_int_equal(rule->device_code, i > 0);
        assert_string_equal(set->name, groups[i > 0].name);
        assert_int_equal(set->count, i ? 1 : 3); // m = n = k alone
        assert_int_equal(set->problems[0].in, i ? DTYPE_FP16 : DTYPE_FP32);
        assert_int_equal(set->problems[0].layout, i ? LAYOUT_TN : LAYOUT_NN);
    }
    policy_free(&policy);
}

// lda and ldb are steps of the caller's own A and B, which column by column are our B and A.
TEST(steps_follow_the_layout)
{
    static const struct {
        struct call call;
        const char *says;
    } cases[] = {
        {{.layout = "NN", .columns = false},
         "(int)p->m, (int)p->n, (int)p->k, (int)p->k, (int)p->n, (int)p->n"},
        {{.layout = "TN", .columns = false},
         "(int)p->m, (int)p->n, (int)p->k, (int)p->k, (int)p->k, (int)p->n"},
        {{.layout = "NT", .columns = false},
         "(int)p->m, (int)p->n, (int)p->k, (int)p->m, (int)p->n, (int)p->n"},
        {{.layout = "TT", .columns = false},
         "(int)p->m, (int)p->n, (int)p->k, (int)p->m, (int)p->k, (int)p->n"},
        {{.layout = "NN", .columns = true},
         "(int)p->n, (int)p->m, (int)p->k, (int)p->n, (int)p->k, (int)p->n"},
        {{.layout = "TN", .columns = true},
         "(int)p->n, (int)p->m, (int)p->k, (int)p->k, (int)p->k, (int)p->n"},
        {{.layout = "NT", .columns = true},
         "(int)p->n, (int)p->m, (int)p->k, (int)p->n, (int)p->m, (int)p->n"},
    };
    const struct signature s = {
        .callee = CALLEE_HOST,
        .file = "f.c",
        .name = "f",
        .arguments = {ARG_M, ARG_N, ARG_K, ARG_LDA, ARG_LDB, ARG_LDC, ARG_A, ARG_B, ARG_C},
        .count = 9,
        .in_type = "FP32",
        .out_type = "FP32",
        .in_spelled = "float",
        .out_spelled = "float"};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct buffer text = {0};
        shim_write(&text, &s, &cases[i].call, "f");
        if (!strstr(text.bytes, cases[i].says))
            fail_msg("case %zu: %s", i, text.bytes);
        assert_non_null(strstr(text.bytes, cases[i].call.columns
                                               ? "(float *)args->b, (float *)args->a,"
                                               : "(float *)args->a, (float *)args->b,"));
        buffer_free(&text);
    }
}

// One library holds a kernel for each way, and the words say which way it is.
TEST(every_way_is_a_kernel_of_its_own)
{
    const struct signature s = {.callee = CALLEE_KERNEL,
                                .file = "f.cu",
                                .name = "f",
                                .arguments = {ARG_M, ARG_N, ARG_K, ARG_A, ARG_B, ARG_C},
                                .count = 6,
                                .in_type = "FP32",
                                .out_type = "FP32",
                                .in_spelled = "float",
                                .out_spelled = "float"};
    const struct call calls[] = {{.layout = "NN"},
                                 {.layout = "NT", .columns = true, .clear = true}};
    const char *const names[] = {"one", "two"};
    struct arena arena = {0};
    struct buffer text = {0};
    shim_write_tries(&text, &s, calls, names, 2);
    assert_non_null(strstr(text.bytes, "\"one\""));
    assert_non_null(strstr(text.bytes, "plumb_supports_1, NULL, NULL, plumb_launch_1"));
    assert_non_null(strstr(text.bytes, "each[] = {plumb_shim_0, plumb_shim_1}"));
    assert_non_null(strstr(text.bytes, "block(16, 16);\n    const dim3 grid((unsigned)(p->n + 15) "
                                       "/ 16, (unsigned)(p->m + 15) / 16);"));
    assert_non_null(strstr(text.bytes, "block(16, 16);\n    const dim3 grid((unsigned)(p->m + 15) "
                                       "/ 16, (unsigned)(p->n + 15) / 16);"));
    assert_string_equal(shim_call_words(&calls[0], &arena), "");
    assert_string_equal(shim_call_words(&calls[1], &arena),
                        ", as column-major, B transposed, C cleared before, for it is read");
    buffer_free(&text);
    arena_free(&arena);
}

// A repository without kernels gets one: init writes the shim of its signature like any other's.
TEST(the_first_kernel_of_an_empty_repository_computes_its_form)
{
    static const char *const products[FORMS] = {[FORM_CUDA_NN] = "a[i * k + l] * b[l * n + j]",
                                                [FORM_CUDA_TN] = "a[i * k + l] * b[j * k + l]",
                                                [FORM_CUDA_COLUMN] = "a[l * m + j] * b[i * k + l]",
                                                [FORM_HOST] = "a[i * k + l] * b[l * n + j]"};
    for (enum form form = FORM_CUDA_NN; form < FORMS; form++) {
        struct buffer text = {0};
        struct signature s = {0};
        shim_example(&text, &s, form, "kernels/first.c");
        buffer_add(&text, "", 1);
        assert_true(s.understood);
        assert_string_equal(s.file, "kernels/first.c");
        assert_non_null(strstr(text.bytes, s.name));
        assert_int_equal(strstr(text.bytes, "__global__") != NULL, !form_is_host(form));
        if (products[form])
            assert_non_null(strstr(text.bytes, products[form]));
        if (!form_is_numbers(form))
            assert_int_equal(s.callee, form == FORM_HOST ? CALLEE_HOST : CALLEE_KERNEL);
        assert_null(strstr(text.bytes, "@")); // each gap of the template is filled
        buffer_free(&text);
    }
}
