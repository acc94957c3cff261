// SPDX-License-Identifier: Apache-2.0
//
// The epochs file: what parses, what is refused and with which line, and which epoch a series falls
// under.
#include "baselines/epoch.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static const char good[] = "# accepted changes\n"
                           "\n"
                           "series = tiled 4096x4096x4096:bf16-bf16:tn GPU-1\n"
                           "commit = 1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c1f0c\n"
                           "level  = 0.0312\n"
                           "reason = wider tiles trade this shape for the large ones = on purpose\n"
                           "who    = A. Author <author@example.org>\n"
                           "when   = 2024-02-29\n"
                           "\n"
                           "series=tiled * *\r\n"
                           "  when = 1970-01-01\n"
                           "level = -1e-3\n"
                           "# a comment inside\n"
                           "commit = abcdef0\n"
                           "reason = r\n"
                           "who = w";

static int parse(struct epoch_list *out, struct arena *arena, struct error *err, const char *text)
{
    return epoch_parse(out, text, strlen(text), "epochs.txt", arena, err);
}

TEST(file_parses_to_its_epochs)
{
    struct arena arena = {0};
    struct error err = {0};
    struct epoch_list list;
    if (parse(&list, &arena, &err, good))
        fail_msg("%s", err.text);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.epochs[0].series, "tiled 4096x4096x4096:bf16-bf16:tn GPU-1");
    assert_true(list.epochs[0].level == 0.0312);
    assert_string_equal(list.epochs[0].reason,
                        "wider tiles trade this shape for the large ones = on purpose");
    assert_int_equal(list.epochs[0].when_s, 1709164800); // date -u -d 2024-02-29 +%s
    assert_string_equal(list.epochs[1].commit, "abcdef0");
    assert_true(list.epochs[1].level == -0.001);
    assert_int_equal(list.epochs[1].when_s, 0);
    arena_free(&arena);
}

TEST(empty_file_has_no_epochs)
{
    struct arena arena = {0};
    struct error err;
    struct epoch_list list = {.count = 7};
    assert_int_equal(parse(&list, &arena, &err, ""), 0);
    assert_int_equal(list.count, 0);
    assert_int_equal(parse(&list, &arena, &err, "\n\n# only this"), 0);
    assert_int_equal(list.count, 0);
    arena_free(&arena);
}

TEST(mistakes_are_named_with_their_line)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"levle = 1\n", "epochs.txt:1: unknown key levle"},
        {"series = a * *\nnonsense\n", "epochs.txt:2: expected key = value"},
        {"level = 1\n", "epochs.txt:1: an epoch begins with its series"},
        {"series = a * *\nseries = b * *\n", "epochs.txt:2: a second series"},
        {"series = a *\n", "epochs.txt:1: series is KERNEL PROBLEM DEVICE"},
        {"series = a  * *\n", "epochs.txt:1: series is KERNEL PROBLEM DEVICE"},
        {"series = a * * *\n", "epochs.txt:1: series is KERNEL PROBLEM DEVICE"},
        {"series = a * *\nlevel = nan\n", "epochs.txt:2: level is a log ratio"},
        {"series = a * *\nlevel = 1e9\n", "epochs.txt:2: level is a log ratio"},
        {"series = a * *\nlevel = 0.1x\n", "epochs.txt:2: level is a log ratio"},
        {"series = a * *\ncommit = xyz\n", "epochs.txt:2: commit is a hexadecimal id"},
        {"series = a * *\ncommit = HEAD\n", "epochs.txt:2: commit is a hexadecimal id"},
        {"series = a * *\nwhen = 2026-02-30\n", "epochs.txt:2: when is a date"},
        {"series = a * *\nwhen = 2026-13-01\n", "epochs.txt:2: when is a date"},
        {"series = a * *\nwhen = 2026-1-1\n", "epochs.txt:2: when is a date"},
        {"series = a * *\nwhen = 2026-11-21T00\n", "epochs.txt:2: when is a date"},
        {"series = a * *\nreason =\n", "epochs.txt:2: reason is empty"},
        {"series = a * *\nreason = \x1b[31m\n", "epochs.txt:2: a control byte"},
        {"series = a * *\nlevel = 0.1\n\n", "epochs.txt:3: the epoch that ends here has no commit"},
        {"series = a * *\nlevel = 0.1", "epochs.txt:2: the epoch that ends here has no commit"},
        {"state = fixed\n", "epochs.txt:1: an epoch begins with its series, a decision with its"},
        {"event = A B\n", "epochs.txt:1: event is a name"},
        {"event = a1\nstate = new\n", "epochs.txt:2: state is accepted, fixed, dismissed or taken"},
        {"event = a1\n", "epochs.txt:1: the decision that ends here has no state"},
        {"event = a1\nlevel = 0.1\n", "epochs.txt:2: the decision that ends here has no state"},
        {"event = a1\nlevel = 0.1\nstate = fixed\nreason = r\nwho = w\nwhen = 2026-11-21\n",
         "epochs.txt:6: the decision that ends here has a level"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct arena arena = {0};
        struct error err = {0};
        struct epoch_list list = {.count = 7};
        assert_int_equal(parse(&list, &arena, &err, cases[i].text), -1);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_int_equal(list.count, 7);
        arena_free(&arena);
    }
}

