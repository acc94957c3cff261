// SPDX-License-Identifier: Apache-2.0
//
// The simulator's events as a Chrome trace and as an SVG timeline. Pure text into a sink.
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
    const struct sink *sink;
    double offset, unit_us;
    int64_t wave;
};

static void draw_trace(void *context, const struct event *event)
{
    const struct trace *t = context;
    sink_printf(t->sink,
                ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.9g,\"dur\":%.9g,"
                "\"args\":{\"wave\":%lld,\"stage\":%lld}}",
                event->name, event->thread, (t->offset + event->start) * t->unit_us,
                event->duration * t->unit_us, (long long)t->wave, (long long)event->stage);
}

void pipeline_write_trace(const struct sink *sink, const struct pipeline *p,
                          const struct pipeline_events *events, double launch, int64_t waves,
                          double unit_us)
{
    static const char *const names[] = {"launch", "DMA warp 1", "DMA warp 2", "MATH warp"};
    sink_text(sink, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (int i = 0; i < 4; i++) {
        if (i == 2 && p->dma_warps != 2)
            continue;
        sink_printf(sink,
                    "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
                    "\"args\":{\"name\":\"%s\"}}",
                    i ? ",\n" : "", i, names[i]);
    }
    sink_printf(sink,
                ",\n{\"name\":\"launch\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":0,\"dur\":%.9g}",
                launch * unit_us);
    for (int64_t w = 0; w < waves; w++) {
        struct trace t = {sink, launch + (double)w * events->time.wave, unit_us, w + 1};
        each_event(p, events, &t, draw_trace);
    }
    sink_text(sink, "\n]}\n");
}

enum { LEFT = 60, WIDTH = 900, ROW = 34, TOP = 24 };

struct drawing {
    const struct sink *sink;
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
    sink_printf(d->sink,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
                "stroke=\"#fff\" stroke-width=\"0.5\"><title>%s %lld: %g to %g</title></rect>\n",
                x, y, width, ROW - 8, colours[kind], event->name, (long long)event->stage,
                event->start, event->start + event->duration);
    if (width > 24 && event->stage)
        sink_printf(d->sink, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%lld</text>\n",
                    x + width / 2, y + 17, (long long)event->stage);
}

void pipeline_write_svg(const struct sink *sink, const struct pipeline *p,
                        const struct pipeline_events *events, const char *unit)
{
    double wave = events->time.wave > 0 ? events->time.wave : 1;
    struct drawing d = {sink, WIDTH / wave, p->dma_warps};
    int height = TOP + (p->dma_warps + 1) * ROW + 28;
    sink_printf(sink,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n<title>one wave: ",
                LEFT + WIDTH + 12, height);
    sink_printf(sink, "%g ", events->time.wave);
    sink_xml_text(sink, unit);
    sink_printf(sink, ", MATH waits %g</title>\n", events->time.wait);
    for (int row = 0; row <= p->dma_warps; row++)
        sink_printf(sink, "<text x=\"4\" y=\"%d\">%s</text>\n", TOP + row * ROW + 17,
                    row == p->dma_warps ? "MATH"
                    : p->dma_warps == 1 ? "DMA"
                    : row == 0          ? "DMA A"
                                        : "DMA B");
    each_event(p, events, &d, draw_svg);
    for (int tick = 0; tick <= 10; tick++) {
        double x = LEFT + WIDTH * tick / 10.0;
        sink_printf(sink, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g%s</text>\n", x,
                    height - 8, wave * tick / 10, "");
    }
    sink_printf(sink, "<text x=\"4\" y=\"%d\">", height - 8);
    sink_xml_text(sink, unit);
    sink_text(sink, "</text>\n</svg>\n");
}
