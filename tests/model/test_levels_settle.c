// SPDX-License-Identifier: Apache-2.0
//
// Settled links: what stands in their place says of all later codes exactly what they said, and
// what is estimated from all links counts them as they were.
#include "model/history/levels.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

enum { CODES = 600, SETTLED = 450, REACH = 128 };

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

struct net {
    struct level_link *links;
    size_t count, settled; // of them: those between codes before SETTLED
};

// Links to those 1, 8 and 64 codes before. `apart`: the first 300 codes are linked with the others
// only behind the settled part. Each 100th code is linked with code `hub`, if that is one.
static struct net net_of(bool apart, size_t hub, double sd)
{
    static const size_t backs[] = {1, 8, 64};
    struct random random = {11};
    struct net net = {.links = arena_alloc(&arena, 4 * CODES * sizeof(*net.links))};
    for (size_t code = 1; code < CODES; code++) {
        for (size_t b = 0; b < 4; b++) {
            const bool far = b == 3 && code % 100 == 0 && hub < code;
            const size_t back = b < 3 ? backs[b] : far ? code - hub : code + 1;
            if (back > code || (apart && code >= 300 && code - back < 300 && code < SETTLED))
                continue;
            net.links[net.count++] = (struct level_link){
                code - back, code,
                0.01 * ((double)code - (double)(code - back)) + sd * random_normal(&random),
                0.0005};
        }
        if (apart && code == SETTLED)
            net.links[net.count++] = (struct level_link){SETTLED - 250, SETTLED, 2.5, 0.0004};
        net.settled = code < SETTLED ? net.count : net.settled;
    }
    return net;
}

static struct levels *with(const struct level_link *links, size_t count)
{
    struct levels *levels = levels_new();
    for (size_t i = 0; i < count; i++)
        levels_add(levels, &links[i]);
    return levels;
}

// Those that the later links name are kept. number: of each code in what goes on.
static struct levels *gone_on(struct levels_settled *settled, const struct levels *first,
                              const struct net *net, size_t *number)
{
    bool keep[CODES] = {false};
    struct levels *levels = levels_new();
    for (size_t i = net->settled; i < net->count; i++)
        keep[net->links[i].from] = keep[net->links[i].to] = true;
    assert_int_equal(levels_settle(settled, first, net->settled, keep, &arena), 0);
    size_t known = 0;
    for (size_t code = 0; code < CODES; code++)
        number[code] = code >= SETTLED || keep[code] ? known++ : SIZE_MAX;
    assert_int_equal(settled->codes, number[SETTLED]);
    assert_int_equal(settled->codes + settled->gone, SETTLED);
    levels_begin(levels, settled);
    for (size_t i = net->settled; i < net->count; i++) {
        struct level_link link = net->links[i];
        link.from = number[link.from];
        link.to = number[link.to];
        levels_add(levels, &link);
    }
    return levels;
}

static void check_same(const struct net *net)
{
    struct levels *whole = with(net->links, net->count), *first = with(net->links, net->settled);
    struct levels_settled settled;
    struct error err;
    size_t number[CODES], compared = 0;
    assert_int_equal(levels_solve(whole, &err), 0);
    assert_int_equal(levels_solve(first, &err), 0);
    struct levels *later = gone_on(&settled, first, net, number);
    assert_int_equal(levels_solve(later, &err), 0);
    assert_int_equal(later->loops, whole->loops);
    assert_int_equal(later->components, whole->components);
    double *errors = xcalloc(CODES, sizeof(*errors)), *all = xcalloc(CODES, sizeof(*all));
    levels_errors(errors, later);
    levels_errors(all, whole);
    for (size_t code = 0; code < CODES; code++) {
        const size_t n = number[code];
        if (n == SIZE_MAX)
            continue;
        compared++;
        assert_int_equal(later->mark[n], number[whole->mark[code]]);
        assert_true(fabs(later->level[n] - whole->level[code]) < 1e-9);
        assert_true(fabs(errors[n] - all[code]) < 1e-9);
    }
    assert_true(compared > CODES - SETTLED + 64 && compared < CODES - SETTLED + REACH);
    free(errors);
    free(all);
    levels_free(whole);
    levels_free(first);
    levels_free(later);
}

static void what_is_settled_says_of_later_codes_what_it_said(void **state)
{
    const struct net net = net_of(false, CODES, 0.001);
    check_same(&net);
}

static void a_code_that_is_always_linked_again_is_kept(void **state)
{
    const struct net net = net_of(false, 37, 0.001);
    check_same(&net);
}

static void components_that_are_joined_later_become_one(void **state)
{
    const struct net net = net_of(true, CODES, 0.001);
    check_same(&net);
}

// What was estimated of the settled links stands, so the rest is as if all were closed at once, to
// so many percent.
static void check_misclosure(const struct net *net, double percent)
{
    struct levels *whole = with(net->links, net->count), *first = with(net->links, net->settled);
    struct levels_settled settled;
    struct error err;
    size_t number[CODES];
    assert_int_equal(levels_close(whole, &levels_prior, &err), 0);
    assert_int_equal(levels_close(first, &levels_prior, &err), 0);
    struct levels *later = gone_on(&settled, first, net, number);
    assert_int_equal(levels_close(later, &levels_prior, &err), 0);
    assert_true(fabs(later->misclosure / whole->misclosure - 1) < percent / 100);
    assert_true(fabs(later->degrees / whole->degrees - 1) < 5 * percent / 100);
    for (size_t code = SETTLED; code < CODES; code++) {
        double size, error, all, all_error;
        levels_between(&size, &error, later, 0, number[code]);
        levels_between(&all, &all_error, whole, 0, code);
        assert_true(fabs(size - all) < 5 * percent / 100 * all_error);
        assert_true(fabs(error / all_error - 1) < percent / 100);
    }
    levels_free(whole);
    levels_free(first);
    levels_free(later);
}

