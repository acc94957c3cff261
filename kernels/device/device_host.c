// SPDX-License-Identifier: Apache-2.0
//
// The host device: the CPU of this machine.
//
// Cold means: the private caches hold none of the kernel's data (twice the L2 is read before each
// sample). The shared last-level cache is left alone: it can be hundreds of megabytes, of which a
// virtual machine owns an unknown share, and reading it twice would cost more than the measurement.
// A kernel of one thread runs pinned to one processor; others run where the scheduler puts them.
#include "kernels/device/host.h"

#include "kernels/device/check.h"
#include "kernels/device/form.h"
#include "kernels/device/inputs.h"
#include "kernels/device/noise.h"
#include "model/base.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// ==== the reference ====
//
// The host's references of plain problems and of forms: products in float64.
//
// With up to EXACT_WORK multiply-adds every element is computed. With more, only some rows are
// (evenly distributed, always with the first and the last), and all rows are checked by a random
// projection, as R. Freivalds proposed (Information Processing Letters 9, 1979): with a random
// vector x, C x = A (B x) takes O(mn + mk + nk), and an error e in one element changes its row's
// sum by e x_j. The rounding errors of a row add up like sqrt(n) times one error, so a row is wrong
// beyond 8 sqrt(n) tolerances.

enum { ROWS_LEAST = 16, PROJECTION = 3, HOST_LANES = 8 };

static const double EXACT_WORK = 1.1e9;

struct reference {
    struct problem problem;
    double *exact;     // [rows][n], for the rows in row_at[]
    int64_t *row_at;   // batch * m + i
    int64_t rows;      // number of rows computed exactly; batch * m if all are
    double *projected; // [batch * m]: A (B x); NULL when all rows are exact
    double *x;         // [n]
};

// Row `l` of an operand as numbers, scaled: out[i] = matrix[first + i * step].
static void fetch(double *out, const void *matrix, enum dtype type, int64_t first, int64_t step,
                  int64_t count)
{
    const double scale = inputs_is_fp8((int)type) ? (double)(1.0f / INPUTS_FP8_SCALE) : 1.0;
    for (int64_t i = 0; i < count; i++)
        out[i] = inputs_load((int)type, matrix, (uint64_t)(first + i * step)) * scale;
}

// Reads eight columns of B, as k by HOST_LANES.
static void fetch_lanes(double *out, const struct problem *p, const void *b, int64_t first,
                        int64_t col)
{
    const struct check_strides s = check_strides(p);
    const double scale = inputs_is_fp8((int)p->in) ? (double)(1.0f / INPUTS_FP8_SCALE) : 1.0;
    for (int64_t lane = 0; lane < HOST_LANES; lane++) {
        for (int64_t l = 0; l < p->k; l++) {
            int64_t at = first + l * s.b_row + (col + lane) * s.b_col;
            out[l * HOST_LANES + lane] =
                col + lane < p->n ? inputs_load((int)p->in, b, (uint64_t)at) * scale : 0;
        }
    }
}

// The multiplication that both kinds of reference use: out[i] = the sum over l < k of a[l] *
// lanes[l * HOST_LANES + i].
static void host_dots(double out[HOST_LANES], const double *a, const double *lanes, int64_t k)
{
    double sum[HOST_LANES] = {0};
    for (int64_t l = 0; l < k; l++) {
        for (int lane = 0; lane < HOST_LANES; lane++)
            sum[lane] += a[l] * lanes[l * HOST_LANES + lane];
    }
    for (int lane = 0; lane < HOST_LANES; lane++)
        out[lane] = sum[lane];
}

// Computes columns col .. col + HOST_LANES of the exact rows of one batch entry. rows:
// [count][k] of A.
static void exact_columns(struct reference *r, const void *b, const double *rows, double *lanes,
                          int64_t batch, int64_t first_row, int64_t count, int64_t col)
{
    const struct problem *p = &r->problem;
    const bool dual = p->epilogue == EPILOGUE_DUAL_SILU;
    const int64_t weights = p->n * p->k, first = (dual ? 2 : 1) * batch * weights;
    double gate[HOST_LANES], up[HOST_LANES];
    fetch_lanes(lanes, p, b, first, col);
    if (dual)
        fetch_lanes(lanes + p->k * HOST_LANES, p, b, first + weights, col);
    for (int64_t i = 0; i < count; i++) {
        double *out = r->exact + (first_row + i) * p->n;
        host_dots(gate, rows + i * p->k, lanes, p->k);
        if (dual)
            host_dots(up, rows + i * p->k, lanes + p->k * HOST_LANES, p->k);
        for (int64_t lane = 0; lane < HOST_LANES && col + lane < p->n; lane++)
            out[col + lane] = dual ? gate[lane] / (1 + exp(-gate[lane])) * up[lane] : gate[lane];
    }
}

