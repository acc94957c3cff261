// SPDX-License-Identifier: Apache-2.0
//
// The elements of an SVG figure: scales, ticks, axes, lines and text. What a figure shows is in the
// other files of this folder.
#include "reports/charts/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const unsigned char chart_css[];

double scale_at(const struct scale *s, double value)
{
    double share = (value - s->low) / (s->high - s->low);
    return s->from + (s->to - s->from) * share;
}

bool scale_covers(const struct scale *s, double value)
{
    return value >= s->low && value <= s->high;
}

void scale_pad(struct scale *s, double share)
{
    if (!(s->high > s->low)) { // one value, or none at all
        double middle = isfinite(s->low) ? s->low : 0;
        double half = middle != 0 ? fabs(middle) * 0.01 : 0.01;
        s->low = middle - half;
        s->high = middle + half;
    }
    double pad = (s->high - s->low) * share;
    s->low -= pad;
    s->high += pad;
}

size_t svg_ticks(double out[TICKS], double low, double high, size_t most)
{
    static const double steps[] = {1, 2, 5, 10};
    size_t limit = most < TICKS ? most : TICKS, count = 0;
    if (!(high > low) || !isfinite(high - low) || limit < 2)
        return 0;
    double raw = (high - low) / (double)(limit - 1);
    double decade = pow(10, floor(log10(raw)));
    size_t i = 0;
    while (i + 1 < ARRAY_COUNT(steps) && steps[i] * decade < raw)
        i++;
    double step = steps[i] * decade;
    for (double n = ceil(low / step); n * step <= high && count < limit; n++)
        out[count++] = n == 0 ? 0 : n * step;
    return count;
}

// The rules for charts, each var(--name) written as the value that the first set gives it.
static void write_style(struct markup *m)
{
    const char *all = (const char *)chart_css, *at = strstr(all, "/* Charts */"), *var;
    struct buffer style = {0};
    while ((var = strstr(at, "var(--"))) {
        const char *end = strchr(var, ')');
        char name[32];
        snprintf(name, sizeof(name), "%.*s:", (int)(end - var - 4), var + 4);
        const char *value = strstr(all, name);
        buffer_add(&style, at, (size_t)(var - at));
        if (value) {
            value += strlen(name) + 1;
            buffer_add(&style, value, strcspn(value, ";"));
        } else {
            buffer_add(&style, var, (size_t)(end + 1 - var)); // set by a rule of page.css
        }
        at = end + 1;
    }
    buffer_puts(&style, at);
    markup_start(m, "style");
    markup_raw(m, style.bytes);
    markup_end(m);
    buffer_free(&style);
}

void svg_begin(struct markup *m, const char *class, double width, double height, const char *label)
{
    const bool alone = markup_is_xml(m);
    const double title = alone ? 28 : 0; // room above
    markup_open(m, "svg", alone ? NULL : class);
    if (alone)
        markup_attr(m, "xmlns", "http://www.w3.org/2000/svg");
    markup_attrf(m, "viewBox", "0 %g %g %g", 0 - title, width, height + title);
    markup_attrf(m, "width", "%g", width);
    markup_attrf(m, "height", "%g", height + title);
    if (label) {
        markup_attr(m, "role", "img");
        markup_attr(m, "aria-label", label);
    } else {
        markup_attr(m, "aria-hidden", "true");
    }
    if (!alone)
        return;
    write_style(m);
    svg_text(m, "strong", 8, -10, "start", label);
}

void svg_end(struct markup *m)
{
    markup_end(m);
}

void svg_line(struct markup *m, const char *class, double x1, double y1, double x2, double y2)
{
    char data[128];
    snprintf(data, sizeof(data), "M%.1f %.1fL%.1f %.1f", x1, y1, x2, y2);
    svg_path(m, class, data);
}

void svg_rect(struct markup *m, const char *class, double x, double y, double width, double height)
{
    markup_open(m, "rect", class);
    markup_attrf(m, "x", "%.1f", x);
    markup_attrf(m, "y", "%.1f", y);
    markup_attrf(m, "width", "%.1f", width > 0 ? width : 0);
    markup_attrf(m, "height", "%.1f", height > 0 ? height : 0);
    markup_end(m);
}

