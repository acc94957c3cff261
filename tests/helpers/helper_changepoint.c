// SPDX-License-Identifier: Apache-2.0
//
// Made histories, ours and other tools' rules, and the cases that they are held to.
#include "tests/helpers/helper_changepoint.h"

#include "model/csv.h"
#include "model/robust.h"
#include "tests/helpers/helper_peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_kind_names[CP_KINDS] = {
    [CP_NORMAL] = "normal",      [CP_SPIKES] = "5 % spikes",      [CP_AR5] = "AR(1) 0.5",
    [CP_AR8] = "AR(1) 0.8",      [CP_BIMODAL] = "bimodal 80:20",  [CP_TWO_MODES] = "bimodal 50:50",
    [CP_WALK] = "random walk",   [CP_LOUDER] = "louder 2nd half", [CP_STEPPED] = "whole numbers",
    [CP_SKEWED] = "exponential",
};

static double spike(struct random *random)
{
    if (random_uniform(random) >= 0.05)
        return 0;
    double size = 5 + 15 * random_uniform(random);
    return random_coin(random) ? size : -size;
}

void cp_series(double *values, size_t n, enum cp_kind kind, struct random *random)
{
    double state = random_normal(random);
    for (size_t i = 0; i < n; i++) {
        double z = random_normal(random), r = kind == CP_AR5 ? 0.5 : 0.8;
        switch (kind) {
        case CP_SPIKES:
            z += spike(random);
            break;
        case CP_AR5:
        case CP_AR8:
            z = state = r * state + sqrt(1 - r * r) * z;
            break;
        case CP_BIMODAL:
            z += random_uniform(random) < 0.2 ? 8 : 0;
            break;
        case CP_TWO_MODES:
            z += random_coin(random) ? 8 : 0;
            break;
        case CP_WALK:
            z = state += z;
            break;
        case CP_LOUDER:
            z *= 2 * i >= n ? 3 : 1;
            break;
        case CP_STEPPED:
            z = round(1.5 * z);
            break;
        case CP_SKEWED:
            z = -log(random_uniform(random));
            break;
        case CP_NORMAL:
        case CP_KINDS:
            break;
        }
        values[i] = 100 + z;
    }
}

void cp_add_step(double *values, size_t n, size_t at, double size)
{
    for (size_t i = at; i < n; i++)
        values[i] += size;
}

