// SPDX-License-Identifier: Apache-2.0
//
// How launches meet the device: each regime that a request names, on the host device.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

// A series of one regime, or of none that is named, on which two pairs are taken.
static void play(struct transcript *t, const char *regime)
{
    char *script = xprintf("open\tid=1\tkernel=simd\tproblem=64x64x64:fp32\thead=%%S\tbase=%%S\t"
                           "seed=3%s%s\npairs\tid=1\tcount=2\tblock=0\nclose\tid=1\nquit\n",
                           regime ? "\tregime=" : "", regime ? regime : "");
    bench_play(t, script);
    free(script);
}

TEST(request_names_the_regime_and_answers_repeat_it)
{
    static const char *const words[] = {"stream", "isolated", "dirty", "warm", "cold", NULL};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const char *told = words[i] ? words[i] : "cold";
        struct transcript t;
        play(&t, words[i]);
        assert_int_equal(transcript_count(&t, "sample"), 4);
        assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
        assert_string_equal(field(transcript_find(&t, "opened", 0), "regime"), told);
        assert_string_equal(field(transcript_find(&t, "sample", 3), "regime"), told);
        assert_string_equal(field(transcript_find(&t, "closed", 0), "regime"), told);
        transcript_free(&t);
    }
}

TEST(unknown_regime_is_refused)
{
    struct transcript t;
    play(&t, "tepid");
    assert_non_null(strstr(field(transcript_find(&t, "fail", 0), "text"), "'tepid'"));
    transcript_free(&t);
}