TEST(decisions_stand_among_epochs_and_parse_back)
{
    struct arena arena = {0};
    struct error err;
    struct epoch_list list = {0};
    const struct epoch_decision decision = {.event = "1f0c62a9b3-environment-2",
                                            .state = EVENT_DISMISSED,
                                            .reason = "the fan = broken",
                                            .who = "A <a@example.org>",
                                            .when_s = 1700006400};
    char *block;
    assert_int_equal(epoch_decision_format(&block, &decision, &arena, &err), 0);
    const char *epoch = "series = a * *\ncommit = 0123456789\nlevel = 0.1\nreason = r\nwho = w\n"
                        "when = 2026-11-21\n";
    const char *text = arena_printf(&arena, "%s\n%s\n%s", epoch, block, epoch);
    assert_int_equal(parse(&list, &arena, &err, text), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.decision_count, 1);
    assert_string_equal(list.decisions[0].event, decision.event);
    assert_int_equal(list.decisions[0].state, EVENT_DISMISSED);
    assert_string_equal(list.decisions[0].reason, decision.reason);
    assert_int_equal(list.decisions[0].when_s, decision.when_s);
    struct epoch_decision bad = decision;
    bad.state = EVENT_WITHDRAWN; // the tool's word, not a person's
    assert_int_equal(epoch_decision_format(&block, &bad, &arena, &err), -1);
    arena_free(&arena);
}

TEST(epoch_formats_to_what_parses_back)
{
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        struct arena arena = {0};
        struct error err = {0};
        struct epoch_list list;
        struct epoch epoch = {.series = "tile-?? *:bf16-bf16:tn GPU-1",
                              .level = (draw_unit(&seed) - 0.5) * 0.2,
                              .reason = "because = # it is so",
                              .who = "A. Author <author@example.org>",
                              .when_s = (int64_t)(draw_bits(&seed) % 2900000) * 86400};
        memset(epoch.commit, 'a', 40);
        char *text = NULL;
        if (epoch_format(&text, &epoch, &arena, &err) || parse(&list, &arena, &err, text))
            fail_msg("%s", err.text);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.epochs[0].series, epoch.series);
        assert_string_equal(list.epochs[0].commit, epoch.commit);
        assert_true(list.epochs[0].level == epoch.level);
        assert_string_equal(list.epochs[0].reason, epoch.reason);
        assert_string_equal(list.epochs[0].who, epoch.who);
        assert_int_equal(list.epochs[0].when_s, epoch.when_s);
        arena_free(&arena);
    }
}

TEST(what_cannot_be_one_line_is_refused)
{
    const struct epoch sound = {.series = "a * *", .commit = "abcdef0", .reason = "r", .who = "w"};
    struct epoch cases[] = {sound, sound, sound, sound, sound};
    cases[0].reason = "two\nlines";
    cases[1].who = "";
    cases[2].series = "a\nb * *";
    cases[3].reason = " padded";
    strcpy(cases[4].commit, "HEAD");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct arena arena = {0};
        struct error err = {0};
        char *text = NULL;
        int status = epoch_format(&text, &cases[i], &arena, &err);
        assert_int_equal(status, -1);
        assert_null(text);
        arena_free(&arena);
    }
}

TEST(patterns_match_whole_parts)
{
    static const struct {
        const char *series;
        bool matches;
    } cases[] = {
        {"tile-01 4096x4096x512:bf16-bf16:tn GPU-1", true},
        {"* * *", true},
        {"tile-?? *:bf16-* GPU-*", true},
        {"tile-? * *", false},
        {"tile-01 4096x4096x512 *", false},
        {"tile-01 *x512:* *1", true},
        {"ile-01 * *", false},
        {"*****************************b * *", false},
        {"tile-01* *:tn* GPU-1*", true},
    };
    struct problem problem;
    struct error err;
    assert_int_equal(problem_parse(&problem, "4096x4096x512:bf16", &err), 0);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct epoch epoch = {.series = cases[i].series};
        if (epoch_matches(&epoch, "tile-01", &problem, "GPU-1") != cases[i].matches)
            fail_msg("%s", cases[i].series);
    }
}