static void compute_exact(struct reference *r, const struct plumb_args *args)
{
    const struct problem *p = &r->problem;
    const struct check_strides s = check_strides(p);
    const int64_t per_batch = r->rows / p->batch;
    double *rows = xcalloc((size_t)(per_batch * p->k), sizeof(*rows));
    double *lanes = xcalloc((size_t)(2 * HOST_LANES * p->k), sizeof(*lanes));
    for (int64_t batch = 0; batch < p->batch; batch++) {
        for (int64_t i = 0; i < per_batch; i++) {
            int64_t row = r->row_at[batch * per_batch + i] - batch * p->m;
            fetch(rows + i * p->k, args->a, p->in, batch * p->m * p->k + row * s.a_row, s.a_col,
                  p->k);
        }
        for (int64_t col = 0; col < p->n; col += HOST_LANES)
            exact_columns(r, args->b, rows, lanes, batch, batch * per_batch, per_batch, col);
    }
    free(rows);
    free(lanes);
}

// Computes y = B x for one batch entry, then A y for all its rows.
static void project(struct reference *r, const struct plumb_args *args, int64_t batch, double *y,
                    double *row)
{
    const struct problem *p = &r->problem;
    const struct check_strides s = check_strides(p);
    for (int64_t l = 0; l < p->k; l++)
        y[l] = 0;
    for (int64_t j = 0; j < p->n; j++) {
        fetch(row, args->b, p->in, batch * p->n * p->k + j * s.b_col, s.b_row, p->k);
        for (int64_t l = 0; l < p->k; l++)
            y[l] += row[l] * r->x[j];
    }
    for (int64_t i = 0; i < p->m; i++) {
        double sum = 0;
        fetch(row, args->a, p->in, batch * p->m * p->k + i * s.a_row, s.a_col, p->k);
        for (int64_t l = 0; l < p->k; l++)
            sum += row[l] * y[l];
        r->projected[batch * p->m + i] = sum;
    }
}

static void compute_projection(struct reference *r, const struct plumb_args *args, uint64_t seed)
{
    const struct problem *p = &r->problem;
    r->projected = xcalloc((size_t)(p->batch * p->m), sizeof(*r->projected));
    r->x = xcalloc((size_t)p->n, sizeof(*r->x));
    for (int64_t j = 0; j < p->n; j++)
        r->x[j] = (double)inputs_normal(seed, PROJECTION, (uint64_t)j);
    double *y = xcalloc((size_t)p->k, sizeof(*y)), *row = xcalloc((size_t)p->k, sizeof(*row));
    for (int64_t batch = 0; batch < p->batch; batch++)
        project(r, args, batch, y, row);
    free(y);
    free(row);
}

static int host_reference(struct reference **out, struct device_base *device,
                          const struct problem *problem, const struct plumb_args *args,
                          const uint64_t *seed, struct error *err)
{
    (void)device;
    (void)err;
    struct reference *r = xcalloc(1, sizeof(*r));
    const int64_t m = problem->m, batches = problem->batch;
    const bool dual = problem->epilogue == EPILOGUE_DUAL_SILU;
    double row_work = (double)problem->n * (double)problem->k;
    int64_t per_batch = m;
    // there is no projection for silu
    if (row_work * (double)m * (double)batches > EXACT_WORK && !dual)
        per_batch =
            (int64_t)fmin((double)m, fmax(ROWS_LEAST, EXACT_WORK / row_work / (double)batches));
    r->problem = *problem;
    r->rows = per_batch * batches;
    r->row_at = xcalloc((size_t)r->rows, sizeof(*r->row_at));
    r->exact = xcalloc((size_t)(r->rows * problem->n), sizeof(*r->exact));
    for (int64_t i = 0; i < r->rows; i++) {
        int64_t at = i % per_batch;
        r->row_at[i] = i / per_batch * m + (per_batch > 1 ? at * (m - 1) / (per_batch - 1) : 0);
    }
    compute_exact(r, args);
    if (per_batch < m)
        compute_projection(r, args, seed ? *seed : 0);
    *out = r;
    return 0;
}