size_t cp_load_backgrounds(struct cp_background *out, size_t room)
{
    FILE *file = fopen(TEST_DATA "/history-backgrounds.csv", "rb");
    static char text[65536];
    size_t length = file ? fread(text, 1, sizeof(text), file) : 0, count = 0;
    if (file)
        fclose(file);
    struct csv csv;
    struct error err;
    if (csv_parse(&csv, text, length, "history-backgrounds.csv", &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < csv.count; i++) {
        const char *name = csv.rows[i].fields[0];
        if ((count == 0 || strcmp(out[count - 1].name, name) != 0) && count < room)
            text_copy(out[count++].name, sizeof(out->name), name);
        struct cp_background *b = &out[count - 1];
        if (b->count < ARRAY_COUNT(b->values))
            parse_double(&b->values[b->count++], csv.rows[i].fields[1]);
    }
    csv_free(&csv);
    return count;
}

size_t cp_take_places(size_t *out, const struct changepoints *found)
{
    for (size_t i = 0; i < found->count; i++)
        out[i] = found->changes[i].index;
    return found->count;
}

size_t cp_ours(size_t *out, const double *values, size_t n, double knob)
{
    struct changepoint_options options = changepoint_defaults;
    options.penalty = knob;
    struct changepoints found;
    changepoints_find(&found, values, n, &options);
    const size_t count = cp_take_places(out, &found);
    changepoints_free(&found);
    return count;
}

const struct cp_method cp_methods[CP_METHODS] = {
    {"plumb", cp_ours, 0, 2, 80},
    {"otava", cp_otava, 1e-3, 2e-2, 1e-13},
    {"asv", cp_asv, 4, 0.5, 60},
    {"perfherder", cp_perfherder, 7, 2, 60},
};

double cp_default_knob(const struct cp_method *m)
{
    return m->find == cp_ours ? changepoint_defaults.penalty : m->usual;
}

bool cp_one_near(const size_t *found, size_t count, size_t at, size_t reach)
{
    bool hit = false;
    for (size_t i = 0; i < count; i++)
        hit |= found[i] + reach >= at && found[i] <= at + reach;
    return hit;
}

static double student_p(const double *v, size_t a, size_t m, size_t b)
{
    double n1 = (double)(m - a), n2 = (double)(b - m), s1 = 0, s2 = 0, squares = 0;
    if (n1 < 1 || n2 < 1 || n1 + n2 < 3)
        return 1;
    for (size_t i = a; i < m; i++)
        s1 += v[i] / n1;
    for (size_t i = m; i < b; i++)
        s2 += v[i] / n2;
    for (size_t i = a; i < b; i++)
        squares += pow(v[i] - (i < m ? s1 : s2), 2);
    double se = sqrt(squares / (n1 + n2 - 2) * (1 / n1 + 1 / n2));
    if (se <= 0)
        return s1 < s2 || s2 < s1 ? 0 : 1;
    return 2 * (1 - student_cdf(fabs(s1 - s2) / se, n1 + n2 - 2));
}

// Energy distance between both sides of the best split of [a, b), sides of two values or more. The
// sums of gaps within and across are carried from one split to the next.
static size_t energy_split(const double *v, size_t a, size_t b)
{
    size_t best_at = 0;
    double best = -INFINITY, cross = 0, left = 0, right = 0;
    for (size_t i = a; i < b; i++) {
        for (size_t j = i + 1; j < b; j++)
            right += fabs(v[i] - v[j]);
    }
    for (size_t m = a + 1; m + 2 <= b; m++) {
        double to_left = 0, to_right = 0, x = (double)(m - a), y = (double)(b - m);
        for (size_t i = a; i < m; i++)
            to_left += fabs(v[i] - v[m - 1]);
        for (size_t i = m; i < b; i++)
            to_right += fabs(v[i] - v[m - 1]);
        left += to_left;
        right -= to_right;
        cross += to_right - to_left;
        double q = (2 * cross - 2 * y * left / (x - 1) - 2 * x * right / (y - 1)) / (x + y);
        if (m >= a + 2 && q > best) {
            best = q;
            best_at = m;
        }
    }
    return best_at;
}

static void otava_split(bool *change, const double *v, size_t a, size_t b, double p)
{
    size_t m = b - a >= 4 ? energy_split(v, a, b) : 0;
    if (m == 0 || student_p(v, a, m, b) >= p)
        return;
    change[m] = true;
    otava_split(change, v, a, m, p);
    otava_split(change, v, m, b, p);
}

static size_t collect(size_t *out, const bool *change, size_t n)
{
    size_t count = 0;
    for (size_t i = 1; i < n; i++) {
        if (change[i])
            out[count++] = i;
    }
    return count;
}

size_t cp_otava(size_t *out, const double *values, size_t n, double p0)
{
    bool *change = xcalloc(n + 1, sizeof(*change));
    for (size_t start = 0; start < n;) {
        size_t end = start + 50 < n ? start + 50 : n, next = start + 25;
        otava_split(change, values, start, end, 10 * p0);
        for (size_t i = end; i-- > start + 25;) {
            if (change[i]) {
                next = i;
                break;
            }
        }
        if (end == n)
            break;
        start = next;
    }
    size_t count = collect(out, change, n);
    while (count > 0) {
        size_t worst = 0;
        double largest = -1;
        for (size_t i = 0; i < count; i++) {
            double p =
                student_p(values, i ? out[i - 1] : 0, out[i], i + 1 < count ? out[i + 1] : n);
            if (p > largest) {
                largest = p;
                worst = i;
            }
        }
        if (largest < p0)
            break;
        memmove(out + worst, out + worst + 1, (count - worst - 1) * sizeof(*out));
        count--;
    }
    free(change);
    return count;
}

// costs[a * n + b]: sum of |v - median| over a..b inclusive.
static double *absolute_costs(const double *v, size_t n)
{
    double *costs = xcalloc(n * n, sizeof(*costs)), *sorted = xcalloc(n, sizeof(*sorted));
    for (size_t a = 0; a < n; a++) {
        double sum = 0;
        for (size_t size = 0; a + size < n; size++) {
            // The new value adds its distance to the median of those before, or to the nearer of
            // the two middle ones: any point between them is a median.
            double value = v[a + size], low = 0, high = 0;
            if (size) {
                low = sorted[(size - 1) / 2];
                high = sorted[size / 2];
            }
            if (size)
                sum += value < low ? low - value : value > high ? value - high : 0;
            size_t at = size;
            for (; at > 0 && sorted[at - 1] > value; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = value;
            costs[a * n + a + size] = sum;
        }
    }
    free(sorted);
    return costs;
}

static size_t absolute_fit(size_t *out, const double *costs, size_t n, double gamma)
{
    double *best = xcalloc(n + 1, sizeof(*best));
    size_t *from = xcalloc(n + 1, sizeof(*from)), count = 0;
    best[0] = -gamma;
    for (size_t b = 1; b <= n; b++) {
        best[b] = INFINITY;
        for (size_t a = 0; a < b; a++) {
            double cost = best[a] + gamma + costs[a * n + b - 1];
            if (cost < best[b]) {
                best[b] = cost;
                from[b] = a;
            }
        }
    }
    for (size_t b = from[n]; b > 0; b = from[b])
        count++;
    size_t k = count;
    for (size_t b = from[n]; b > 0; b = from[b])
        out[--k] = b;
    free(best);
    free(from);
    return count;
}

static double innovations(const double *v, size_t n, const size_t *cuts, size_t count)
{
    double *residual = xcalloc(n, sizeof(*residual)), *work = xcalloc(n, sizeof(*work));
    for (size_t j = 0; j <= count; j++) {
        size_t a = j ? cuts[j - 1] : 0, b = j < count ? cuts[j] : n;
        memcpy(work, v + a, (b - a) * sizeof(*work));
        double level = robust_median(work, b - a);
        for (size_t i = a; i < b; i++)
            residual[i] = v[i] - level;
    }
    double cross = 0, squares = 1e-300, sum = fabs(residual[0]);
    for (size_t i = 1; i < n; i++) {
        cross += residual[i] * residual[i - 1];
        squares += residual[i - 1] * residual[i - 1];
    }
    for (size_t i = 1; i < n; i++)
        sum += fabs(residual[i] - cross / squares * residual[i - 1]);
    free(residual);
    free(work);
    return sum / (double)n;
}

size_t cp_asv(size_t *out, const double *values, size_t n, double factor)
{
    double *costs = absolute_costs(values, n), least = INFINITY;
    size_t *cuts = xcalloc(n, sizeof(*cuts)), found = 0;
    for (double gamma = 2 * costs[n - 1]; gamma > 1e-3 * costs[n - 1]; gamma *= 0.7) {
        size_t count = absolute_fit(cuts, costs, n, gamma);
        if (10 * count > n)
            break;
        double score = log(fmax(innovations(values, n, cuts, count), 1e-300)) +
                       factor * log((double)n) / (double)n * (double)(count + 1);
        if (score < least) {
            least = score;
            found = count;
            memcpy(out, cuts, count * sizeof(*cuts));
        }
    }
    free(costs);
    free(cuts);
    return found;
}

// Mean and variance with weights falling linearly from the near end (index 0 of `step` away).
static void weighted(double *mean, double *variance, const double *near, ptrdiff_t step,
                     size_t size)
{
    double total = 0, squares = 0, weights = 0;
    for (size_t i = 0; i < size; i++) {
        double w = (double)(size - i) / (double)size;
        total += w * near[(ptrdiff_t)i * step];
        weights += w;
    }
    *mean = total / weights;
    for (size_t i = 0; i < size; i++)
        squares += pow(near[(ptrdiff_t)i * step] - *mean, 2);
    *variance = squares / (double)(size - 1);
}

size_t cp_perfherder(size_t *out, const double *values, size_t n, double threshold)
{
    enum { BACK = 24, FORE = 12 };
    double *t = xcalloc(n + 1, sizeof(*t));
    size_t count = 0;
    for (size_t i = FORE; i + FORE <= n; i++) {
        double before, after, variance_b, variance_a;
        size_t back = i < BACK ? i : BACK;
        weighted(&before, &variance_b, values + i - 1, -1, back);
        weighted(&after, &variance_a, values + i, 1, FORE);
        double se = sqrt(variance_b / (double)back + variance_a / FORE);
        t[i] = se > 0 ? fabs(after - before) / se : 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (t[i] > threshold && t[i] >= t[i - 1] && t[i] > t[i + 1])
            out[count++] = i;
    }
    free(t);
    return count;
}

static void two_levels(double *v, size_t n, size_t at, double before_sd, double after_sd,
                       double size, struct random *random)
{
    const double sign = random_coin(random) ? 1 : -1;
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + (i < at ? before_sd : after_sd) * random_normal(random);
    cp_add_step(v, n, at, sign * size);
}

static void twenty(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 1, 20, random);
}

static void five(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 1, 5, random);
}

