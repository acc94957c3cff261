// SPDX-License-Identifier: Apache-2.0
//
// Change-point rules of other tools, written from their descriptions. Tests and benchmarks compare
// our detector with them; plumb itself does not use them.
#include "tests/helpers/helper_cp_peers.h"

#include "model/base.h"
#include "model/robust.h"
#include "tests/helpers/helper_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