// A site has millions of these, and "%.1f" takes longer than all else about them.
static size_t put_tenth(char *out, double value)
{
    char figures[24];
    size_t length = 0, used = 0;
    long tenths = lround(fmin(fmax(value, -1e6), 1e6) * 10);
    unsigned long size = tenths < 0 ? 0ul - (unsigned long)tenths : (unsigned long)tenths;
    for (size_t i = 0; i < 2 || size; i++, size /= 10) {
        figures[length++] = (char)('0' + size % 10);
        if (i == 0)
            figures[length++] = '.';
    }
    if (tenths < 0)
        out[used++] = '-';
    while (length)
        out[used++] = figures[--length];
    return used;
}

void svg_step(struct buffer *path, char command, double x, double y)
{
    char text[48];
    size_t length = 0;
    text[length++] = command;
    length += put_tenth(text + length, x);
    text[length++] = ' ';
    length += put_tenth(text + length, y);
    buffer_add(path, text, length);
}

void svg_path(struct markup *m, const char *class, const char *data)
{
    markup_open(m, "path", class);
    markup_attr(m, "d", data);
    markup_end(m);
}

void svg_text(struct markup *m, const char *class, double x, double y, const char *anchor,
              const char *text)
{
    markup_open(m, "text", class);
    markup_attrf(m, "x", "%.1f", x);
    markup_attrf(m, "y", "%.1f", y);
    if (anchor[0] != 's')
        markup_attr(m, "text-anchor", anchor);
    markup_text(m, text);
    markup_end(m);
}

void svg_marker(struct markup *m, const char *class, enum svg_shape shape, double x, double y,
                double r)
{
    char d[160];
    switch (shape) {
    case SHAPE_UP:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - r, r, 1.8 * r, -2 * r);
        break;
    case SHAPE_DOWN:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fh%.1fz", x, y + r, r, -1.8 * r, -2 * r);
        break;
    case SHAPE_DIAMOND:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y - 1.2 * r, 1.2 * r,
                 1.2 * r, -1.2 * r, 1.2 * r, -1.2 * r, -1.2 * r);
        break;
    case SHAPE_CROSS:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f", x - r, y - r, 2 * r, 2 * r,
                 -2 * r, -2 * r, 2 * r);
        break;
    case SHAPE_SQUARE:
        snprintf(d, sizeof(d), "M%.1f %.1fh%.1fv%.1fh%.1fz", x - r, y - r, 2 * r, 2 * r, -2 * r);
        break;
    case SHAPE_DOT:
        snprintf(d, sizeof(d), "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x - r,
                 y, r, r, 2 * r, r, r, -2 * r);
        break;
    }
    svg_path(m, class, d);
}

// Fewest digits that keep neighbouring ticks apart.
static void tick_label(char out[48], double value, double step, const char *unit)
{
    int decimals = step >= 1 || !(step > 0) ? 0 : (int)ceil(-log10(step) - 1e-9);
    const char *sign = value < 0 ? "−" : "";
    snprintf(out, 48, "%s%.*f%s", sign, decimals < 9 ? decimals : 9, fabs(value), unit);
}

void svg_axis(struct markup *m, const struct scale *x, double y, double top, double factor,
              const char *unit)
{
    double ticks[TICKS];
    char label[48];
    size_t most = (size_t)(fabs(x->to - x->from) / 62) + 2;
    size_t count = svg_ticks(ticks, x->low * factor, x->high * factor, most);
    double step = count > 1 ? ticks[1] - ticks[0] : 1;
    for (size_t i = 0; i < count; i++) {
        double at = scale_at(x, ticks[i] / factor);
        svg_line(m, ticks[i] == 0 ? "grid zero" : "grid", at, top, at, y);
        tick_label(label, ticks[i], step, i + 1 == count ? unit : "");
        svg_text(m, "tick", at, y + 14, "middle", label);
    }
    svg_line(m, "axis", x->from, y, x->to, y);
}

void svg_axis_left(struct markup *m, const struct scale *y, double x, double right, double factor,
                   const char *unit)
{
    double ticks[TICKS];
    char label[48];
    size_t most = (size_t)(fabs(y->to - y->from) / 30) + 2;
    size_t count = svg_ticks(ticks, y->low * factor, y->high * factor, most);
    double step = count > 1 ? ticks[1] - ticks[0] : 1;
    for (size_t i = 0; i < count; i++) {
        double at = scale_at(y, ticks[i] / factor);
        svg_line(m, ticks[i] == 0 ? "grid zero" : "grid", x, at, right, at);
        tick_label(label, ticks[i], step, i + 1 == count ? unit : "");
        svg_text(m, "tick", x - 5, at + 4, "end", label);
    }
}
