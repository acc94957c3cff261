// SPDX-License-Identifier: Apache-2.0
//
// The optimisation of pipeline_optimise.h as a question to Z3, independent of the closed form: the
// recurrences of pipeline.h are unrolled over stages with the depth as an unknown.
//
// Products of unknowns are kept linear: a tile side has few values, so x y is a choice over them,
//     x y = if x = x_1 then x_1 y else if x = x_2 then x_2 y ...
#include "model/pipeline_optimise.h"

#include <z3.h>

enum { STAGES_MAX = PIPELINE_TILE_MAX / PIPELINE_UNIT };

struct question {
    Z3_context z3;
    const struct pipeline_machine *machine;
    int64_t size[3]; // in units of 32
    Z3_ast tile[3];  // unknowns: tm, tn, tk, in units of 32
    Z3_ast depth;
    Z3_ast load_a, load_b, math, epilogue;
    Z3_ast start_math[STAGES_MAX];
};

static Z3_ast number(struct question *q, int64_t value)
{
    return Z3_mk_int64(q->z3, value, Z3_mk_int_sort(q->z3));
}

static Z3_ast unknown(struct question *q, const char *name)
{
    return Z3_mk_const(q->z3, Z3_mk_string_symbol(q->z3, name), Z3_mk_int_sort(q->z3));
}

static Z3_ast plus(struct question *q, Z3_ast a, Z3_ast b)
{
    Z3_ast both[] = {a, b};
    return Z3_mk_add(q->z3, 2, both);
}

static Z3_ast minus(struct question *q, Z3_ast a, Z3_ast b)
{
    Z3_ast both[] = {a, b};
    return Z3_mk_sub(q->z3, 2, both);
}

static Z3_ast times(struct question *q, int64_t factor, Z3_ast a)
{
    Z3_ast both[] = {number(q, factor), a};
    return Z3_mk_mul(q->z3, 2, both);
}

static Z3_ast most(struct question *q, Z3_ast a, Z3_ast b)
{
    return Z3_mk_ite(q->z3, Z3_mk_ge(q->z3, a, b), a, b);
}

static Z3_ast equals(struct question *q, Z3_ast a, int64_t value)
{
    return Z3_mk_eq(q->z3, a, number(q, value));
}

static bool divides(const struct question *q, int side, int64_t value)
{
    return value <= STAGES_MAX && q->size[side] % value == 0;
}

// tile[side] times y.
static Z3_ast side_times(struct question *q, int side, Z3_ast y)
{
    Z3_ast out = number(q, 0);
    for (int64_t v = 1; v <= STAGES_MAX && v <= q->size[side]; v++) {
        if (divides(q, side, v))
            out = Z3_mk_ite(q->z3, equals(q, q->tile[side], v), times(q, v, y), out);
    }
    return out;
}

static void state_unknowns(struct question *q, Z3_optimize solver)
{
    static const char *const names[] = {"tile_m", "tile_n", "tile_k"};
    for (int side = 0; side < 3; side++) {
        q->tile[side] = unknown(q, names[side]);
        Z3_ast any[STAGES_MAX];
        unsigned count = 0;
        for (int64_t v = 1; v <= STAGES_MAX && v <= q->size[side]; v++) {
            if (divides(q, side, v))
                any[count++] = equals(q, q->tile[side], v);
        }
        Z3_optimize_assert(q->z3, solver, Z3_mk_or(q->z3, count, any));
    }
    q->depth = unknown(q, "depth");
    Z3_optimize_assert(q->z3, solver, Z3_mk_ge(q->z3, q->depth, number(q, 1)));
    Z3_optimize_assert(q->z3, solver, Z3_mk_le(q->z3, q->depth, number(q, q->machine->depth_max)));
}

static void state_costs(struct question *q, Z3_optimize solver)
{
    const struct pipeline_machine *m = q->machine;
    Z3_ast blocks_a = side_times(q, 0, q->tile[2]), blocks_b = side_times(q, 1, q->tile[2]);
    Z3_ast blocks_c = side_times(q, 0, q->tile[1]), cubes = side_times(q, 2, blocks_c);
    q->load_a = plus(q, number(q, m->load_startup), times(q, m->load_block, blocks_a));
    q->load_b = plus(q, number(q, m->load_startup), times(q, m->load_block, blocks_b));
    q->math = plus(q, number(q, m->math_startup), times(q, m->math_block, cubes));
    q->epilogue = plus(q, number(q, m->epilogue_startup), times(q, m->epilogue_block, blocks_c));
    Z3_ast stage = plus(q, blocks_a, blocks_b), used = number(q, 0);
    for (int64_t depth = 1; depth <= m->depth_max; depth++)
        used = Z3_mk_ite(q->z3, equals(q, q->depth, depth), times(q, depth, stage), used);
    Z3_optimize_assert(q->z3, solver, Z3_mk_le(q->z3, used, number(q, m->smem_blocks)));
}

// When the buffer slot of this stage is free again: 0 while the buffer has not wrapped around.
static Z3_ast slot_free(struct question *q, int64_t stage)
{
    Z3_ast out = number(q, 0);
    for (int64_t depth = 1; depth <= q->machine->depth_max && depth <= stage; depth++)
        out = Z3_mk_ite(q->z3, equals(q, q->depth, depth),
                        plus(q, q->start_math[stage - depth], q->math), out);
    return out;
}

