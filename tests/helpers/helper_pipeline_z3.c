// SPDX-License-Identifier: Apache-2.0
//
// The optimisation of helper_pipeline.h as a question to Z3, independent of the closed form: the
// recurrences of pipeline.h are unrolled over stages with the depth as an unknown.
//
// Numbers are bit vectors: once a tiling is chosen, every term is then fixed by propagation alone,
// where Z3's integer solver takes minutes over the nested maxima. A tile side has few values, so a
// product of unknowns is a choice, x y = if x = x_1 then x_1 y else if x = x_2 then x_2 y ..., and
// the optimum is reached by asking for something better until there is nothing.
#include "tests/helpers/helper_pipeline.h"

#include <z3.h>

enum { STAGES_MAX = PIPELINE_TILE_MAX / PIPELINE_UNIT };
enum { BITS = 56 }; // holds 32 stages of the dearest 32 x 32 x 32 tile, 1024 times

struct question {
    Z3_context z3;
    const struct pipeline_machine *machine;
    int64_t size[3]; // in units of 32
    Z3_ast tile[3];  // unknowns: tm, tn, tk, in units of 32
    Z3_ast depth;
    Z3_ast load_a, load_b, math, epilogue;
    Z3_ast start_math[STAGES_MAX];
    Z3_ast total[2]; // by goal
};

static Z3_ast number(struct question *q, int64_t value)
{
    return Z3_mk_int64(q->z3, value, Z3_mk_bv_sort(q->z3, BITS));
}

static Z3_ast unknown(struct question *q, const char *name)
{
    return Z3_mk_const(q->z3, Z3_mk_string_symbol(q->z3, name), Z3_mk_bv_sort(q->z3, BITS));
}

static Z3_ast plus(struct question *q, Z3_ast a, Z3_ast b)
{
    return Z3_mk_bvadd(q->z3, a, b);
}

static Z3_ast minus(struct question *q, Z3_ast a, Z3_ast b)
{
    return Z3_mk_bvsub(q->z3, a, b);
}

static Z3_ast times(struct question *q, int64_t factor, Z3_ast a)
{
    return Z3_mk_bvmul(q->z3, number(q, factor), a);
}

static Z3_ast most(struct question *q, Z3_ast a, Z3_ast b)
{
    return Z3_mk_ite(q->z3, Z3_mk_bvuge(q->z3, a, b), a, b);
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

static void state_unknowns(struct question *q, Z3_solver solver)
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
        Z3_solver_assert(q->z3, solver, Z3_mk_or(q->z3, count, any));
    }
    q->depth = unknown(q, "depth");
    Z3_solver_assert(q->z3, solver, Z3_mk_bvuge(q->z3, q->depth, number(q, 1)));
    Z3_solver_assert(q->z3, solver, Z3_mk_bvule(q->z3, q->depth, number(q, q->machine->depth_max)));
}

static void state_costs(struct question *q, Z3_solver solver)
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
    Z3_solver_assert(q->z3, solver, Z3_mk_bvule(q->z3, used, number(q, m->smem_blocks)));
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

static void read_model(struct pipeline_choice *out, struct question *q, Z3_solver solver)
{
    Z3_model model = Z3_solver_get_model(q->z3, solver);
    Z3_model_inc_ref(q->z3, model);
    *out = (struct pipeline_choice){
        .tile_m = (int32_t)value_of(q, model, q->tile[0]) * PIPELINE_UNIT,
        .tile_n = (int32_t)value_of(q, model, q->tile[1]) * PIPELINE_UNIT,
        .tile_k = (int32_t)value_of(q, model, q->tile[2]) * PIPELINE_UNIT,
        .depth = (int32_t)value_of(q, model, q->depth),
        .time = value_of(q, model, q->total[PIPELINE_LEAST_TIME]),
        .wait = value_of(q, model, q->total[PIPELINE_LEAST_WAIT]),
    };
    Z3_model_dec_ref(q->z3, model);
}

static int solve(struct pipeline_choice *out, struct question *q, Z3_solver solver,
                 enum pipeline_goal goal, struct error *err)
{
    state_unknowns(q, solver);
    state_costs(q, solver);
    state_recurrences(q);
    q->total[PIPELINE_LEAST_TIME] = objective(q, PIPELINE_LEAST_TIME);
    q->total[PIPELINE_LEAST_WAIT] = objective(q, PIPELINE_LEAST_WAIT);
    struct pipeline_choice best = {0};
    Z3_lbool answer;
    while ((answer = Z3_solver_check(q->z3, solver)) == Z3_L_TRUE) {
        read_model(&best, q, solver);
        int64_t value = goal == PIPELINE_LEAST_TIME ? best.time : best.wait;
        Z3_solver_assert(q->z3, solver, Z3_mk_bvult(q->z3, q->total[goal], number(q, value)));
    }
    if (answer == Z3_L_UNDEF)
        return error_set(err, "Z3 gave up; allow it more time");
    if (best.depth == 0)
        return error_set(err, "Z3: no tile fits in %lld blocks of shared memory",
                         (long long)q->machine->smem_blocks);
    *out = best;
    return 0;
}

// Bit-blasting and a SAT solver, as one tactic.
static Z3_solver new_solver(Z3_context z3, unsigned timeout_ms)
{
    Z3_tactic simplify = Z3_mk_tactic(z3, "simplify");
    Z3_tactic_inc_ref(z3, simplify);
    Z3_tactic blast = Z3_mk_tactic(z3, "bit-blast");
    Z3_tactic_inc_ref(z3, blast);
    Z3_tactic sat = Z3_mk_tactic(z3, "sat");
    Z3_tactic_inc_ref(z3, sat);
    Z3_tactic last = Z3_tactic_and_then(z3, blast, sat);
    Z3_tactic_inc_ref(z3, last);
    Z3_tactic all = Z3_tactic_and_then(z3, simplify, last);
    Z3_tactic_inc_ref(z3, all);
    Z3_solver solver = Z3_mk_solver_from_tactic(z3, all);
    Z3_solver_inc_ref(z3, solver);
    Z3_params params = Z3_mk_params(z3);
    Z3_params_inc_ref(z3, params);
    Z3_params_set_uint(z3, params, Z3_mk_string_symbol(z3, "timeout"), timeout_ms);
    Z3_solver_set_params(z3, solver, params);
    Z3_params_dec_ref(z3, params);
    const Z3_tactic tactics[] = {simplify, blast, sat, last, all};
    for (size_t i = 0; i < ARRAY_COUNT(tactics); i++)
        Z3_tactic_dec_ref(z3, tactics[i]);
    return solver;
}

int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err)
{
    if (pipeline_machine_check(machine, mnk, err))
        return -1;
    for (int side = 0; side < 3; side++) {
        if (mnk[side] > PIPELINE_TILE_MAX)
            return error_set(err, "size %lld: the unrolled question goes to %d",
                             (long long)mnk[side], PIPELINE_TILE_MAX);
    }
    Z3_config config = Z3_mk_config();
    struct question q = {.z3 = Z3_mk_context(config), .machine = machine};
    Z3_del_config(config);
    for (int side = 0; side < 3; side++)
        q.size[side] = mnk[side] / PIPELINE_UNIT;
    Z3_solver solver = new_solver(q.z3, timeout_ms);
    int result = solve(out, &q, solver, goal, err);
    Z3_solver_dec_ref(q.z3, solver);
    Z3_del_context(q.z3);
    return result;
}