// An output, and the signs that its inputs have now.
struct signed_output {
    const void *c;
    const struct inputs_signs *signs;
};

// The element as it was without the signs.
static double element(const struct reference *r, const struct signed_output *out, int64_t row,
                      int64_t col)
{
    const struct problem *p = &r->problem;
    return inputs_load((int)p->out, out->c, (uint64_t)(row * p->n + col)) *
           inputs_sign(out->signs, (uint64_t)row, (uint64_t)col);
}

static void compare_projection(struct comparison *out, const struct reference *r,
                               const struct signed_output *output, double tolerance)
{
    const struct problem *p = &r->problem;
    // The error is in units of one element's error, so that one tolerance serves both checks.
    const double scale = check_scale(p) * 8 * sqrt((double)p->n);
    for (int64_t row = 0; row < p->batch * p->m; row++) {
        double sum = 0;
        for (int64_t j = 0; j < p->n; j++)
            sum += element(r, output, row, j) * r->x[j];
        check_value(out, sum, r->projected[row], scale, tolerance, row, -1);
    }
}

static int host_compare(struct comparison *out, struct device_base *device,
                        const struct reference *r, const void *c, const struct inputs_signs *signs,
                        double tolerance, struct error *err)
{
    (void)device;
    (void)err;
    const struct problem *p = &r->problem;
    const struct signed_output output = {c, signs};
    struct comparison found = {0};
    const double scale = check_scale(p);
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t j = 0; j < p->n; j++)
            check_value(&found, element(r, &output, r->row_at[i], j), r->exact[i * p->n + j], scale,
                        tolerance, r->row_at[i], j);
    }
    if (r->projected)
        compare_projection(&found, r, &output, tolerance);
    *out = found;
    return 0;
}

static void host_reference_free(struct device_base *device, struct reference *r)
{
    (void)device;
    free(r->exact);
    free(r->row_at);
    free(r->projected);
    free(r->x);
    free(r);
}

// ---- forms: float64 products of elements that are read one by one (form.h) ----

// With up to FORM_WORK multiply-adds all rows are computed. With more, only some rows are, evenly
// distributed over those of all groups, always with the first and the last.
static const double FORM_WORK = 5e8;

struct form_reference {
    struct problem problem;
    struct form_view view;
    double *exact;   // [rows][n], for the rows in row_at[]
    int64_t *row_at; // rows of C
    int64_t *matrix; // the matrix B of each row
    int64_t rows;
    bool all; // every row is computed
};

// Keeps some of the rows when all are too much work.
static void choose_rows(struct form_reference *r)
{
    const struct problem *p = &r->problem;
    const double row_work = (double)p->n * (double)p->k * problem_weights(p);
    const int64_t all = r->rows;
    const double most = fmax(ROWS_LEAST, FORM_WORK / row_work);
    r->all = (double)all <= most;
    if (r->all)
        return;
    r->rows = (int64_t)most;
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t from = i * (all - 1) / (r->rows - 1);
        r->row_at[i] = r->row_at[from];
        r->matrix[i] = r->matrix[from];
    }
}

static void fetch_form_lanes(double *out, const struct form_reference *r, int64_t matrix,
                             int64_t col)
{
    const struct problem *p = &r->problem;
    for (int64_t l = 0; l < p->k; l++) {
        for (int lane = 0; lane < HOST_LANES; lane++)
            out[l * HOST_LANES + lane] =
                col + lane < p->n ? form_b(&r->view, matrix, l, col + lane) : 0;
    }
}

