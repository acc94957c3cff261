// SPDX-License-Identifier: Apache-2.0
//
// Rows of a command's answer as JSON, each on a line of its own.
#include "ci/commands/answer.h"

#include <stdio.h>

void answer_begin(struct answer *answer, const char *rows)
{
    *answer = (struct answer){.in_row = false};
    answer->json.out = &answer->text;
    json_begin(&answer->json, NULL, '{');
    json_begin(&answer->json, rows, '[');
}

struct answer *answer_if(struct answer *answer, bool json, const char *rows)
{
    if (!json)
        return NULL;
    answer_begin(answer, rows);
    return answer;
}

struct json *answer_row(struct answer *answer)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    json_name(&answer->json, NULL);
    buffer_puts(&answer->text, "\n{");
    answer->json.comma = false;
    answer->in_row = true;
    answer->rows++;
    return &answer->json;
}

void answer_document(struct answer *answer, const char *json)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    json_name(&answer->json, NULL);
    buffer_printf(&answer->text, "\n%s", json);
    answer->in_row = false;
    answer->rows++;
}

struct json *answer_whole(struct answer *answer)
{
    if (answer->in_row)
        json_end(&answer->json, '}');
    if (!answer->whole)
        json_end(&answer->json, ']');
    answer->in_row = false;
    answer->whole = true;
    return &answer->json;
}

void answer_end(struct answer *answer)
{
    json_end(answer_whole(answer), '}');
    json_newline(&answer->json);
    fwrite(answer->text.bytes, 1, answer->text.length, stdout);
    buffer_free(&answer->text);
}

int answer_leave(struct answer *answer, int status)
{
    if (!answer)
        return status;
    if (status == 0 || answer->rows)
        answer_end(answer);
    else
        buffer_free(&answer->text);
    return status;
}