static void state_recurrences(struct question *q)
{
    int64_t stages = q->size[2] < STAGES_MAX ? q->size[2] : STAGES_MAX;
    Z3_ast a_done = number(q, 0), b_done = number(q, 0);
    for (int64_t i = 0; i < stages; i++) {
        Z3_ast freed = slot_free(q, i), a, b;
        if (q->machine->dma_warps == 1) {
            a = most(q, b_done, freed);
            b = most(q, plus(q, a, q->load_a), freed);
        } else {
            a = most(q, a_done, freed);
            b = most(q, b_done, freed);
        }
        a_done = plus(q, a, q->load_a);
        b_done = plus(q, b, q->load_b);
        q->start_math[i] = most(q, a_done, b_done);
        if (i)
            q->start_math[i] = most(q, q->start_math[i], plus(q, q->start_math[i - 1], q->math));
    }
}

// Waves (or tiles) times the value of one, chosen by the tiling in m and n.
static Z3_ast over_tiles(struct question *q, Z3_ast one, bool waves)
{
    Z3_ast out = number(q, 0);
    for (int64_t tm = 1; tm <= STAGES_MAX && tm <= q->size[0]; tm++) {
        for (int64_t tn = 1; tn <= STAGES_MAX && tn <= q->size[1]; tn++) {
            if (!divides(q, 0, tm) || !divides(q, 1, tn))
                continue;
            int64_t tiles = q->size[0] / tm * (q->size[1] / tn), sms = q->machine->sms;
            Z3_ast both[] = {equals(q, q->tile[0], tm), equals(q, q->tile[1], tn)};
            out = Z3_mk_ite(q->z3, Z3_mk_and(q->z3, 2, both),
                            times(q, waves ? (tiles + sms - 1) / sms : tiles, one), out);
        }
    }
    return out;
}

static Z3_ast objective(struct question *q, enum pipeline_goal goal)
{
    Z3_ast one = number(q, 0);
    for (int64_t tk = 1; tk <= STAGES_MAX && tk <= q->size[2]; tk++) {
        if (!divides(q, 2, tk))
            continue;
        int64_t stages = q->size[2] / tk;
        Z3_ast last = q->start_math[stages - 1], value;
        if (goal == PIPELINE_LEAST_TIME)
            value = plus(q, plus(q, last, q->math), q->epilogue);
        else // M_1 + sum of M_i - (M_{i-1} + T_M) telescopes
            value = minus(q, last, times(q, stages - 1, q->math));
        one = Z3_mk_ite(q->z3, equals(q, q->tile[2], tk), value, one);
    }
    Z3_ast all = over_tiles(q, one, goal == PIPELINE_LEAST_TIME);
    int64_t launch = goal == PIPELINE_LEAST_TIME ? q->machine->launch : 0;
    return plus(q, number(q, launch), all);
}

static int64_t value_of(struct question *q, Z3_model model, Z3_ast term)
{
    Z3_ast value = NULL;
    int64_t out = -1;
    if (Z3_model_eval(q->z3, model, term, true, &value))
        Z3_get_numeral_int64(q->z3, value, &out);
    return out;
}

static int solve(struct pipeline_choice *out, struct question *q, Z3_optimize solver,
                 enum pipeline_goal goal, const int64_t mnk[3], struct error *err)
{
    state_unknowns(q, solver);
    state_costs(q, solver);
    state_recurrences(q);
    Z3_ast total = objective(q, goal);
    Z3_optimize_minimize(q->z3, solver, total);
    Z3_lbool answer = Z3_optimize_check(q->z3, solver, 0, NULL);
    if (answer != Z3_L_TRUE)
        return error_set(err, answer == Z3_L_FALSE ? "Z3: no tile fits in shared memory"
                                                   : "Z3 gave up; allow it more time");
    Z3_model model = Z3_optimize_get_model(q->z3, solver);
    Z3_model_inc_ref(q->z3, model);
    struct pipeline_choice c = {
        .tile_m = (int32_t)value_of(q, model, q->tile[0]) * PIPELINE_UNIT,
        .tile_n = (int32_t)value_of(q, model, q->tile[1]) * PIPELINE_UNIT,
        .tile_k = (int32_t)value_of(q, model, q->tile[2]) * PIPELINE_UNIT,
        .depth = (int32_t)value_of(q, model, q->depth),
    };
    int64_t found = value_of(q, model, total);
    Z3_model_dec_ref(q->z3, model);
    if (c.tile_m <= 0 || c.tile_n <= 0 || c.tile_k <= 0 || c.depth <= 0)
        return error_set(err, "Z3's answer has no tile; its model is incomplete");
    pipeline_evaluate(&c, q->machine, mnk);
    int64_t *goal_value = goal == PIPELINE_LEAST_TIME ? &c.time : &c.wait;
    *goal_value = found; // Z3's own figure, so that a difference shows
    *out = c;
    return 0;
}

int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err)
{
    if (pipeline_machine_check(machine, mnk, err))
        return -1;
    if (mnk[2] > PIPELINE_TILE_MAX)
        return error_set(err, "K = %lld: the unrolled question goes to %d", (long long)mnk[2],
                         PIPELINE_TILE_MAX);
    Z3_config config = Z3_mk_config();
    struct question q = {.z3 = Z3_mk_context(config), .machine = machine};
    Z3_del_config(config);
    for (int side = 0; side < 3; side++)
        q.size[side] = mnk[side] / PIPELINE_UNIT;
    Z3_optimize solver = Z3_mk_optimize(q.z3);
    Z3_optimize_inc_ref(q.z3, solver);
    Z3_params params = Z3_mk_params(q.z3);
    Z3_params_inc_ref(q.z3, params);
    Z3_params_set_uint(q.z3, params, Z3_mk_string_symbol(q.z3, "timeout"), timeout_ms);
    Z3_optimize_set_params(q.z3, solver, params);
    int result = solve(out, &q, solver, goal, mnk, err);
    Z3_params_dec_ref(q.z3, params);
    Z3_optimize_dec_ref(q.z3, solver);
    Z3_del_context(q.z3);
    return result;
}