// Computes all columns of the rows from `first` to `end`, which are multiplied by one matrix B.
static void multiply(struct form_reference *r, int64_t first, int64_t end, const double *a,
                     double *lanes)
{
    const struct problem *p = &r->problem;
    const int64_t weights = problem_weights(p), matrix = r->matrix[first] * weights;
    double sum[HOST_LANES], second[HOST_LANES] = {0};
    for (int64_t col = 0; col < p->n; col += HOST_LANES) {
        for (int64_t w = 0; w < weights; w++)
            fetch_form_lanes(lanes + w * p->k * HOST_LANES, r, matrix + w, col);
        for (int64_t i = first; i < end; i++) {
            host_dots(sum, a + i * p->k, lanes, p->k);
            if (weights > 1)
                host_dots(second, a + i * p->k, lanes + p->k * HOST_LANES, p->k);
            for (int64_t lane = 0; lane < HOST_LANES && col + lane < p->n; lane++)
                r->exact[i * p->n + col + lane] =
                    form_element(&r->view, sum[lane], second[lane], r->row_at[i], col + lane);
        }
    }
}

static int host_form_reference(struct form_reference **out, struct device_base *device,
                               const struct problem *p, const struct plumb_form_args *args,
                               const void *given, struct error *err)
{
    (void)device;
    (void)err;
    struct form_reference *r = xcalloc(1, sizeof(*r));
    const size_t most = (size_t)problem_used_rows(p);
    r->problem = *p;
    r->view = form_view_of(p, args, given);
    r->row_at = xcalloc(most, sizeof(*r->row_at));
    r->matrix = xcalloc(most, sizeof(*r->matrix));
    r->rows = form_used_rows(r->row_at, r->matrix, p);
    choose_rows(r);
    r->exact = xcalloc((size_t)(r->rows * p->n), sizeof(*r->exact));
    double *a = xcalloc((size_t)(r->rows * p->k), sizeof(*a));
    double *lanes = xcalloc((size_t)(2 * HOST_LANES * p->k), sizeof(*lanes));
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t l = 0; l < p->k; l++)
            a[i * p->k + l] = form_a(&r->view, r->row_at[i], l);
    }
    for (int64_t first = 0, end; first < r->rows; first = end) {
        for (end = first + 1; end < r->rows && r->matrix[end] == r->matrix[first];)
            end++;
        multiply(r, first, end, a, lanes);
    }
    free(a);
    free(lanes);
    *out = r;
    return 0;
}

static int host_form_compare(struct comparison *out, struct device_base *device,
                             const struct form_reference *r, const void *c, double tolerance,
                             struct error *err)
{
    (void)device;
    (void)err;
    const struct problem *p = &r->problem;
    struct comparison found = {0};
    const double scale = check_scale(p);
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const uint64_t at = (uint64_t)(r->row_at[i] * r->view.form.ldc + j);
            check_value(&found, inputs_load((int)p->out, c, at), r->exact[i * p->n + j], scale,
                        tolerance, r->row_at[i], j);
        }
    }
    *out = found;
    return 0;
}

static void host_form_reference_free(struct device_base *device, struct form_reference *r)
{
    (void)device;
    free(r->exact);
    free(r->row_at);
    free(r->matrix);
    free(r);
}

// ==== the device ====

// ---- noise and digests ----

// Writes every vector, without asking for each whether it is drawn: here everything is renewed
// before each launch.
static void write_whole(const struct noise *noise, uint32_t place, uint64_t signs, uint64_t key)
{
    const uint64_t count = noise->bytes / NOISE_VECTOR;
    const struct noise_vector *pool = noise->pool;
    char *to = noise->to[place];
    for (uint64_t at = 0; at < count; at++) {
        const struct noise_vector v = noise_at(pool, signs, key, false, at);
        memcpy(to + at * NOISE_VECTOR, &v, sizeof(v));
    }
    const struct noise_vector last = noise_at(pool, signs, key, false, count);
    memcpy(to + count * NOISE_VECTOR, &last, noise->bytes % NOISE_VECTOR);
}

static void write_noise(const struct noise *noise, uint32_t place)
{
    const uint64_t signs = noise_signs(noise->type), key = inputs_mix(noise->key + place);
    if (noise->one_in == 1 && !noise->coarse) {
        write_whole(noise, place, signs, key);
        return;
    }
    for (uint64_t segment = 0; segment < noise_segments(noise->bytes, noise->one_in, noise->line);
         segment++) {
        const uint64_t line = noise_line(key, segment, noise->one_in);
        for (uint64_t at = line * noise->line; at < (line + 1) * noise->line; at++) {
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            if (at * NOISE_VECTOR >= noise->bytes)
                continue;
            const size_t left = noise->bytes - at * NOISE_VECTOR;
            memcpy((char *)noise->to[place] + at * NOISE_VECTOR, &v,
                   left < sizeof(v) ? left : sizeof(v));
        }
    }
}