static void louder(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 8, 10, random);
}

static void rounded(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (i < at ? 32 : 42) + (random_uniform(random) < 0.2);
}

static void fourteenfold(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 * (i < at ? 1 : 14) * (1 + 0.005 * random_normal(random));
}

static void noiseless(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = i < at ? 100 : i < at + 10 ? 120 : i < at + 60 ? 100 : 110;
}

// A machine three times slower, every fourth time a neighbour's (log times).
static void strays(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++) {
        const bool stray = random_uniform(random) < 0.25;
        v[i] = (i < at ? 0 : 1.1) + 0.03 * random_normal(random) +
               (stray ? 0.5 + 0.7 * random_uniform(random) : 0);
    }
}

const struct cp_case cp_cases[] = {
    {"5|5, 20 SD", 10, {5}, 0, twenty},
    {"50|3, 20 SD", 53, {50}, 0, twenty},
    {"40|5, 20 SD", 45, {40}, 0, twenty},
    {"15|285, 5 SD", 300, {15}, 2, five},
    {"60|60, whole numbers, step 10", 120, {60}, 0, rounded},
    {"60|60, SD 1 to 8, step 10", 120, {60}, 10, louder},
    {"100|100, fourteenfold", 200, {100}, 2, fourteenfold},
    {"no noise, 50|10|50|50", 160, {50, 60, 110}, 0, noiseless},
    {"16|14, a fourth strays", 30, {16}, 2, strays},
    {"40|40, a fourth strays", 80, {40}, 2, strays},
};
const size_t cp_case_count = ARRAY_COUNT(cp_cases);

