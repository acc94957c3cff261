// SPDX-License-Identifier: Apache-2.0
//
// Of n values `far` lie beyond the middle between two levels. Were their order random, the `run`
// values of a given stretch would hold at least `met` of them with the hypergeometric probability
//
//     P = sum over i >= met of C(far, i) C(n - far, run - i) / C(n, run),
//
// and there are two such stretches at the ends of the series and n - run - 1 between. A bounded
// cost cannot know this of a short series: once a few strays in a row have become a segment, none
// are left among the residuals that would say how often values stray.
#include "model/history/revisit_test.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 16 }; // values in a row are no visit
static const double rare = 0.005;

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

static double chance_of(size_t n, size_t far, size_t run, size_t met, double places)
{
    double sum = 0, all = log_choose((double)n, (double)run);
    for (size_t i = met; i <= run && i <= far; i++) {
        if (run - i > n - far)
            continue;
        sum += exp(log_choose((double)far, (double)i) +
                   log_choose((double)(n - far), (double)(run - i)) - all);
    }
    return places * sum;
}

double revisit_level(const double *values, const struct potts_segment *segment)
{
    size_t n = segment->end - segment->first;
    double *work = xcalloc(n, sizeof(*work));
    memcpy(work, values + segment->first, n * sizeof(*work));
    double median = robust_median(work, n);
    free(work);
    return median;
}

// Values of a segment that lie more than half of `gap` from its level, on the side of `gap`.
static size_t far_from(const double *values, const struct potts_segment *segment, double level,
                       double gap)
{
    size_t far = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        far += gap > 0 ? values[i] - level > 0.5 * gap : values[i] - level < 0.5 * gap;
    return far;
}

// The shorter one of segments j and j + 1 is a visit.
static bool is_visit(const double *values, size_t n, const struct potts_segment *segments,
                     size_t count, size_t j)
{
    size_t left = segments[j].end - segments[j].first;
    size_t right = segments[j + 1].end - segments[j + 1].first;
    size_t host = left < right ? j + 1 : j, guest = left < right ? j : j + 1;
    const struct potts_segment *short_one = &segments[guest];
    size_t run = short_one->end - short_one->first, met, strays = 0;
    if (run > LONG)
        return false;
    double gap = segments[guest].level - segments[host].level;
    met = far_from(values, short_one, segments[host].level, gap);
    for (size_t k = 0; k < count; k++) {
        if (k != guest)
            strays += far_from(values, &segments[k], segments[k].level, gap);
    }
    bool at_end = short_one->first == 0 || short_one->end == n;
    double chance = chance_of(n, strays + met, run, met, at_end ? 2 : (double)(n - run - 1));
    double rarest = 2 * exp(-log_choose((double)n, floor(0.5 * (double)n)));
    return chance > fmax(rare, 1.001 * rarest);
}

size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count)
{
    for (size_t j = 0; j + 1 < count;) {
        if (!is_visit(values, n, segments, count, j)) {
            j++;
            continue;
        }
        segments[j].end = segments[j + 1].end;
        segments[j].level = revisit_level(values, &segments[j]);
        memmove(segments + j + 1, segments + j + 2, (count - j - 2) * sizeof(*segments));
        count--;
        j = j ? j - 1 : 0;
    }
    return count;
}