static int host_noise(struct device_base *device, const struct noise *noise, uint32_t count,
                      struct error *err)
{
    (void)device;
    (void)err;
    for (uint32_t job = 0; job < count; job++) {
        for (uint32_t i = 0; i < noise[job].count; i++)
            write_noise(&noise[job], i);
    }
    return 0;
}

static double sum_of(const struct look *d, const void *from, uint64_t key, uint64_t first)
{
    const uint64_t end = first + DIGEST_CHUNK < d->elements ? first + DIGEST_CHUNK : d->elements;
    double sum = 0;
    for (uint64_t at = first; at < end; at++) {
        const double value = inputs_load(d->type, from, at);
        sum += digest_signs(key, at) >> at % 64 & 1 ? -value : value;
    }
    return sum;
}

static uint64_t changed_spots(const struct noise *noise, uint64_t spots)
{
    const uint64_t signs = noise_signs(noise->type), whole = noise->bytes / NOISE_VECTOR;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < noise->count; i++) {
        const uint64_t key = inputs_mix(noise->key + i);
        for (uint64_t s = 0; s < noise_segments(noise->bytes, noise->one_in, noise->line); s++) {
            const uint64_t at = noise_spot(spots, noise_line(key, s, noise->one_in), noise->line);
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            changed += at < whole &&
                       memcmp((char *)noise->to[i] + at * NOISE_VECTOR, &v, NOISE_VECTOR) != 0;
        }
    }
    return changed;
}

static uint64_t changed_inputs(const struct look *look)
{
    uint64_t changed = 0;
    for (int i = 0; i < 2; i++) {
        if (look->inputs)
            changed += changed_spots(&look->inputs[i], look->key);
        if (look->scales[i])
            changed += memcmp(look->scales[i], &look->scale, sizeof(look->scale)) != 0;
    }
    return changed;
}

// `out` keeps the findings of the first look of a pair.
static void host_look(struct findings *out, const struct look *look)
{
    double *store = look->store;
    if (look->first)
        *out = (struct findings){0};
    out->changed += changed_inputs(look);
    const uint64_t chunks = digest_count(look->elements);
    for (uint32_t i = 0; store && i < look->count; i++) {
        const uint64_t key = inputs_mix(look->key + i);
        for (uint64_t s = 0; s * look->one_in < chunks; s++, store++) {
            const uint64_t chunk = digest_chunk(key, s, look->one_in);
            const double sum = sum_of(look, look->from[i], key, chunk * DIGEST_CHUNK);
            const double off = fabs(sum - *store);
            if (look->first)
                *store = sum;
            else if (!(off <= out->worst))
                out->worst = isnan(off) ? INFINITY : off;
        }
    }
}

struct host {
    struct device_base base;
    cpu_set_t cpus;  // processors that this process may use
    cpu_set_t alone; // the one of them on which single-threaded kernels run
    struct host_memory *memory;
    char *flush;
    size_t flush_bytes;
    volatile uint64_t sink; // so that the compiler keeps the flush's reads
};

// OpenBLAS 0.3.21 takes CPUs that are newer than itself for a Prescott and is then five times
// slower (seen on an Emerald Rapids). A control must not depend on that. So this names the CPU's
// family by its instruction sets, unless the user has named one; kernels' notes say which family
// was used. It also stops OpenBLAS's threads from spinning for long after a launch (2^26 clocks by
// default), where they would disturb later work.
static void calm_openblas(void)
{
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (__builtin_cpu_supports("avx2"))
        setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

static const uint64_t shortest_slice_ns = 100000; // that Linux gives (kernel/sched/syscalls.c)

static cpu_set_t own; // processors of this bench alone

static bool own_told; // false: it was started by hand

void host_processors(cpu_set_t *alone, cpu_set_t *all)
{
    cpu_set_t both;
    int last = 0;
    CPU_ZERO(all);
    sched_getaffinity(0, sizeof(*all), all);
    CPU_AND(&both, &own, all);
    const bool shared = own_told && CPU_COUNT(&both) == 0;
    const cpu_set_t *from = own_told && !shared ? &both : all;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, from))
            last = cpu; // the last one, because interrupts and other work prefer the first
    }
    CPU_ZERO(alone);
    CPU_SET(last, alone);
    if (shared) // if somebody else is pinned to the same processor, both would wait for each other
        *alone = *all;
}

