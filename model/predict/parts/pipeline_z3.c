// SPDX-License-Identifier: Apache-2.0
//
// Asks Z3 the question of pipeline.h, independently of the closed form. The recurrences of
// pipeline.h over the stages become conditions, with tiling and depth as unknowns. This is the only
// file that needs Z3.
//
// The conditions need no maximum. A start that is at least each term of its recurrence is at least
// their maximum, and the least solution reaches it. So each recurrence is a few differences of
// integers. One truth value per tiling fixes the costs and bounds the total, so everything is
// linear. A deeper buffer drops conditions and adds none, so each tiling takes the deepest that
// fits. The optimum is approached from above: the time of a found tiling is simulated, and Z3 is
// asked for a smaller one until it proves that there is none.
#include "model/predict/parts/pipeline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <z3.h>

enum { STAGES_MAX = PIPELINE_Z3_K_MAX / PIPELINE_UNIT, DEPTHS = 8 };

struct question {
    Z3_context z3;
    Z3_solver solver;
    const struct pipeline_machine *machine;
    const int64_t *mnk;
    int64_t stages; // number of stages with the smallest tile_k
    Z3_ast load_a, load_b, math, total;
    Z3_ast start_a[STAGES_MAX], start_b[STAGES_MAX], start_math[STAGES_MAX];
    Z3_ast depth_is[DEPTHS + 1]; // indexed from 1
    const struct pipeline_tilings *tilings;
    Z3_ast *is_tiling;
};

static Z3_ast number(struct question *q, int64_t value)
{
    return Z3_mk_int64(q->z3, value, Z3_mk_int_sort(q->z3));
}

static Z3_ast unknown(struct question *q, const char *name, int64_t index, Z3_sort sort)
{
    char text[32];
    snprintf(text, sizeof(text), "%s_%lld", name, (long long)index);
    return Z3_mk_const(q->z3, Z3_mk_string_symbol(q->z3, text), sort);
}

static Z3_ast ticks(struct question *q, const char *name, int64_t index)
{
    return unknown(q, name, index, Z3_mk_int_sort(q->z3));
}

static Z3_ast plus(struct question *q, Z3_ast a, Z3_ast b)
{
    return Z3_mk_add(q->z3, 2, (const Z3_ast[]){a, b});
}

static Z3_ast times(struct question *q, int64_t factor, Z3_ast a)
{
    return Z3_mk_mul(q->z3, 2, (const Z3_ast[]){number(q, factor), a});
}

// Adds the condition a >= b + c.
static void at_least_sum(struct question *q, Z3_ast a, Z3_ast b, Z3_ast c)
{
    Z3_solver_assert(q->z3, q->solver, Z3_mk_ge(q->z3, a, plus(q, b, c)));
}

static void when_slot_is_free(struct question *q, int64_t i, Z3_ast start)
{
    for (int64_t depth = 1; depth <= q->machine->depth_max && depth <= i; depth++) {
        Z3_ast freed = plus(q, q->start_math[i - depth], q->math);
        Z3_solver_assert(q->z3, q->solver,
                         Z3_mk_implies(q->z3, q->depth_is[depth], Z3_mk_ge(q->z3, start, freed)));
    }
}

static void state_stage(struct question *q, int64_t i)
{
    Z3_ast a = q->start_a[i] = ticks(q, "a", i), b = q->start_b[i] = ticks(q, "b", i);
    Z3_ast m = q->start_math[i] = ticks(q, "m", i);
    Z3_solver_assert(q->z3, q->solver, Z3_mk_ge(q->z3, a, number(q, 0)));
    Z3_solver_assert(q->z3, q->solver, Z3_mk_ge(q->z3, b, number(q, 0)));
    if (q->machine->dma_warps == 1) {
        at_least_sum(q, b, a, q->load_a);
        if (i)
            at_least_sum(q, a, q->start_b[i - 1], q->load_b);
    } else {
        when_slot_is_free(q, i, b);
        if (i) {
            at_least_sum(q, a, q->start_a[i - 1], q->load_a);
            at_least_sum(q, b, q->start_b[i - 1], q->load_b);
        }
        at_least_sum(q, m, a, q->load_a);
    }
    when_slot_is_free(q, i, a);
    at_least_sum(q, m, b, q->load_b);
    if (i)
        at_least_sum(q, m, q->start_math[i - 1], q->math);
}

// States the conditions under which this tiling is the chosen one: its costs, its depth, and
// the least total.
static void state_tiling(struct question *q, size_t index, enum pipeline_goal goal)
{
    const struct pipeline_choice *c = &q->tilings->items[index];
    struct pipeline p;
    pipeline_of_choice(&p, q->machine, c, q->mnk);
    int64_t sms = q->machine->sms, math = (int64_t)p.math;
    int64_t tiles = (q->mnk[0] / c->tile_m) * (q->mnk[1] / c->tile_n), fixed, factor;
    if (goal == PIPELINE_LEAST_TIME) {
        factor = (tiles + sms - 1) / sms;
        fixed = q->machine->launch + factor * (math + (int64_t)p.epilogue);
    } else { // M_1 + sum of M_i - (M_{i-1} + T_M) telescopes
        factor = tiles;
        fixed = -tiles * (p.stages - 1) * math;
    }
    Z3_ast least = plus(q, number(q, fixed), times(q, factor, q->start_math[p.stages - 1]));
    const Z3_ast holds[] = {Z3_mk_eq(q->z3, q->load_a, number(q, (int64_t)p.load_a)),
                            Z3_mk_eq(q->z3, q->load_b, number(q, (int64_t)p.load_b)),
                            Z3_mk_eq(q->z3, q->math, number(q, math)), q->depth_is[c->depth],
                            Z3_mk_ge(q->z3, q->total, least)};
    q->is_tiling[index] = unknown(q, "tiling", (int64_t)index, Z3_mk_bool_sort(q->z3));
    Z3_solver_assert(
        q->z3, q->solver,
        Z3_mk_implies(q->z3, q->is_tiling[index], Z3_mk_and(q->z3, ARRAY_COUNT(holds), holds)));
}

