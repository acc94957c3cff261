// SPDX-License-Identifier: Apache-2.0
//
// SVG inside a page, or a file of its own: figures that need no script. How they look is in
// assets/chart.css, by class, so one figure serves light, dark and print. Lengths are CSS pixels at
// 1:1.
#ifndef PLUMB_REPORTS_SVG_H
#define PLUMB_REPORTS_SVG_H

#include "reports/text/markup.h"

// A linear map from [low, high] to [from, to]; from > to for an axis that grows upwards.
struct scale {
    double low, high, from, to;
};
double scale_at(const struct scale *scale, double value);
bool scale_covers(const struct scale *scale, double value); // NaN is outside
// Makes [low, high] a little wider than the values it was given, never empty.
void scale_pad(struct scale *scale, double share);

// Round tick values inside [low, high], at most `most` of them; returns how many.
enum { TICKS = 12 };
size_t svg_ticks(double out[TICKS], double low, double high, size_t most);

// `label` is what a screen reader says instead of the picture. In a document of its own
// (MARKUP_XML) it is the picture's title, too, and the style is put in, with the colours of the
// light set.
void svg_begin(struct markup *m, const char *class, double width, double height, const char *label);
void svg_end(struct markup *m);
void svg_line(struct markup *m, const char *class, double x1, double y1, double x2, double y2);
void svg_rect(struct markup *m, const char *class, double x, double y, double width, double height);
void svg_path(struct markup *m, const char *class, const char *data);
// Adds a step of a path, "L12.3 45.6", to what svg_path() draws.
void svg_step(struct buffer *path, char command, double x, double y);
// anchor: "start", "middle" or "end".
void svg_text(struct markup *m, const char *class, double x, double y, const char *anchor,
              const char *text);
// The sign of a verdict, drawn: the shape says what the colour says.
enum svg_shape { SHAPE_UP, SHAPE_DOWN, SHAPE_DOT, SHAPE_DIAMOND, SHAPE_CROSS, SHAPE_SQUARE };
void svg_marker(struct markup *m, const char *class, enum svg_shape shape, double x, double y,
                double radius);

// Horizontal axis at `y` with ticks, grid lines up to `top`, and a caption below. `unit` is put
// behind the first and last figure only. `factor` multiplies the figures that are shown.
void svg_axis(struct markup *m, const struct scale *x, double y, double top, double factor,
              const char *unit);
void svg_axis_left(struct markup *m, const struct scale *y, double x, double right, double factor,
                   const char *unit);

#endif