static void host_own(struct device_base *device, const cpu_set_t *processors)
{
    struct host *host = (struct host *)device;
    own = *processors;
    own_told = true;
    host_processors(&host->alone, &host->cpus);
}

// Asks the scheduler for short slices. In a turn a library's process and bench pass a baton, and if
// other processes want the processor, each pass waits until these have used their slice. A process
// that asks for a shorter slice comes sooner, and gets no more time (Linux 6.12 and later). Beside
// 16 busy loops on two processors, an opening of 70 turns took 1.2 s with it, five times out of
// five, and 2.5 to 49 s without. Libraries on both sides inherit it. If nobody else wants the
// processor, it changes nothing.
static void ask_for_short_slices(void)
{
    // As in linux/sched/types.h, which cannot stand beside older sched.h.
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } asked;
    if (syscall(SYS_sched_getattr, 0, &asked, sizeof(asked), 0) || asked.policy != SCHED_OTHER)
        return;
    asked.runtime = shortest_slice_ns;
    syscall(SYS_sched_setattr, 0, &asked, 0); // where it is refused, nothing is lost
}

static int host_open(struct device_base **out, const char *index, bool *no_device,
                     struct error *err)
{
    if (index && strcmp(index, "0") != 0) {
        *no_device = true;
        return error_set(err, "host:%s: there is one host; write --device host", index);
    }
    ask_for_short_slices();
    prctl(PR_SET_DUMPABLE, 0); // then /proc shows no library this process's memory (arm_worker.c)
    struct host *host = xcalloc(1, sizeof(*host));
    if (host_memory_open(&host->memory, err)) {
        free(host);
        return -1;
    }
    host_processors(&host->alone, &host->cpus);
    size_t cache = host_cache_bytes(2);
    host->flush_bytes = 2 * (cache ? cache : (size_t)2 << 20);
    host->flush = xcalloc(1, host->flush_bytes);
    memset(host->flush, 1, host->flush_bytes);
    calm_openblas();
    *out = &host->base;
    return 0;
}

static void host_close(struct device_base *device)
{
    struct host *host = (struct host *)device;
    host_memory_close(host->memory);
    free(host->flush);
    free(host);
}

// Reads the first line of a file, or the first line that begins with `key`, after its colon.
static void first_line(char *out, size_t size, const char *path, const char *key)
{
    char line[512];
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        if (key && strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *colon = key ? strchr(line, ':') : NULL;
        const char *value = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file)
        fclose(file);
}

static uint64_t hash(uint64_t state, const char *text)
{
    return hash_bytes(state, text, strlen(text));
}

static void figure_set(struct figure *figure, double value, const char *source)
{
    if (value > 0)
        *figure = (struct figure){value, ORIGIN_DEVICE, source};
}

static int host_info(struct device_info *out, struct device_base *device, struct error *err)
{
    (void)err;
    struct host *host = (struct host *)device;
    struct device_info info = {.figures = {.name = "host"}};
    char machine[128], khz[32];
    struct utsname kernel;
    first_line(info.name, sizeof(info.name), "/proc/cpuinfo", "model name");
    if (!info.name[0])
        snprintf(info.name, sizeof(info.name), "CPU");
    first_line(machine, sizeof(machine), "/etc/machine-id", NULL);
    uname(&kernel);
    uint64_t id = hash(HASH_START, machine[0] ? machine : kernel.nodename);
    id = hash(hash(id, info.name), kernel.machine);
    snprintf(info.uuid, sizeof(info.uuid), "HOST-%016llx", (unsigned long long)id);
    snprintf(info.driver, sizeof(info.driver), "%.60s", kernel.release);
    snprintf(info.runtime, sizeof(info.runtime), "glibc %s", gnu_get_libc_version());
    figure_set(&info.figures.sm_count, CPU_COUNT(&host->cpus), "sched_getaffinity");
    first_line(khz, sizeof(khz), "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", NULL);
    figure_set(&info.figures.clock_max_hz, strtod(khz, NULL) * 1e3, "cpufreq");
    size_t last = host_cache_bytes(3);
    figure_set(&info.figures.l2_bytes, (double)(last ? last : host_cache_bytes(2)), "sysconf");
    *out = info;
    return 0;
}

