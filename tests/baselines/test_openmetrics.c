// SPDX-License-Identifier: Apache-2.0
//
// What goes out as OpenMetrics is read by somebody else's parser: that of Prometheus's own Python
// client (Debian's python3-prometheus-client). Without it the test says that it is skipped.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Distributions put packages into their own python3, which need not be the first on the PATH.
static const char *const pythons[] = {"/usr/bin/python3", "python3"};
static const char parser[] = "from prometheus_client.openmetrics import parser\n"
                             "import sys, json\n"
                             "text = open(sys.argv[1], newline='', encoding='utf-8').read()\n"
                             "for f in parser.text_string_to_metric_families(text):\n"
                             "    print(f.name, f.type, f.unit, len(f.samples), bool(f."
                             "documentation))\n"
                             "    for s in f.samples:\n"
                             "        print(' ', s.name, float(s.value), json.dumps(s.labels, "
                             "sort_keys=True))\n";

static const char *find_parser(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(pythons); i++) {
        char *command = xprintf("%s -c 'from prometheus_client.openmetrics import parser' "
                                "2>/dev/null",
                                pythons[i]);
        const int code = system(command);
        free(command);
        if (code == 0)
            return pythons[i];
    }
    return NULL;
}

// What the parser makes of the store's export. Caller frees.
static char *parsed(struct open_store *f, const char *python)
{
    struct error err = {""};
    const struct export_filter filter = {0};
    const char *text = scratch_path(&f->arena, f->folder, "export.om"),
               *program = scratch_path(&f->arena, f->folder, "parse.py"),
               *said = scratch_path(&f->arena, f->folder, "said");
    FILE *file = fopen(text, "w");
    assert_non_null(file);
    assert_ok(store_export_openmetrics(f->store, &filter, file, &err), &err);
    assert_int_equal(fclose(file), 0);
    helper_write_text(program, parser);
    char *command = xprintf("%s %s %s >%s", python, program, text, said);
    assert_int_equal(system(command), 0);
    free(command);
    return helper_read(said, NULL);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(an_export_is_read_by_prometheus_own_parser)
{
    struct open_store *f = *state;
    struct error err = {""};
    static const char table[] =
        "commit,kernel,problem,time_ns,commit_s,clock_hz,device,device_name\n"
        "aaaaaaa,k,1x1x1,5,100,,\"a\"\"\\b\",\"G{P}U, of\ntwo lines = \xc3\xa4\"\n"
        "bbbbbbb,k,1x1x1,7,200,1.5e9,\"a\"\"\\b\",\n"
        "bbbbbbb,other.kernel,2x3x4:bf16,1e9,200,,d,\n";
    static const char *const wanted[] = {
        "plumb_time_seconds gauge seconds 2 True\n",
        ("  plumb_time_seconds 7e-09 {\"device\": \"a\\\"\\\\b\", \"device_name\": \"G{P}U, "
         "of\\ntwo lines = \\u00e4\""),
        "  plumb_time_seconds 1.0 {\"device\": \"d\", ",
        "\"kernel\": \"other.kernel\", \"problem\": \"2x3x4:bf16-bf16:tn\"}\n",
        "plumb_predicted_time_seconds gauge seconds 0 True\n",
        " 1500000000.0 {",
        "plumb_commit info  2 True\n",
        "  plumb_commit_info 1.0 {\"commit\": \"bbbbbbb\", ",
    };
    const char *python = find_parser();
    if (!python) {
        skip_without("prometheus", "no parser of OpenMetrics here (python3-prometheus-client)");
    }
    char *said = parsed(f, python);
    assert_non_null(strstr(said, "plumb_commit info  0 True\n"));
    free(said);
    assert_ok(import_text(f->store, table, strlen(table), "csv", NULL, &err), &err);
    said = parsed(f, python);
    for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
        if (!strstr(said, wanted[i]))
            fail_msg("not in what the parser read: %s\n%s", wanted[i], said);
    }
    free(said);
}
