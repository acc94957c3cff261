// SPDX-License-Identifier: Apache-2.0
//
// Optimal partitioning by functional pruning (Fearnhead and Rigaill, "Changepoint detection in the
// presence of outliers", JASA 2019; Maidstone et al., "On optimal multiple changepoint algorithms
// for large data", 2017). Let Q_t(m) be the least cost of y_1..y_t when the last segment has level
// m:
//
//     Q_t(m) = min( Q_{t-1}(m), F_{t-1} + penalty ) + min((y_t - m)^2, bound^2),   F_t = min_m
//     Q_t(m)
//
// Q_t is piecewise quadratic in m. Candidates for the last change that are best for no m drop out
// by themselves, so a step costs the number of pieces, which stays small: a long segment is best
// only within sqrt(penalty / length) of its mean. Every piece is kept as weight (m - centre)^2 +
// constant, which unlike a m^2 + b m + c does not cancel when levels are a million noise widths
// apart.
#include "model/history/potts.h"

#include "model/base.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct piece {
    double low, high; // valid for low <= m < high
    double weight, centre, constant;
    size_t start; // first value of the last segment
};

struct pieces {
    struct piece *items;
    size_t count, room;
};

static void append(struct pieces *list, struct piece piece)
{
    if (!(piece.low < piece.high))
        return;
    if (list->count > 0) {
        // Neighbours that are the same flat candidate are one piece.
        struct piece *last = &list->items[list->count - 1];
        if (last->weight == 0 && piece.weight == 0 && last->start == piece.start &&
            last->constant == piece.constant) {
            last->high = piece.high;
            return;
        }
    }
    list->items = xgrow(list->items, list->count, &list->room, sizeof(*list->items));
    list->items[list->count++] = piece;
}

static struct piece part(struct piece whole, double low, double high)
{
    // Not fmin() and fmax(), which are calls: this is where the time goes.
    whole.low = whole.low < low ? low : whole.low;
    whole.high = whole.high > high ? high : whole.high;
    return whole;
}

// min(old, fresh), where the new candidate `fresh` is flat.
static void offer(struct pieces *out, const struct pieces *old, double fresh, size_t start)
{
    out->count = 0;
    for (size_t i = 0; i < old->count; i++) {
        struct piece piece = old->items[i];
        struct piece flat = {piece.low, piece.high, 0, 0, fresh, start};
        if (piece.constant >= fresh) {
            append(out, flat);
        } else if (piece.weight <= 0) {
            append(out, piece);
        } else {
            double reach = sqrt((fresh - piece.constant) / piece.weight);
            append(out, part(flat, -INFINITY, piece.centre - reach));
            append(out, part(piece, piece.centre - reach, piece.centre + reach));
            append(out, part(flat, piece.centre + reach, INFINITY));
        }
    }
}

static struct piece add_square(struct piece piece, double value)
{
    double weight = piece.weight + 1;
    double gap = value - piece.centre;
    piece.constant += piece.weight / weight * gap * gap;
    piece.centre += gap / weight;
    piece.weight = weight;
    return piece;
}

static struct piece add_constant(struct piece piece, double amount)
{
    piece.constant += amount;
    return piece;
}

// Adds one value's bounded cost to every piece.
static void observe(struct pieces *out, const struct pieces *old, double value, double bound)
{
    double cap = bound * bound;
    out->count = 0;
    for (size_t i = 0; i < old->count; i++) {
        struct piece piece = old->items[i];
        append(out, add_constant(part(piece, -INFINITY, value - bound), cap));
        append(out, add_square(part(piece, value - bound, value + bound), value));
        append(out, add_constant(part(piece, value + bound, INFINITY), cap));
    }
}

struct minimum {
    double cost, level;
    size_t start;
};

static struct minimum minimise(const struct pieces *list)
{
    struct minimum best = {INFINITY, 0, 0};
    for (size_t i = 0; i < list->count; i++) {
        const struct piece *piece = &list->items[i];
        double level = piece->centre < piece->low ? piece->low : piece->centre;
        level = level > piece->high ? piece->high : level;
        if (piece->weight <= 0)
            level = 0.5 * (piece->low + piece->high);
        double gap = level - piece->centre;
        double cost = piece->constant + piece->weight * gap * gap;
        if (cost < best.cost)
            best = (struct minimum){cost, level, piece->start};
    }
    return best;
}

// best[t] describes the last segment of the best partition of the first t + 1 values.
static void forward(struct minimum *best, const double *values, size_t n, double bound,
                    double penalty)
{
    double low = values[0], high = values[0];
    for (size_t t = 1; t < n; t++) {
        low = fmin(low, values[t]);
        high = fmax(high, values[t]);
    }
    struct pieces now = {0}, next = {0};
    append(&now, (struct piece){low - bound, high + bound, 0, 0, penalty, 0});
    for (size_t t = 0; t < n; t++) {
        if (t > 0) {
            offer(&next, &now, best[t - 1].cost + penalty, t);
            struct pieces swap = now;
            now = next;
            next = swap;
        }
        observe(&next, &now, values[t], bound);
        struct pieces swap = now;
        now = next;
        next = swap;
        best[t] = minimise(&now);
    }
    free(now.items);
    free(next.items);
}

struct potts_segment *potts_fit(size_t *count, const double *values, size_t n, double bound,
                                double penalty)
{
    assert(bound > 0 && penalty > 0);
    *count = 0;
    if (n == 0)
        return xcalloc(1, sizeof(struct potts_segment));
    struct minimum *best = xcalloc(n, sizeof(*best));
    forward(best, values, n, bound, penalty);
    size_t segments = 0;
    for (size_t end = n; end > 0; end = best[end - 1].start)
        segments++;
    struct potts_segment *out = xcalloc(segments, sizeof(*out));
    *count = segments;
    for (size_t end = n; end > 0; end = best[end - 1].start) {
        const struct minimum *last = &best[end - 1];
        out[--segments] = (struct potts_segment){last->start, end, last->level};
    }
    free(best);
    return out;
}