static size_t host_flush_bytes(struct device_base *device)
{
    return ((struct host *)device)->flush_bytes;
}

static size_t host_free_bytes(struct device_base *device)
{
    (void)device;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 4 : 0;
}

// Memory that programs can still get, including what the system uses to cache files. Pages are only
// taken when they are written to, and a program is killed if there are none then, so no more is
// promised. SIZE_MAX: not known.
static size_t available_bytes(void)
{
    char line[128];
    unsigned long long kilobytes = 0;
    bool told = false;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && !told && fgets(line, sizeof(line), file))
        told = sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
    if (file)
        fclose(file);
    return told ? (size_t)kilobytes << 10 : SIZE_MAX;
}

static int take_memory(void **out, struct device_base *device, enum host_range range, size_t bytes,
                       struct error *err)
{
    enum { LARGE = 64 << 20 }; // below this size nobody asks how much there is
    const size_t there = bytes < LARGE ? SIZE_MAX : available_bytes();
    void *place =
        bytes > there ? NULL : host_memory_take(((struct host *)device)->memory, range, bytes);
    device->lacks |= !place;
    if (!place && bytes > there)
        return error_set(err, "host: no memory for %zu MiB, of which there are %zu", bytes >> 20,
                         there >> 20);
    if (!place)
        return error_set(err, "host: no memory for %zu MiB", bytes >> 20);
    *out = place;
    return 0;
}

static int host_alloc(void **out, struct device_base *device, size_t bytes, struct error *err)
{
    return take_memory(out, device, HOST_OUTPUTS, bytes, err);
}

static int host_alloc_inputs(void **out, struct device_base *device, size_t bytes,
                             struct error *err)
{
    return take_memory(out, device, HOST_INPUTS, bytes, err);
}

static const struct host_memory *host_memory(struct device_base *device)
{
    return ((struct host *)device)->memory;
}

static void host_free(struct device_base *device, void *memory)
{
    if (memory)
        host_memory_give_back(((struct host *)device)->memory, memory);
}

