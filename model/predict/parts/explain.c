// SPDX-License-Identifier: Apache-2.0
//
// A prediction's parts as lines for people. It computes no part of its own.
#include "model/predict/parts/explain.h"

#include "model/predict/parts/ws_persistent.h"

#include <string.h>

static void line(const struct sink *sink, const char *label, double value)
{
    sink_text(sink, label);
    sink_number(sink, value);
    sink_text(sink, "\n");
}

static void head(const struct sink *sink, const struct predict_input *in, double predicted_us,
                 double measured_us)
{
    const struct problem *p = in->problem;
    const struct traits *t = in->traits;
    sink_printf(sink, "MNK %lld %lld %lld\n", (long long)p->m, (long long)p->n, (long long)p->k);
    if (t->tile_m)
        sink_printf(sink, "CTA (%d %d)\n", t->tile_m, t->tile_n);
    if (t->cluster_m)
        sink_printf(sink, "CLUSTER (%d %d)\n", t->cluster_m, t->cluster_n);
    if (measured_us > 0)
        line(sink, "RATIO: ", predicted_us / measured_us);
    line(sink, "    predicted: ", predicted_us);
    if (measured_us > 0)
        line(sink, "    actual: ", measured_us);
}

static void wave(const struct sink *sink, const struct ws_wave *w)
{
    line(sink, "        DMA: ", w->dma_ns / 1e3);
    line(sink, "        MATH: ", w->math_ns / 1e3);
    line(sink, "        EPILOG: ", w->epilogue_ns / 1e3);
}

static void explain_ws_persistent(const struct sink *sink, const struct predict_input *in)
{
    struct ws_breakdown b;
    if (ws_persistent(&b, in))
        return;
    const struct ws_wave *first = b.full_waves ? &b.full : &b.last;
    sink_text(sink, "PROLOGUE\n");
    line(sink, "    Overhead: ", b.overhead_ns / 1e3);
    line(sink, "    DMA: ", b.first_dma_ns / 1e3);
    sink_text(sink, "MAINLOOP\n");
    sink_printf(sink, "    Limiter: %s\n", ws_limiter_name(first->limiter));
    wave(sink, first);
    sink_text(sink, "    Last Wave\n");
    wave(sink, &b.last);
    sink_printf(sink, "    Waves: %lld x %lld blocks", (long long)b.full_waves,
                (long long)b.full.blocks);
    if (b.partial)
        sink_printf(sink, " + 1 x %lld", (long long)b.last.blocks);
    sink_text(sink, "\n");
}

static void explain_parts(const struct sink *sink, const struct prediction *p)
{
    sink_printf(sink, "BOUND %s\nCLOCK %.0f MHz, time goes as clock^%.3f\n", bound_name(p->bound),
                p->clock_hz / 1e6, p->clock_exponent);
    if (p->band > 0)
        sink_printf(sink, "BAND +-%.1f %% (one sigma)\n", 100 * p->band);
    sink_text(sink, "PARTS\n");
    for (size_t i = 0; i < p->part_count; i++)
        sink_printf(sink, "    %-16s %12.4f us %6.1f %%\n", p->parts[i].name,
                    p->parts[i].time_ns / 1e3, 100 * p->parts[i].time_ns / p->time_ns);
}

void explain_prediction(const struct sink *sink, const struct model *model,
                        const struct predict_input *in, const struct prediction *p,
                        double measured_us)
{
    sink_printf(sink, "MODEL %s %s on %s\n", model->name, model->version, in->gpu->name);
    if (!p->feasible) {
        const struct problem *q = in->problem;
        sink_printf(sink, "MNK %lld %lld %lld\n    infeasible: %s\n\n", (long long)q->m,
                    (long long)q->n, (long long)q->k, p->why);
        return;
    }
    head(sink, in, p->time_ns / 1e3, measured_us);
    if (strcmp(model->name, "ws-persistent") == 0)
        explain_ws_persistent(sink, in);
    else
        explain_parts(sink, p);
    sink_text(sink, "\n");
}
