// SPDX-License-Identifier: Apache-2.0
//
// The policy that `plumb init` writes trusts device code alone where a kernel can be recorded.
#include "ci/init/shims.h"
#include "ci/settings/policy.h"
#include "tests/helpers/test.h"

#include <string.h>

static struct policy written(enum form form, const char *libraries)
{
    const struct shim_policy plan = {
        .form = form, .arch = "90a", .in_type = "FP32", .libraries = libraries};
    struct buffer text = {0};
    struct policy policy;
    struct error err;
    shim_policy_write(&text, &plan);
    if (policy_parse(&policy, text.bytes, text.length, "p.cfg", &err))
        fail_msg("%s", err.text);
    buffer_free(&text);
    return policy;
}

static void cuda_forms_are_timed_from_records(void **state)
{
    (void)state;
    for (enum form form = FORM_CUDA_NN; form < FORMS; form++) {
        struct policy own = written(form, ""), linked = written(form, " -lcublas");
        assert_int_equal(own.kernels[0].device_code, form != FORM_HOST);
        assert_false(linked.kernels[0].device_code); // cuBLAS launches its own code
        policy_free(&own);
        policy_free(&linked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuda_forms_are_timed_from_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