static int host_read(struct device_base *device, void *to, const void *from, size_t bytes,
                     struct error *err)
{
    (void)device;
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

static int host_write(struct device_base *device, void *to, const void *from, size_t bytes,
                      struct error *err)
{
    return host_read(device, to, from, bytes, err);
}

static int host_set(struct device_base *device, void *to, int byte, size_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    memset(to, byte, bytes);
    return 0;
}

static int host_same(bool *out, struct device_base *device, const void *a, const void *b,
                     size_t bytes, struct error *err)
{
    (void)device;
    (void)err;
    *out = memcmp(a, b, bytes) == 0;
    return 0;
}

static int host_differ(struct differences *out, struct device_base *device, int type,
                       size_t element_bytes, const void *a, const void *b, uint64_t count,
                       struct error *err)
{
    const unsigned char *left = a, *right = b;
    (void)device;
    (void)err;
    *out = (struct differences){0};
    for (uint64_t i = 0; i < count; i++, left += element_bytes, right += element_bytes) {
        const double apart = inputs_apart(type, element_bytes, left, right);
        const double value = fabs(inputs_load(type, right, 0));
        out->count += apart >= 0;
        out->most = fmax(out->most, apart);
        out->largest = isfinite(value) && value > out->largest ? value : out->largest;
    }
    return 0;
}

static int host_fill(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                     uint64_t count, struct error *err)
{
    (void)device;
    (void)err;
    const uint64_t words = recipe->bare ? count / inputs_each(recipe->type) : 0;
    for (uint64_t i = 0; i < words; i++)
        ((uint64_t *)to)[i] = ((const uint64_t *)recipe->bare)[i] ^ inputs_flips(recipe, i);
    for (uint64_t i = words * inputs_each(recipe->type); i < count; i++)
        inputs_store(to, i, recipe);
    return 0;
}

static void *host_stream(struct device_base *device)
{
    (void)device;
    return NULL;
}

static int host_sync(struct device_base *device, struct error *err)
{
    (void)device;
    (void)err;
    return 0;
}

static void flush_caches(struct host *host, enum flush flush)
{
    uint64_t sum = 0;
    if (flush == FLUSH_WRITE)
        memset(host->flush, (int)host->sink & 1, host->flush_bytes);
    for (size_t i = 0; flush == FLUSH_READ && i < host->flush_bytes; i += 64)
        sum += (unsigned char)host->flush[i];
    host->sink += sum;
}

static void pin_to(const cpu_set_t *cpus)
{
    sched_setaffinity(0, sizeof(*cpus), cpus); // if it is refused, the scheduler decides
}

// Runs `count` launches from number `first` on, and returns their time.
static double launch_some(int *code, const struct batch *batch, uint32_t first, uint32_t count)
{
    double took_ns = 0;
    *code = 0;
    if (batch->run) {
        if (count > 0)
            *code = batch->run(batch->self, first, batch->sets, count, &took_ns);
        return took_ns;
    }
    const double begun_ns = host_now_ns();
    for (uint32_t i = first; i < first + count && !*code; i++)
        *code = batch->launch(batch->self, i % batch->sets, NULL);
    return host_now_ns() - begun_ns;
}

static double launch_together(int *code, struct host *host, const struct batch *batch)
{
    flush_caches(host, batch->flush);
    launch_some(code, batch, 0, batch->runup);
    return *code ? 0 : launch_some(code, batch, batch->runup, batch->launches);
}

static int launch_each(double *took_ns, int *code, struct host *host, const struct batch *batch,
                       struct error *err)
{
    *took_ns = 0;
    *code = 0;
    for (uint32_t i = 0; i < batch->launches && !*code; i++) {
        flush_caches(host, batch->flush);
        if (batch->between)
            launch_some(code, batch, i, 1);
        if (batch->between && !*code && batch->between(batch->between_self, i % batch->sets, err))
            return -1;
        *took_ns += *code ? 0 : launch_some(code, batch, i, 1);
    }
    return 0;
}

static int host_sample(struct sample *out, struct findings *found, struct device_base *device,
                       const struct batch *batch, int *code, struct error *err)
{
    struct host *host = (struct host *)device;
    double took_ns = 0;
    if (batch->threads <= 1)
        pin_to(&host->alone);
    const double clock_hz = host_clock_hz();
    const int failed = batch->each ? launch_each(&took_ns, code, host, batch, err) : 0;
    if (!batch->each)
        took_ns = launch_together(code, host, batch);
    out->time_ns = fmax(took_ns, 1.0) / batch->launches;
    // The clock around the kernel. Wide vectors may lower it for a while, which shows afterwards.
    out->clock_hz = (clock_hz + host_clock_hz()) / 2;
    out->temperature_c = INT16_MIN;
    out->power_mw = -1;
    if (batch->threads <= 1)
        pin_to(&host->cpus);
    if (failed)
        return -1;
    if (batch->look && !*code)
        host_look(found, batch->look);
    return batch->behind && !*code ? batch->behind(batch->behind_self, err) : 0;
}

const struct device_ops device_host = {
    .kind = "host",
    .batch_below_ns = 300e3,
    .sample_ns = 500e3,
    .launches_max = 1024,
    .stream_ns = 500e3,
    .each_ns = 0,
    .open = host_open,
    .close = host_close,
    .info = host_info,
    .own = host_own,
    .flush_bytes = host_flush_bytes,
    .free_bytes = host_free_bytes,
    .alloc = host_alloc,
    .alloc_inputs = host_alloc_inputs,
    .memory = host_memory,
    .free = host_free,
    .read = host_read,
    .write = host_write,
    .set = host_set,
    .copy = host_write,
    .same = host_same,
    .differ = host_differ,
    .fill = host_fill,
    .noise = host_noise,
    .calm = host_sync, // nothing survives the flush here
    .reference = host_reference,
    .compare = host_compare,
    .reference_free = host_reference_free,
    .form_reference = host_form_reference,
    .form_compare = host_form_compare,
    .form_reference_free = host_form_reference_free,
    .stream = host_stream,
    .sync = host_sync,
    .sample = host_sample,
    .calibrate = host_calibrate,
};
