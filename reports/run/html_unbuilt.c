// SPDX-License-Identifier: Apache-2.0
//
// Commits that do not build: what the tools said first, with file and line.
#include "reports/run/html.h"
#include "reports/run/unbuilt.h"

#include <math.h>

static void write_error(struct markup *m, const struct build_error *error)
{
    page_row_begin(m, NULL);
    page_cell(m, "where", "mono wrap", NAN, false);
    if (error->file[0] && error->line)
        markup_textf(m, "%s:%u", error->file, error->line);
    else
        markup_text(m, error->file[0] ? error->file : "-");
    markup_end(m);
    page_cell(m, "error", "mono wrap", NAN, false);
    markup_text(m, error->text);
    markup_end(m);
    markup_end(m);
}

static void write_one(const struct html *html, enum sample_role role)
{
    const struct build_failure *f = &html->run->unbuilt[role];
    struct markup *m = html->m;
    struct buffer sentence = {0};
    unbuilt_sentence(&sentence, html->run, role);
    markup_start(m, "section");
    markup_element(m, "h2", NULL, sentence.bytes);
    markup_open(m, "div", "card");
    if (f->count) {
        static const char *const heads[] = {"Where", "What the build's tools said first"};
        page_table_begin(m, "findings cards", "First errors of the build");
        for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
            page_table_head(m, heads[i], PAGE_SORT_NONE, NULL);
        page_table_body(m);
        for (size_t i = 0; i < f->count; i++)
            write_error(m, &f->errors[i]);
        page_table_end(m);
    }
    if (f->log[0])
        markup_elementf(m, "p", "hint mono wrap", "log: %s", f->log);
    markup_end(m);
    markup_end(m);
    buffer_free(&sentence);
}

void html_unbuilt(const struct html *html)
{
    for (int role = ROLE_HEAD; role >= ROLE_BASE; role--) {
        if (html->run->unbuilt[role].reason)
            write_one(html, (enum sample_role)role);
    }
}
