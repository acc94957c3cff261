// SPDX-License-Identifier: Apache-2.0
//
// Reads workflows by their lines: no YAML, only the form that the files here have.
#include "tests/helpers/helper_workflow.h"

#include "model/base.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static void add_text(char *out, const char *text)
{
    size_t used = strlen(out);
    assert_true(used + strlen(text) < WORKFLOW_SCRIPT);
    memcpy(out + used, text, strlen(text) + 1);
}

// `- run: SCRIPT`, `run: SCRIPT`, or `run: |` and the deeper lines after it.
void workflow_read(struct workflow *out, const char *name)
{
    char line[WORKFLOW_LINE], *path = xprintf("%s/.github/workflows/%s", TEST_SOURCE, name);
    FILE *file = fopen(path, "r");
    size_t block = 0; // indent of a `run: |` whose lines follow
    free(path);
    memset(out, 0, sizeof(*out));
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        size_t indent = indent_of(line), length = strcspn(line, "\n");
        line[length] = '\0';
        out->bad_lines += strchr(line, '\t') || (length && line[length - 1] == ' ');
        if (block && (length == 0 || indent > block)) {
            add_text(out->runs[out->run_count - 1], line + (length ? indent : 0));
            add_text(out->runs[out->run_count - 1], "\n");
            continue;
        }
        block = 0;
        out->bad_lines += indent % 2;
        const char *text = line + indent;
        if (strncmp(text, "- ", 2) == 0) {
            text += 2;
            indent += 2;
        }
        if (strncmp(text, "uses: ", 6) == 0) {
            assert_true(out->use_count < WORKFLOW_STEPS);
            snprintf(out->uses[out->use_count++], WORKFLOW_LINE, "%s", text + 6);
        }
        if (strncmp(text, "run: ", 5) != 0)
            continue;
        assert_true(out->run_count < WORKFLOW_STEPS);
        if (strcmp(text + 5, "|") == 0)
            block = indent;
        else
            add_text(out->runs[out->run_count], text + 5);
        out->run_count++;
    }
    fclose(file);
}

bool workflow_grep(const char *pattern, const char *files)
{
    char *command =
        xprintf("cd '%s/.github/workflows' && grep -HnE '%s' %s", TEST_SOURCE, pattern, files);
    int status = system(command);
    free(command);
    assert_true(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

void workflow_steps(const struct workflow *flow, const char *const *begins, size_t count)
{
    assert_int_equal(flow->bad_lines, 0);
    assert_int_equal(flow->run_count, count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(flow->runs[i], begins[i], strlen(begins[i])) != 0)
            fail_msg("step %zu is \"%s\"", i, flow->runs[i]);
    }
}