static void state(struct question *q, enum pipeline_goal goal)
{
    q->load_a = ticks(q, "load_a", 0);
    q->load_b = ticks(q, "load_b", 0);
    q->math = ticks(q, "math", 0);
    q->total = ticks(q, "total", 0);
    for (int64_t depth = 1; depth <= q->machine->depth_max; depth++)
        q->depth_is[depth] = unknown(q, "depth", depth, Z3_mk_bool_sort(q->z3));
    for (int64_t i = 0; i < q->stages; i++)
        state_stage(q, i);
    for (size_t i = 0; i < q->tilings->count; i++)
        state_tiling(q, i, goal);
    Z3_solver_assert(q->z3, q->solver, Z3_mk_or(q->z3, (unsigned)q->tilings->count, q->is_tiling));
}

// Reads the tiling that Z3 chose, and simulates it for its values.
static int read_choice(struct pipeline_choice *out, struct question *q, struct error *err)
{
    Z3_model model = Z3_solver_get_model(q->z3, q->solver);
    Z3_model_inc_ref(q->z3, model);
    size_t index = 0;
    for (Z3_ast value = NULL; index < q->tilings->count; index++) {
        if (Z3_model_eval(q->z3, model, q->is_tiling[index], true, &value) &&
            Z3_get_bool_value(q->z3, value) == Z3_L_TRUE)
            break;
    }
    Z3_model_dec_ref(q->z3, model);
    assert(index < q->tilings->count);
    struct pipeline p;
    struct pipeline_events events;
    *out = q->tilings->items[index];
    pipeline_of_choice(&p, q->machine, out, q->mnk);
    if (pipeline_simulate(&events, &p, err))
        return -1;
    int64_t tiles = (q->mnk[0] / out->tile_m) * (q->mnk[1] / out->tile_n);
    int64_t waves = (tiles + q->machine->sms - 1) / q->machine->sms;
    out->time = q->machine->launch + waves * (int64_t)events.time.wave;
    out->wait = tiles * (int64_t)events.time.wait;
    pipeline_events_free(&events);
    return 0;
}

static int descend(struct pipeline_choice *out, struct question *q, enum pipeline_goal goal,
                   struct error *err)
{
    struct pipeline_choice best = {0};
    int64_t least = INT64_MAX;
    Z3_lbool answer;
    while ((answer = Z3_solver_check(q->z3, q->solver)) == Z3_L_TRUE) {
        if (read_choice(&best, q, err))
            return -1;
        int64_t value = goal == PIPELINE_LEAST_TIME ? best.time : best.wait;
        if (value >= least)
            return error_set(err, "Z3 found less than %lld where the simulation finds %lld ticks",
                             (long long)least, (long long)value);
        least = value;
        Z3_solver_assert(q->z3, q->solver, Z3_mk_lt(q->z3, q->total, number(q, least)));
    }
    if (answer == Z3_L_UNDEF)
        return error_set(err, "Z3 gave up within its time");
    if (best.depth == 0)
        return error_set(err, "Z3: no tile fits in %lld blocks of shared memory",
                         (long long)q->machine->smem_blocks);
    *out = best;
    return 0;
}

static void open_question(struct question *q, unsigned timeout_ms)
{
    Z3_config config = Z3_mk_config();
    q->z3 = Z3_mk_context(config);
    Z3_del_config(config);
    q->solver = Z3_mk_solver_for_logic(q->z3, Z3_mk_string_symbol(q->z3, "QF_LIA"));
    Z3_solver_inc_ref(q->z3, q->solver);
    Z3_params params = Z3_mk_params(q->z3);
    Z3_params_inc_ref(q->z3, params);
    Z3_params_set_uint(q->z3, params, Z3_mk_string_symbol(q->z3, "timeout"), timeout_ms);
    Z3_solver_set_params(q->z3, q->solver, params);
    Z3_params_dec_ref(q->z3, params);
}

int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err)
{
    struct pipeline_tilings tilings = {0};
    if (pipeline_machine_check(machine, mnk, err))
        return -1;
    if (mnk[2] > PIPELINE_Z3_K_MAX)
        return error_set(err, "K = %lld: Z3 is asked about its stages up to %d", (long long)mnk[2],
                         PIPELINE_Z3_K_MAX);
    pipeline_tilings(&tilings, machine, mnk);
    struct question q = {.machine = machine,
                         .mnk = mnk,
                         .stages = mnk[2] / PIPELINE_UNIT,
                         .tilings = &tilings,
                         .is_tiling = xcalloc(tilings.count + 1, sizeof(Z3_ast))};
    open_question(&q, timeout_ms);
    state(&q, goal);
    int result = descend(out, &q, goal, err);
    Z3_solver_dec_ref(q.z3, q.solver);
    Z3_del_context(q.z3);
    free(q.is_tiling);
    pipeline_tilings_free(&tilings);
    return result;
}