static void the_misclosure_is_that_of_all_links(void **state)
{
    const struct net net = net_of(false, CODES, 0.002);
    check_misclosure(&net, 1);
}

// Every other link is of few pairs: what it told weighs little, when it is settled as before. They
// are kept by octaves, not one by one.
static void links_that_were_sure_count_more_than_those_that_were_not(void **state)
{
    struct random random = {31};
    const struct net net = net_of(false, CODES, 0.002);
    for (size_t i = 0; i < net.count; i += 2) {
        net.links[i].error = 0.008;
        net.links[i].log_ratio += 0.008 * random_normal(&random);
    }
    check_misclosure(&net, 10);
}

// The first half closes to 0.2 %, what comes later to nothing: its errors still know of that.
static void what_the_settled_loops_told_is_not_forgotten(void **state)
{
    struct net net = net_of(false, CODES, 0.002);
    struct levels *first = with(net.links, net.settled);
    struct levels_settled settled;
    struct error err;
    size_t number[CODES];
    for (size_t i = net.settled; i < net.count; i++)
        net.links[i].log_ratio = 0.01 * ((double)net.links[i].to - (double)net.links[i].from);
    assert_int_equal(levels_close(first, &levels_prior, &err), 0);
    struct levels *later = gone_on(&settled, first, &net, number);
    assert_int_equal(levels_close(later, &levels_prior, &err), 0);
    assert_true(later->misclosure > 0.0014 && later->misclosure < first->misclosure);
    assert_true(later->degrees > first->degrees);
    levels_free(first);
    levels_free(later);
}

// A link that is off by 3 % is held against all others, those that are settled among them.
static void a_later_link_that_does_not_fit_is_set_aside(void **state)
{
    const struct net net = net_of(false, CODES, 0.001);
    const size_t wrong = net.settled + (net.count - net.settled) / 2;
    net.links[wrong].log_ratio += 0.03;
    struct levels *first = with(net.links, net.settled);
    struct levels_settled settled;
    struct error err;
    size_t number[CODES];
    assert_int_equal(levels_close(first, &levels_prior, &err), 0);
    struct levels *later = gone_on(&settled, first, &net, number);
    assert_int_equal(levels_close(later, &levels_prior, &err), 0);
    for (size_t i = 0; i < later->links; i++)
        assert_int_equal(later->fit[i], i == wrong - net.settled ? LINK_ASIDE : LINK_FITS);
    levels_free(first);
    levels_free(later);
}

// The last code hangs on one link, which no loop holds against another.
static void a_link_in_no_loop_tells_nothing(void **state)
{
    enum { LAST = 100 };
    struct random random = {7};
    struct levels *levels = levels_new();
    for (size_t code = 1; code < LAST; code++) {
        for (size_t back = 1; back <= 2 && back <= code; back++)
            levels_add(levels, &(struct level_link){code - back, code,
                                                    0.001 * random_normal(&random), 0.0005});
    }
    levels_add(levels, &(struct level_link){LAST - 1, LAST, 0.02, 0.0005});
    struct levels_settled settled;
    struct error err;
    bool keep[LAST + 1] = {false};
    keep[LAST] = true;
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    assert_int_equal(levels_settle(&settled, levels, levels->links, keep, &arena), 0);
    assert_int_equal(settled.sums.count, levels->links - 1);
    assert_true(fabs(settled.sums.loops - (double)levels->loops) < 1e-6);
    levels_free(levels);
}

static void what_is_too_much_to_keep_is_not_settled(void **state)
{
    struct levels *levels = levels_new();
    struct levels_settled settled = {.codes = 17};
    struct error err;
    bool keep[CODES];
    for (size_t code = 1; code < CODES; code++) {
        levels_add(levels, &(struct level_link){code - 1, code, 0, 0.001});
        keep[code] = true;
    }
    keep[0] = true;
    assert_int_equal(levels_solve(levels, &err), 0);
    assert_int_equal(levels_settle(&settled, levels, levels->links, keep, &arena), -1);
    assert_int_equal(settled.codes, 17);
    levels_free(levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_settled_says_of_later_codes_what_it_said, forget),
        cmocka_unit_test_teardown(a_code_that_is_always_linked_again_is_kept, forget),
        cmocka_unit_test_teardown(components_that_are_joined_later_become_one, forget),
        cmocka_unit_test_teardown(the_misclosure_is_that_of_all_links, forget),
        cmocka_unit_test_teardown(links_that_were_sure_count_more_than_those_that_were_not, forget),
        cmocka_unit_test_teardown(what_the_settled_loops_told_is_not_forgotten, forget),
        cmocka_unit_test(a_later_link_that_does_not_fit_is_set_aside),
        cmocka_unit_test(a_link_in_no_loop_tells_nothing),
        cmocka_unit_test_teardown(what_is_too_much_to_keep_is_not_settled, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
