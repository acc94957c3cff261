// SPDX-License-Identifier: Apache-2.0
//
// How long predictions, selections and the pipeline's optimum take, on one core.
// Targets: 1 us per closed-form prediction, 100 us per selection among 150 configurations, and Z3
// below a second of CPU time on seed 1's table. `bench_models all` asks it more.
#include "model/predict/parts/pipeline.h"
#include "model/predict/parts/select.h"
#include "tests/helpers/helper_deepseek.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct problem deepseek(size_t index)
{
    const struct shape *s = &deepseek_v3_shapes[index % deepseek_v3_shape_count];
    return (struct problem){
        .m = s->m, .n = s->n, .k = s->k, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
}

static void bench_model(const struct model *model, const char *what, enum dtype in,
                        const struct traits *traits)
{
    const size_t count = 40 * 2000;
    double sum = 0, least = 1e300;
    for (int repeat = 0; repeat < 5; repeat++) {
        double begin = now_ns();
        for (size_t i = 0; i < count; i++) {
            struct problem p = deepseek(i);
            p.in = in;
            const struct predict_input input = {
                .gpu = gpu_find("h200-sxm"), .traits = traits, .problem = &p};
            sum += model->predict(&input).time_ns;
        }
        double each = (now_ns() - begin) / (double)count;
        least = each < least ? each : least;
    }
    printf("predict %-9s %-14s %8.0f ns %s\n", what, model->name, least,
           sum > 0 && least <= 1000 ? "ok" : "TOO SLOW");
}

static void bench_predictions(void)
{
    const struct traits traits = {.tile_m = 128,
                                  .tile_n = 256,
                                  .tile_k = 64,
                                  .stages = 3,
                                  .cluster_m = 2,
                                  .cluster_n = 1,
                                  .threads = 384,
                                  .persistent = 1};
    const struct traits simt = {.tile_m = 128,
                                .tile_n = 128,
                                .tile_k = 8,
                                .stages = 2,
                                .threads = 256,
                                .smem_bytes = 8448,
                                .multiply = MULTIPLY_FMA};
    for (size_t m = 0; m < model_count; m++)
        bench_model(models[m], "BF16", DTYPE_BF16, &traits);
    bench_model(model_find("hopper"), "FP32 SIMT", DTYPE_FP32, &simt);
}

static void bench_selection(void)
{
    const struct origami_search searches[] = {{0}, {.registers = true}, {true, true, true}};
    static const char *const names[] = {"150 configurations", "with the register filter",
                                        "with stages, warps and split-K"};
    for (size_t s = 0; s < ARRAY_COUNT(searches); s++) {
        double least = 1e300;
        int32_t tried = 0;
        for (size_t i = 0; i < 400; i++) {
            struct problem p = deepseek(i);
            struct origami_selection out;
            size_t kept;
            double begin = now_ns();
            if (origami_rank(&out, &kept, 1, gpu_find("h200-sxm"), &p, &searches[s]))
                return;
            double took = now_ns() - begin;
            least = took < least ? took : least;
            tried = out.tried;
        }
        printf("select origami %-31s %8.1f us (%d tried)%s\n", names[s], least / 1e3, tried,
               s                ? ""
               : least <= 100e3 ? " ok"
                                : " TOO SLOW");
    }
}

// Loads faster than maths, slower, on a par.
static const struct pipeline_machine machines[] = {
    {1680, 100, 5, 50, 400, 900, 20, 96, 84, 4, 1, 1},
    {1680, 300, 500, 10, 3, 900, 20, 96, 84, 4, 1, 1},
    {1680, 100, 40, 20, 40, 900, 20, 96, 84, 4, 2, 1},
};

static double bench_ours(const struct pipeline_machine *m, const int64_t mnk[3],
                         enum pipeline_goal goal, struct pipeline_choice *out)
{
    struct error err;
    const int repeats = 200;
    double begin = now_ns();
    for (int i = 0; i < repeats; i++) {
        if (pipeline_optimise(out, m, mnk, goal, &err))
            printf("%s\n", err.text);
    }
    return (now_ns() - begin) / repeats;
}

#ifdef PLUMB_HAVE_Z3
static void bench_z3(bool all)
{
    // Seed 1's table 1, and beyond it the two sizes of its grid with the most divisors.
    static const int64_t sizes[][3] = {{512, 512, 512},   {1024, 512, 512},   {1024, 1024, 512},
                                       {1024, 512, 1024}, {1024, 1024, 1024}, {960, 960, 960}};
    static const double document_s[] = {0.210, 0.324, 0.315, 0.556, 0.374, 0};
    for (size_t i = 0; i < ARRAY_COUNT(sizes) * (all ? 6 : 1); i++) {
        const int64_t *mnk = sizes[all ? i / 6 : i];
        const struct pipeline_machine *m = &machines[all ? i / 2 % 3 : i % 3];
        enum pipeline_goal goal = all ? (enum pipeline_goal)(i % 2) : PIPELINE_LEAST_TIME;
        struct pipeline_choice ours = {0}, z3 = {0};
        struct error err;
        double ours_ns = bench_ours(m, mnk, goal, &ours);
        clock_t begin = clock();
        if (pipeline_optimise_z3(&z3, m, mnk, goal, 300000, &err)) {
            printf("z3: %s\n", err.text);
            continue;
        }
        double z3_ns = (double)(clock() - begin) / CLOCKS_PER_SEC * 1e9;
        bool equal = goal == PIPELINE_LEAST_TIME ? ours.time == z3.time : ours.wait == z3.wait;
        printf("optimise %4lldx%4lldx%4lld least %s: ours %.1f us, Z3 %.2f s, %.0f times; "
               "document %.3f s; optimum %s\n",
               (long long)mnk[0], (long long)mnk[1], (long long)mnk[2],
               goal == PIPELINE_LEAST_TIME ? "time" : "wait", ours_ns / 1e3, z3_ns / 1e9,
               z3_ns / ours_ns, document_s[all ? i / 6 : i], equal ? "equal" : "DIFFERS");
    }
}
#endif

int main(int argc, char **argv)
{
    bench_predictions();
    bench_selection();
#ifdef PLUMB_HAVE_Z3
    bench_z3(argc > 1 && strcmp(argv[1], "all") == 0);
#else
    (void)argc;
    (void)argv;
    struct pipeline_choice c;
    const int64_t mnk[3] = {1024, 1024, 1024};
    printf("optimise 1024^3: ours %.1f us; built without Z3\n",
           bench_ours(&machines[0], mnk, PIPELINE_LEAST_TIME, &c) / 1e3);
#endif
    return 0;
}
