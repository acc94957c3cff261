// SPDX-License-Identifier: Apache-2.0
//
// metrics.csv for spreadsheets and scripts: one row per figure beside time that the policy asks
// for, RFC 4180, UTF-8; an empty field is "not known". Without one there are the heads alone.
#include "model/fields.h"
#include "reports/report.h"
#include "reports/text/clean.h"

#include <stdlib.h>

// Words and numbers hold nothing that a stranger wrote.
static void put_row(struct buffer *out, const struct run *run, const struct metric_result *metric)
{
    buffer_printf(out, "%s,%s", run->base.id, run->head.id);
    for (size_t i = 0; i < metric_fields.count; i++) {
        const struct stored_field *field = &metric_fields.items[i];
        if (field->type != FIELD_TEXT) {
            metric_cell(out, field, metric);
            continue;
        }
        char *text = clean_field(field_text(field, metric));
        buffer_printf(out, ",%s", text);
        free(text);
    }
    buffer_puts(out, "\r\n");
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    (void)context;
    buffer_puts(out, "base_commit,commit");
    for (size_t i = 0; i < metric_fields.count; i++)
        metric_cell(out, &metric_fields.items[i], NULL);
    buffer_puts(out, "\r\n");
    for (size_t i = 0; i < run->metric_count; i++)
        put_row(out, run, &run->metrics[i]);
}

const struct report report_metrics = {
    .name = "metrics",
    .file = "metrics.csv",
    .why = "one row per figure beside time, for spreadsheets and scripts",
    .write = write,
};
