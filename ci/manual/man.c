// SPDX-License-Identifier: Apache-2.0
//
// Man pages in the macros of man(7), from the texts that --help prints.
#include "ci/manual/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Text as roff prints it. A line break becomes one, and an empty line a paragraph.
static void add_text(struct buffer *out, const char *text, size_t length)
{
    bool line_begins = true;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (c == '\n') {
            const bool empty = i + 1 < length && text[i + 1] == '\n';
            buffer_puts(out, empty ? "\n.PP\n" : "\n.br\n");
            i += empty;
            line_begins = true;
            continue;
        }
        if (line_begins && (c == '.' || c == '\''))
            buffer_puts(out, "\\&");
        if (c == '\\')
            buffer_puts(out, "\\e");
        else if (c == '-')
            buffer_puts(out, "\\-");
        else
            buffer_add(out, &c, 1);
        line_begins = false;
    }
}

static void add_line(struct buffer *out, const char *text)
{
    add_text(out, text, strlen(text));
    buffer_puts(out, "\n");
}

static void begin(struct buffer *out, const char *title, const char *name, const char *summary)
{
    buffer_puts(out, ".\\\" Written by plumbline's build from the program's own texts.\n.TH ");
    for (const char *c = title; *c; c++) {
        const char upper = (char)toupper((unsigned char)*c);
        add_text(out, &upper, 1);
    }
    buffer_puts(out,
                " 1 \"\" \"plumbline " PLUMB_VERSION "\" \"User Commands\"\n.ad l\n.SH NAME\n");
    add_text(out, name, strlen(name));
    buffer_puts(out, " \\- ");
    add_line(out, summary);
}

static void add_exit(struct buffer *out)
{
    buffer_puts(out, ".SH EXIT STATUS\n"
                     "0 no regression, 1 regression, 2 undecided or void, 3 a kernel is broken,\n"
                     "4 the tool could not do its work.\n");
}

static void add_option(struct buffer *out, const struct command_option *o)
{
    buffer_puts(out, ".TP\n");
    if (o->letter)
        buffer_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    buffer_puts(out, "\\fB\\-\\-");
    add_text(out, o->name, strlen(o->name));
    buffer_puts(out, "\\fR");
    if (o->value) {
        buffer_puts(out, "=\\fI");
        add_text(out, o->value, strlen(o->value));
        buffer_puts(out, "\\fR");
    }
    buffer_puts(out, "\n");
    add_line(out, o->help);
}

// One line of usage for each way that the words may stand.
static void add_usage(struct buffer *out, const struct command *command)
{
    const char *words = command->words ? command->words : "";
    do {
        const size_t length = strcspn(words, "\n");
        buffer_printf(out, "\\fBplumb %s\\fR [\\fIOPTION\\fR...] ", command->name);
        add_text(out, words, length);
        buffer_puts(out, "\n.br\n");
        words += length + (words[length] == '\n');
    } while (*words);
}

void man_command(struct buffer *out, const struct command *command)
{
    char name[64];
    const struct command_option *o;
    snprintf(name, sizeof(name), "plumb-%s", command->name);
    begin(out, name, name, command->summary);
    buffer_puts(out, ".SH SYNOPSIS\n");
    add_usage(out, command);
    buffer_puts(out, ".SH DESCRIPTION\n");
    char *doc = command_doc(command);
    const size_t first = strcspn(doc, "\v");
    add_text(out, doc, first);
    buffer_puts(out, "\n");
    if (doc[first]) {
        buffer_puts(out, ".PP\n");
        add_line(out, doc + first + 1);
    }
    free(doc);
    buffer_puts(out, ".SH OPTIONS\n");
    for (size_t i = 0; (o = command_option(command, i)); i++)
        add_option(out, o);
    buffer_puts(out, ".TP\n\\fB\\-\\-help\\fR\nSay all of this\n");
    add_exit(out);
    buffer_puts(out, ".SH SEE ALSO\n.BR plumb (1)\n");
}

void man_program(struct buffer *out, const struct command_list *commands)
{
    begin(out, "plumb", "plumb", "find which kernel got slower, since which commit, and why");
    buffer_puts(out, ".SH SYNOPSIS\n\\fBplumb\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
                     ".SH DESCRIPTION\n"
                     "Holds each GPU kernel's measured time against the time a model says it "
                     "should take,\nand says which kernel got slower, on which shape, since which "
                     "commit, and why.\n.SH COMMANDS\n");
    for (size_t i = 0; i < commands->count; i++) {
        buffer_printf(out, ".TP\n.BR plumb\\-%s (1)\n", commands->items[i]->name);
        add_line(out, commands->items[i]->summary);
    }
    buffer_puts(out,
                ".SH FILES\n.TP\n\\fIci/plumb.cfg\\fR\nThe policy: what is built and "
                "measured, and what counts. plumb init writes it.\n.TP\n\\fI.plumb/\\fR\nStore "
                "and build cache of a repository.\n");
    add_exit(out);
}
