// SPDX-License-Identifier: Apache-2.0
//
// The simulator's events as a Chrome trace and as an SVG timeline. It writes no files.
#include "model/predict/parts/pipeline.h"

#include <math.h>

struct event {
    const char *name, *row;
    int thread;
    double start, duration;
    int64_t stage;
};

// Calls `draw` for every event of a wave, warp by warp.
static void each_event(const struct pipeline *p, const struct pipeline_events *e, void *context,
                       void (*draw)(void *context, const struct event *event))
{
    int b_thread = p->dma_warps == 2 ? 2 : 1;
    for (int64_t i = 0; i < e->stages; i++) {
        const struct event events[] = {
            {"load A", "DMA", 1, e->start_a[i], p->load_a, i + 1},
            {"load B", b_thread == 2 ? "DMA B" : "DMA", b_thread, e->start_b[i], p->load_b, i + 1},
            {"math", "MATH", 3, e->start_math[i], p->math, i + 1},
        };
        for (size_t j = 0; j < ARRAY_COUNT(events); j++)
            draw(context, &events[j]);
    }
    const struct event end = {"epilogue", "MATH", 3, e->epilogue_start, p->epilogue, 0};
    draw(context, &end);
}

struct trace {
    struct buffer *out;
    double offset, unit_us;
    int64_t wave;
};

static void draw_trace(void *context, const struct event *event)
{
    const struct trace *t = context;
    buffer_printf(t->out,
                  ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.9g,\"dur\":%.9g,"
                  "\"args\":{\"wave\":%lld,\"stage\":%lld}}",
                  event->name, event->thread, (t->offset + event->start) * t->unit_us,
                  event->duration * t->unit_us, (long long)t->wave, (long long)event->stage);
}

void pipeline_write_trace(struct buffer *out, const struct pipeline *p,
                          const struct pipeline_events *events, double launch, int64_t waves,
                          double unit_us)
{
    static const char *const names[] = {"launch", "DMA warp 1", "DMA warp 2", "MATH warp"};
    buffer_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (int i = 0; i < 4; i++) {
        if (i == 2 && p->dma_warps != 2)
            continue;
        buffer_printf(out,
                      "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
                      "\"args\":{\"name\":\"%s\"}}",
                      i ? ",\n" : "", i, names[i]);
    }
    buffer_printf(out,
                  ",\n{\"name\":\"launch\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":0,\"dur\":%.9g}",
                  launch * unit_us);
    for (int64_t w = 0; w < waves; w++) {
        struct trace t = {out, launch + (double)w * events->time.wave, unit_us, w + 1};
        each_event(p, events, &t, draw_trace);
    }
    buffer_puts(out, "\n]}\n");
}

enum { LEFT = 60, WIDTH = 900, ROW = 34, TOP = 24 };

struct drawing {
    struct buffer *out;
    double scale; // pixels per time unit
    int dma_warps;
};

static int row_of(const struct drawing *d, const struct event *event)
{
    return event->thread == 3 ? d->dma_warps : event->thread - 1;
}

static void draw_svg(void *context, const struct event *event)
{
    const struct drawing *d = context;
    static const char *const colours[] = {"#4477aa", "#66ccee", "#ee6677", "#bbbbbb"};
    int kind = event->name[0] == 'm'   ? 2
               : event->name[0] == 'e' ? 3
               : event->name[5] == 'A' ? 0
                                       : 1;
    double x = LEFT + event->start * d->scale, width = event->duration * d->scale;
    int y = TOP + row_of(d, event) * ROW;
    buffer_printf(d->out,
                  "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
                  "stroke=\"#fff\" stroke-width=\"0.5\"><title>%s %lld: %g to %g</title></rect>\n",
                  x, y, width, ROW - 8, colours[kind], event->name, (long long)event->stage,
                  event->start, event->start + event->duration);
    if (width > 24 && event->stage)
        buffer_printf(d->out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%lld</text>\n",
                      x + width / 2, y + 17, (long long)event->stage);
}

void pipeline_write_svg(struct buffer *out, const struct pipeline *p,
                        const struct pipeline_events *events, const char *unit)
{
    double wave = events->time.wave > 0 ? events->time.wave : 1;
    struct drawing d = {out, WIDTH / wave, p->dma_warps};
    int height = TOP + (p->dma_warps + 1) * ROW + 28;
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n<title>one wave: ",
                  LEFT + WIDTH + 12, height);
    buffer_printf(out, "%g ", events->time.wave);
    buffer_xml(out, unit);
    buffer_printf(out, ", MATH waits %g</title>\n", events->time.wait);
    for (int row = 0; row <= p->dma_warps; row++)
        buffer_printf(out, "<text x=\"4\" y=\"%d\">%s</text>\n", TOP + row * ROW + 17,
                      row == p->dma_warps ? "MATH"
                      : p->dma_warps == 1 ? "DMA"
                      : row == 0          ? "DMA A"
                                          : "DMA B");
    each_event(p, events, &d, draw_svg);
    for (int tick = 0; tick <= 10; tick++) {
        double x = LEFT + WIDTH * tick / 10.0;
        buffer_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g%s</text>\n", x,
                      height - 8, wave * tick / 10, "");
    }
    buffer_printf(out, "<text x=\"4\" y=\"%d\">", height - 8);
    buffer_xml(out, unit);
    buffer_puts(out, "</text>\n</svg>\n");
}