static void creeping(double *v, size_t n, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + 3 * (double)i / ((double)n - 1) + 0.5 * random_normal(random);
}

static void spreading(double *v, size_t n, struct random *random)
{
    two_levels(v, n, n / 2, 1, 2, 0, random);
}

static void changing_modes(double *v, size_t n, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + random_normal(random) +
               (random_uniform(random) < (i < n / 2 ? 0.1 : 0.5) ? 8 : 0);
}

static void plain(double *v, size_t n, struct random *random)
{
    two_levels(v, n, n / 2, 1, 1, 0, random);
}

static bool creeps(const struct shape *s)
{
    return s->creeps;
}

static bool is_louder(const struct shape *s)
{
    return s->louder;
}

static bool shifts(const struct shape *s)
{
    return s->shifts;
}

static bool anything(const struct shape *s)
{
    return s->creeps || s->louder || s->shifts;
}

const struct cp_shape_case cp_shape_cases[] = {
    {"creep of 3 %, 60 values", 60, creeping, creeps},
    {"100|100, variance times four", 200, spreading, is_louder},
    {"100|100, a mode, 10 to 50 %", 200, changing_modes, shifts},
    {"none of these, 60 values", 60, plain, anything},
    {"none of these, 200 values", 200, plain, anything},
};
const size_t cp_shape_case_count = ARRAY_COUNT(cp_shape_cases);

void cp_growing(double *values, size_t n, int kind, struct random *random)
{
    cp_series(values, n, (enum cp_kind)kind, random);
    for (int s = 0; s < CP_CASE_STEPS; s++) {
        const double size = (random_coin(random) ? 1 : -1) * (2 + 8 * random_uniform(random));
        const size_t room = n > 20 ? n - 20 : 1;
        cp_add_step(values, n, 10 + (size_t)((double)room * random_uniform(random)), size);
    }
}
