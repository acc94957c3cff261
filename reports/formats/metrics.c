// SPDX-License-Identifier: Apache-2.0
//
// metrics.csv for spreadsheets and scripts: one row for each figure beside time that the policy
// asks for, RFC 4180, UTF-8. An empty field means "not known". Without metrics the file has only
// the heads.
#include "model/fields.h"
#include "reports/report.h"
#include "reports/text/clean.h"

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    (void)context;
    struct csv_line line = {.out = out};
    csv_raw(&line, "base_commit,commit");
    metric_csv(&line, NULL, csv_clean);
    csv_end(&line, "\r\n");
    for (size_t i = 0; i < run->metric_count; i++) {
        csv_text(&line, run->base.id);
        csv_text(&line, run->head.id);
        metric_csv(&line, &run->metrics[i], csv_clean);
        csv_end(&line, "\r\n");
    }
}

const struct report report_metrics = {
    .name = "metrics",
    .file = "metrics.csv",
    .why = "one row per figure beside time, for spreadsheets and scripts",
    .write = write,
};
