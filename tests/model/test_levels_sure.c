// SPDX-License-Identifier: Apache-2.0
//
// Which changes are sure in spite of what pairs cannot see: how much of a link's error is known,
// and that few codes which are equal are changed with 99.99 % where 1 in 200 looks so.
#include "model/history/levels.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { CODES = 60, TURNS = 300 };

static const double unseen = 0.001, own = 0.0005, margin = 0.003, chance = 0.0001;

TEST(a_link_is_as_sure_as_its_variance_is_known)
{
    static const double errors[] = {1e-6, 0.001, 0.1};
    struct levels *levels = levels_new();
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(errors); i++)
        levels_add(levels, &(struct level_link){i, i + 1, 0, errors[i]});
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    // Without a loop the prior's four degrees are known: of all, of half, and of none of it.
    assert_true(fabs(levels_link_chance(levels, 0, levels_reach(levels, 0.95)) - 0.05) < 1e-5);
    assert_true(fabs(levels_link_chance(levels, 1, 2.1199) - 0.05) < 1e-4); // 16 degrees
    assert_true(fabs(levels_link_chance(levels, 2, -1.96) - 0.05) < 1e-4);
    levels_free(levels);
}

// Chains of codes with links to those eight before; one link is 1 % off. Of good links as many miss
// the others as the chance says, and the wrong one does.
TEST(a_link_misses_the_others_as_often_as_chance_lets_it)
{
    struct random random = {73};
    double links = 0, seldom = 0, found = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct levels *levels = levels_new();
        struct error err;
        for (size_t i = 1; i < CODES; i++) {
            levels_add(levels,
                       &(struct level_link){i - 1, i, 0.0011 * random_normal(&random), own});
            const double off = i == CODES / 2 && turn % 2 ? 0.01 : 0;
            if (i >= 8)
                levels_add(levels, &(struct level_link){
                                       i - 8, i, off + 0.0011 * random_normal(&random), own});
        }
        assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
        const size_t wrong = 2 * (CODES / 2) - 8;
        for (size_t i = 0; i < levels->links && turn % 2 == 0; i++) {
            links++;
            seldom += levels_fit_chance(levels, i) < 0.01;
        }
        found += turn % 2 && levels_fit_chance(levels, wrong) < 0.01;
        levels_free(levels);
    }
    print_message("%.4f of good links, %.0f of %d wrong ones\n", seldom / links, found, TURNS / 2);
    assert_true(seldom / links > 0.003 && seldom / links < 0.02);
    assert_true(found > 0.97 * TURNS / 2);
    struct levels *alone = levels_new();
    struct error err;
    levels_add(alone, &(struct level_link){0, 1, 0.5, own});
    assert_int_equal(levels_close(alone, &levels_prior, &err), 0);
    assert_true(levels_fit_chance(alone, 0) == 1); // nobody contradicts it
    levels_free(alone);
}

// The newest code has two links, in one loop and no other: which of them is wrong cannot be told.
TEST(a_doubt_does_not_hide_a_link_that_is_wrong_alone)
{
    struct random random = {91};
    struct levels *levels = levels_new();
    struct error err;
    size_t wrong = 0, newest = 0;
    for (size_t i = 1; i < CODES; i++) {
        const double off = i == CODES / 2 ? 0.007 : i + 1 == CODES ? 0.009 : 0;
        wrong = i == CODES / 2 ? levels->links : wrong;
        newest = levels->links;
        levels_add(levels,
                   &(struct level_link){i - 1, i, off + 0.0005 * random_normal(&random), own});
        if (i >= 8)
            levels_add(levels,
                       &(struct level_link){i - 8, i, 0.0005 * random_normal(&random), own});
    }
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    assert_int_equal(levels->fit[newest], LINK_DOUBTED);
    assert_int_equal(levels->fit[newest + 1], LINK_DOUBTED);
    assert_int_equal(levels->fit[wrong], LINK_ASIDE);
    levels_free(levels);
}

struct counts {
    double equal, equal_look, equal_sure, changed, changed_sure;
};

// One code in 20 is 0.6 to 3 % slower than the one before.
static struct levels *history(bool *changed, double *neighbour, struct random *random)
{
    static const size_t backs[] = {1, 8};
    struct levels *levels = levels_new();
    double truth[CODES] = {0};
    struct error err;
    for (size_t i = 1; i < CODES; i++) {
        changed[i] = random_uniform(random) < 0.05;
        truth[i] = truth[i - 1] + (changed[i] ? 0.006 + 0.024 * random_uniform(random) : 0);
        for (size_t k = 0; k < ARRAY_COUNT(backs) && backs[k] <= i; k++) {
            struct level_link link = {i - backs[k], i, truth[i] - truth[i - backs[k]], own};
            link.log_ratio += hypot(own, unseen) * random_normal(random);
            levels_add(levels, &link);
            neighbour[i] = k == 0 ? link.log_ratio : neighbour[i];
        }
    }
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    return levels;
}

static void count(struct counts *c, struct random *random)
{
    bool changed[CODES] = {false};
    double neighbour[CODES] = {0};
    struct levels *levels = history(changed, neighbour, random);
    for (size_t i = 1, link = 0; i < CODES; i++) {
        double size, error;
        levels_between(&size, &error, levels, i - 1, i);
        const bool looks = fabs(neighbour[i]) > margin;
        const bool is_sure = looks && levels_link_chance(levels, link, size / error) < chance;
        *(changed[i] ? &c->changed : &c->equal) += 1;
        *(changed[i] ? &c->changed_sure : &c->equal_sure) += is_sure;
        c->equal_look += !changed[i] && looks;
        link += i >= 8 ? 2 : 1;
    }
    levels_free(levels);
}

TEST(few_equal_codes_are_surely_changed)
{
    struct random random = {51};
    struct counts c = {0};
    for (int turn = 0; turn < TURNS; turn++)
        count(&c, &random);
    print_message("of %.0f equal %.0f look changed, %.0f surely; of %.0f changed %.0f surely\n",
                  c.equal, c.equal_look, c.equal_sure, c.changed, c.changed_sure);
    assert_true(c.equal_look > 0.004 * c.equal);
    assert_true(c.equal_sure < 0.0006 * c.equal);
    assert_true(c.changed_sure > 0.95 * c.changed);
}