TEST(last_matching_epoch_is_found)
{
    struct epoch epochs[] = {{.series = "* * *", .level = 1},
                             {.series = "tile-01 * *", .level = 2},
                             {.series = "tile-02 * *", .level = 3}};
    const struct epoch_list list = {.epochs = epochs, .count = ARRAY_COUNT(epochs)}, none = {0};
    struct problem problem;
    struct error err;
    assert_int_equal(problem_parse(&problem, "8x8x8", &err), 0);
    assert_true(epoch_find(&list, "tile-01", &problem, "host")->level == 2);
    assert_true(epoch_find(&list, "naive", &problem, "host")->level == 1);
    assert_null(epoch_find(&none, "naive", &problem, "host"));
}

TEST(a_removal_is_a_level_of_its_own)
{
    static const char text[] = "series = k * *\ncommit = abcdef0\nlevel  = removed\n"
                               "reason = nobody calls it\nwho    = A\nwhen   = 2026-11-21\n";
    struct arena arena = {0};
    struct epoch_list list;
    struct problem problem;
    struct error err;
    char *again;
    assert_int_equal(epoch_parse(&list, text, strlen(text), "epochs", &arena, &err), 0);
    assert_true(list.count == 1 && list.epochs[0].removed && list.epochs[0].level == 0);
    assert_int_equal(epoch_format(&again, &list.epochs[0], &arena, &err), 0);
    assert_string_equal(again, text);
    struct epoch other = list.epochs[0];
    assert_true(epoch_known(&list, &other));
    other.removed = false;
    assert_false(epoch_known(&list, &other));
    // It is no level that a history could begin at.
    assert_int_equal(problem_parse(&problem, "8x8x8", &err), 0);
    assert_null(epoch_find(&list, "k", &problem, "host"));
    other = list.epochs[0];
    other.level = 0.5;
    assert_int_equal(epoch_format(&again, &other, &arena, &err), -1);
    arena_free(&arena);
}

TEST(mutated_files_never_crash_the_parser)
{
    uint64_t seed = 5;
    size_t accepted = 0;
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        struct error err = {0};
        struct epoch_list list = {0};
        size_t length = strlen(good) - draw_bits(&seed) % 8;
        char *text = xcalloc(length, 1);
        memcpy(text, good, length);
        for (uint64_t changes = draw_bits(&seed) % 4; changes > 0; changes--) {
            size_t at = draw_bits(&seed) % length, from = draw_bits(&seed) % length;
            size_t run = draw_bits(&seed) % 30;
            if (run > length - at || run > length - from)
                text[at] = (char)draw_bits(&seed);
            else
                memmove(text + at, text + from, run);
        }
        if (epoch_parse(&list, text, length, "f", &arena, &err) == 0) {
            accepted++;
            for (size_t i = 0; i < list.count; i++) {
                char *again;
                if (epoch_format(&again, &list.epochs[i], &arena, &err))
                    fail_msg("%s", err.text);
            }
        } else {
            assert_true(strncmp(err.text, "f:", 2) == 0);
        }
        free(text);
        arena_free(&arena);
    }
    assert_true(accepted > 500);
}

// Who takes an event decides nothing; of several the last is on it.
TEST(who_took_an_event_last_is_on_it)
{
    struct arena arena = {0};
    struct error err;
    struct epoch_list list = {0};
    const struct epoch_decision all[] = {
        {"a1", true, EVENT_NEW, "looks into it", "A <a@b>", 1795219200},
        {"b2", false, EVENT_FIXED, "is well", "B <b@b>", 1795219200},
        {"a1", true, EVENT_NEW, "took it over", "C <c@b>", 1795305600},
        {"a10", true, EVENT_NEW, "another", "D <d@b>", 1795305600}};
    char *text = arena_strdup(&arena, ""), *block;
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        assert_int_equal(epoch_decision_format(&block, &all[i], &arena, &err), 0);
        text = arena_printf(&arena, "%s\n%s", text, block);
    }
    assert_non_null(strstr(text, "event  = a1\nstate  = taken\n"));
    assert_int_equal(parse(&list, &arena, &err, text), 0);
    assert_int_equal(list.decision_count, 4);
    const struct event_taken taken = epoch_taken(&list, "a1");
    assert_string_equal(taken.who, "C <c@b>");
    assert_string_equal(taken.why, "took it over");
    assert_int_equal(taken.when_s, 1795305600);
    assert_null(epoch_taken(&list, "b2").who);
    assert_null(epoch_taken(&list, "a").who);
    arena_free(&arena);
}
