// SPDX-License-Identifier: Apache-2.0
//
// The recorded study of the host device says what the READMEs say of it.
#include "model/gate/study.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_rates.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST TEST_SOURCE "/baselines/recorded/host/"

// Noisier by far, with a margin of its own.
static void the_host_finds_what_is_far_beyond_its_margin(void **state)
{
    struct gate_cells cells = {0};
    char *readme = helper_read(TEST_SOURCE "/baselines/recorded/README.md", NULL);
    unsigned gates = 0, undecided = 0, changed = 0;
    gates_read(&cells, HOST "study.csv");
    for (size_t i = 0; i < cells.count; i++) {
        const struct gate_cell *c = &cells.items[i];
        assert_int_equal(c->wrong, 0);
        if (c->aa) {
            gates += c->gates;
            undecided += c->undecided;
            continue;
        }
        assert_int_equal(c->found, c->gates);
        assert_true(c->effect / c->gates > 7);
        changed += c->gates;
    }
    char text[128];
    snprintf(text, sizeof(text),
             "0 of %u gates of identical code alarmed (at most %.2f %%), %u undecided", gates,
             100 * study_rate_upper(0, gates, 0.95), undecided);
    assert_non_null(strstr(readme, text));
    snprintf(text, sizeof(text), "found in %u of %u gates", changed, changed);
    assert_non_null(strstr(readme, text));
    snprintf(text, sizeof(text), "%u of %u gates, at least %.1f %%)", changed, changed,
             100 * rate_lower(changed, changed, 0.95));
    char *said = helper_read(HOST "README.md", NULL);
    assert_non_null(strstr(said, text));
    free(said);
    free(readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_finds_what_is_far_beyond_its_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
