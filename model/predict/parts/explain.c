// SPDX-License-Identifier: Apache-2.0
//
// A prediction's parts as lines for people. It computes no part of its own.
#include "model/predict/parts/explain.h"

#include "model/predict/ws_persistent.h"

#include <math.h>
#include <string.h>

static void line(struct buffer *out, const char *label, double value)
{
    buffer_puts(out, label);
    buffer_number(out, value);
    buffer_puts(out, "\n");
}

static void head(struct buffer *out, const struct predict_input *in, double predicted_us,
                 double measured_us)
{
    const struct problem *p = in->problem;
    const struct traits *t = in->traits;
    buffer_printf(out, "MNK %lld %lld %lld\n", (long long)p->m, (long long)p->n, (long long)p->k);
    if (t->tile_m)
        buffer_printf(out, "CTA (%d %d)\n", t->tile_m, t->tile_n);
    if (t->cluster_m)
        buffer_printf(out, "CLUSTER (%d %d)\n", t->cluster_m, t->cluster_n);
    if (measured_us > 0)
        line(out, "RATIO: ", predicted_us / measured_us);
    line(out, "    predicted: ", predicted_us);
    if (measured_us > 0)
        line(out, "    actual: ", measured_us);
}

static void wave(struct buffer *out, const struct ws_wave *w)
{
    line(out, "        DMA: ", w->dma_ns / 1e3);
    line(out, "        MATH: ", w->math_ns / 1e3);
    line(out, "        EPILOG: ", w->epilogue_ns / 1e3);
}

static void explain_ws_persistent(struct buffer *out, const struct predict_input *in)
{
    struct ws_breakdown b;
    if (ws_persistent(&b, in))
        return;
    const struct ws_wave *first = b.full_waves ? &b.full : &b.last;
    buffer_puts(out, "PROLOGUE\n");
    line(out, "    Overhead: ", b.overhead_ns / 1e3);
    line(out, "    DMA: ", b.first_dma_ns / 1e3);
    buffer_puts(out, "MAINLOOP\n");
    buffer_printf(out, "    Limiter: %s\n", ws_limiter_name(first->limiter));
    wave(out, first);
    buffer_puts(out, "    Last Wave\n");
    wave(out, &b.last);
    buffer_printf(out, "    Waves: %lld x %lld blocks", (long long)b.full_waves,
                  (long long)b.full.blocks);
    if (b.partial)
        buffer_printf(out, " + 1 x %lld", (long long)b.last.blocks);
    buffer_puts(out, "\n");
}

static void explain_parts(struct buffer *out, const struct prediction *p)
{
    buffer_printf(out, "BOUND %s\nCLOCK %.0f MHz, time goes as clock^%.3f\n", bound_name(p->bound),
                  p->clock_hz / 1e6, p->clock_exponent);
    if (p->band > 0)
        buffer_printf(out, "BAND +-%.1f %% (one sigma), +-%.1f %% (95 of 100)\n", 100 * p->band,
                      100 * p->band_95);
    buffer_puts(out, "PARTS\n");
    for (size_t i = 0; i < p->part_count; i++)
        buffer_printf(out, "    %-16s %12.4f us %6.1f %%\n", p->parts[i].name,
                      p->parts[i].time_ns / 1e3, 100 * p->parts[i].time_ns / p->time_ns);
}

static void explain_bias(struct buffer *out, const struct bias *b)
{
    buffer_printf(out, "BIAS fitted to %u measured %s\n", b->rows,
                  plural(b->rows, "time", "times"));
    buffer_printf(out, "    factor %.4f at %.4f us, which goes as time^%+.4f; then %+.4f us\n",
                  exp(b->log_factor), exp(b->centre) / 1e3, b->slope, b->offset_ns / 1e3);
}

void explain_prediction(struct buffer *out, const struct model *model,
                        const struct predict_input *in, const struct prediction *p,
                        const struct bias *bias, double measured_us)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, in->problem);
    buffer_printf(out, "MODEL %s %s on %s\nPROBLEM %s\n", model->name, model->version,
                  in->gpu->name, problem);
    if (!p->feasible) {
        const struct problem *q = in->problem;
        buffer_printf(out, "MNK %lld %lld %lld\n    infeasible: %s\n\n", (long long)q->m,
                      (long long)q->n, (long long)q->k, p->why);
        return;
    }
    head(out, in, p->time_ns / 1e3, measured_us);
    if (bias)
        explain_bias(out, bias);
    if (strcmp(model->name, "ws-persistent") == 0)
        explain_ws_persistent(out, in);
    else
        explain_parts(out, p);
    buffer_puts(out, "\n");
}
