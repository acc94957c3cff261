// SPDX-License-Identifier: Apache-2.0
//
// manual DIR: runs during the build, and writes man pages and completions below DIR, in the places
// that they have in /usr/share.

#include "ci/command.h"
#include "model/buffer.h"
#include "reports/report.h"
#include "runner/child/files.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command_list {
    const struct command *const *items;
    size_t count;
};

// ---- completion ----

// Writes completions for bash, zsh and fish: commands, their options, and the words that a command
// takes. Files and folders are completed by the shell.

// Adds a command's fixed words: "kernels [REV] | models" has kernels and models.
static void add_words(struct buffer *out, const struct command *command)
{
    for (const char *at = command->words ? command->words : ""; *at;) {
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
        if (length && islower((unsigned char)*at) && (!at[length] || strchr(" |\n", at[length])))
            buffer_printf(out, " %.*s", (int)length, at);
        at += strcspn(at, "|\n");
        at += strspn(at, "|\n ");
    }
}

static bool takes_path(const struct command_option *o)
{
    static const char *const values[] = {"DIR", "FILE", "PROGRAM"};
    for (size_t i = 0; o->value && i < ARRAY_COUNT(values); i++) {
        if (strstr(o->value, values[i]))
            return true;
    }
    return false;
}

// Adds the values that an option's help lists, as in "auto, require or off", with a blank before
// each.
static void add_choices(struct buffer *out, const struct command_option *o)
{
    static const char *const kinds[] = {"MODE", "FORM", "FORMAT"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    bool few = o->value && strcmp(o->name, "format") == 0;
    for (size_t i = 0; o->value && i < ARRAY_COUNT(kinds); i++)
        few |= strcmp(o->value, kinds[i]) == 0;
    const char *at = strstr(o->help, ": "), *note = strchr(o->help, '[');
    at = at && !(note && note < at) ? at + 2 : o->help;
    for (bool more = few, last = false; more;) {
        const size_t length = strspn(at, letters);
        buffer_printf(out, " %.*s", (int)length, at);
        at += length;
        more = !last && (strncmp(at, ", ", 2) == 0 || strncmp(at, " or ", 4) == 0);
        last = more && *at == ' ';
        at += !more ? 0 : last ? 4 : 2;
    }
}

static bool takes_revision(const char *value)
{
    return value && (strstr(value, "REV") || strstr(value, "RANGE"));
}

// Branches and tags. Anybody may choose their names, so one that a shell would interpret is left
// out.
#define REVISIONS                                                                                  \
    "{ echo HEAD; git for-each-ref --format=\"%(refname:short)\" refs/heads refs/remotes "         \
    "refs/tags; } 2>/dev/null | LC_ALL=C grep -E \"^[A-Za-z0-9][A-Za-z0-9._/@+-]*\\$\""

// Adds `text` with a backslash before each character of `special`, and with apostrophes in the form
// that a shell needs inside apostrophes.
static void add_quoted(struct buffer *out, const char *text, const char *special,
                       const char *apostrophe)
{
    for (; *text; text++) {
        if (*text == '\'') {
            buffer_puts(out, apostrophe);
            continue;
        }
        if (strchr(special, *text))
            buffer_puts(out, "\\");
        buffer_add(out, text, 1);
    }
}

static void add_names(struct buffer *out, const struct command_list *commands)
{
    for (size_t i = 0; i < commands->count; i++)
        buffer_printf(out, "%s ", commands->items[i]->name);
    buffer_puts(out, "help");
}

// ---- bash ----

static void bash_command(struct buffer *out, const struct command *command)
{
    const struct command_option *o;
    buffer_printf(out, "    %s)\n        options='--help", command->name);
    for (size_t i = 0; (o = command_option(command, i)); i++)
        buffer_printf(out, " --%s", o->name);
    buffer_puts(out, "'\n        valued='");
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        if (o->value && o->letter)
            buffer_printf(out, " -%c", o->letter);
        if (o->value)
            buffer_printf(out, " --%s", o->name);
    }
    buffer_puts(out, " '\n        words='");
    add_words(out, command);
    buffer_puts(out, "'\n");
    if (takes_revision(command->words))
        buffer_puts(out, "        words+=\" $(_plumb_revisions)\"\n");
    buffer_puts(out, "        case $previous in\n");
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        struct buffer choices = {0};
        add_choices(&choices, o);
        if (takes_revision(o->value))
            buffer_printf(out, "        --%s) choices=$(_plumb_revisions) ;;\n", o->name);
        else if (choices.length)
            buffer_printf(out, "        --%s) choices='%s' ;;\n", o->name, choices.bytes + 1);
        buffer_free(&choices);
    }
    buffer_puts(out, "        esac\n        ;;\n");
}

static void complete_bash(struct buffer *out, const struct command_list *commands)
{
    buffer_puts(out, "# bash completion for plumb; written by its build.\n"
                     "_plumb_revisions() {\n    " REVISIONS "\n}\n"
                     "_plumb() {\n"
                     "    local current=${COMP_WORDS[COMP_CWORD]} "
                     "previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local options='' valued='' words='' choices=''\n"
                     "    # --form=ho is three words here.\n"
                     "    [ \"$current\" != = ] || current=''\n"
                     "    [ \"${COMP_WORDS[COMP_CWORD]}\" != = ] && [ \"$previous\" != = ] || "
                     "previous=${COMP_WORDS[COMP_CWORD-1-(${#current}>0)]}\n"
                     "    COMPREPLY=()\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && "
                     "[ \"$previous\" = help ]; }; then\n"
                     "        mapfile -t COMPREPLY < <(compgen -W '");
    add_names(out, commands);
    buffer_puts(out, " --help --version' -- \"$current\")\n        return\n    fi\n"
                     "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < commands->count; i++)
        bash_command(out, commands->items[i]);
    buffer_puts(out, "    esac\n"
                     "    if [ -n \"$choices\" ]; then\n"
                     "        mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
                     "        return\n    fi\n"
                     "    # The shell completes other values as files.\n"
                     "    case $valued in *\" $previous \"*) return ;; esac\n"
                     "    case $current in -*) words=$options ;; esac\n"
                     "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                     "}\n"
                     "complete -o default -F _plumb plumb\n");
}

// ---- zsh ----

static void zsh_option(struct buffer *out, const struct command_option *o)
{
    static const char apostrophe[] = "'\\''";
    buffer_puts(out, " \\\n            ");
    if (o->letter)
        buffer_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter,
                      o->value ? "+" : "", o->name, o->value ? "=" : "");
    else
        buffer_printf(out, "'--%s%s[", o->name, o->value ? "=" : "");
    add_quoted(out, o->help, "[]:\\", apostrophe);
    buffer_puts(out, "]");
    if (o->value) {
        struct buffer choices = {0};
        add_choices(&choices, o);
        buffer_puts(out, ":");
        add_quoted(out, o->value, "[]:\\", apostrophe);
        if (choices.length)
            buffer_printf(out, ":(%s)", choices.bytes + 1);
        else
            buffer_puts(out, takes_revision(o->value) ? ":_plumb_revisions"
                             : takes_path(o)          ? ":_files"
                                                      : ": ");
        buffer_free(&choices);
    }
    buffer_puts(out, "'");
}

static void complete_zsh(struct buffer *out, const struct command_list *commands)
{
    const struct command_option *o;
    buffer_puts(out, "#compdef plumb\n# Written by plumb's build.\n"
                     "_plumb_revisions() {\n    compadd -- ${(f)\"$(" REVISIONS ")\"}\n}\n"
                     "_plumb() {\n    local -a commands\n    if (( CURRENT == 2 )); then\n"
                     "        commands=(\n");
    for (size_t i = 0; i < commands->count; i++) {
        buffer_printf(out, "            '%s:", commands->items[i]->name);
        add_quoted(out, commands->items[i]->summary, ":\\", "'\\''");
        buffer_puts(out, "'\n");
    }
    buffer_puts(out, "        )\n        _describe command commands\n        return\n    fi\n"
                     "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                     "    case $command in\n");
    for (size_t i = 0; i < commands->count; i++) {
        struct buffer words = {0};
        add_words(&words, commands->items[i]);
        buffer_printf(out, "    %s)\n        _arguments '--help[Say what it takes]'",
                      commands->items[i]->name);
        for (size_t j = 0; (o = command_option(commands->items[i], j)); j++)
            zsh_option(out, o);
        if (takes_revision(commands->items[i]->words))
            buffer_printf(out, " \\\n            '*:word:{compadd -- %s; _plumb_revisions}'",
                          words.length ? words.bytes + 1 : "HEAD");
        else if (words.length)
            buffer_printf(out, " \\\n            '*:word:(%s)'", words.bytes + 1);
        else
            buffer_puts(out, " \\\n            '*:word:_files'");
        buffer_puts(out, "\n        ;;\n");
        buffer_free(&words);
    }
    buffer_puts(out, "    esac\n}\n_plumb \"$@\"\n");
}

// ---- fish ----

static void fish_command(struct buffer *out, const struct command *command)
{
    const struct command_option *o;
    struct buffer words = {0};
    buffer_printf(out, "complete -c plumb -f -n __fish_use_subcommand -a %s -d '", command->name);
    add_quoted(out, command->summary, "\\", "\\'");
    buffer_puts(out, "'\n");
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        buffer_printf(out, "complete -c plumb -n '__fish_seen_subcommand_from %s' -l %s",
                      command->name, o->name);
        if (o->letter)
            buffer_printf(out, " -s %c", o->letter);
        struct buffer choices = {0};
        add_choices(&choices, o);
        if (o->value)
            buffer_puts(out, takes_path(o) ? " -r" : " -x");
        if (choices.length)
            buffer_printf(out, " -a '%s'", choices.bytes + 1);
        else if (takes_revision(o->value))
            buffer_puts(out, " -a '(__plumb_revisions)'");
        buffer_free(&choices);
        buffer_puts(out, " -d '");
        add_quoted(out, o->help, "\\", "\\'");
        buffer_puts(out, "'\n");
    }
    add_words(&words, command);
    if (words.length)
        buffer_printf(out, "complete -c plumb -f -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                      command->name, words.bytes + 1);
    if (takes_revision(command->words))
        buffer_printf(out,
                      "complete -c plumb -f -n '__fish_seen_subcommand_from %s' -a "
                      "'(__plumb_revisions)'\n",
                      command->name);
    buffer_free(&words);
}

static void complete_fish(struct buffer *out, const struct command_list *commands)
{
    buffer_puts(out, "# fish completion for plumb; written by its build.\n"
                     "function __plumb_revisions\n    begin; echo HEAD; git for-each-ref "
                     "--format='%(refname:short)' refs/heads refs/remotes refs/tags 2>/dev/null; "
                     "end | string match -r '^[A-Za-z0-9][A-Za-z0-9._/@+-]*$'\nend\n");
    for (size_t i = 0; i < commands->count; i++)
        fish_command(out, commands->items[i]);
}

// ---- man pages ----

// Writes man pages in the macros of man(7), from the texts that --help prints.

// Adds text for roff. A line break stays one, and an empty line begins a paragraph.
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

// Adds a line of usage for each form of the words.
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

static void man_command(struct buffer *out, const struct command *command)
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

static void man_program(struct buffer *out, const struct command_list *commands)
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

#define X(name) extern const struct command command_##name;
#include "ci/commands.inc"
#undef X

#define X(name) &command_##name,
static const struct command *const commands[] = {
#include "ci/commands.inc"
};
#undef X

// Writes a file and frees the text.
static int put(const char *share, const char *folder, const char *name, struct buffer *text,
               struct error *err)
{
    char *directory = xprintf("%s/%s", share, folder), *path = xprintf("%s/%s", directory, name);
    int status = files_make_directory(directory, err);
    if (status == 0)
        status = report_replace_file(path, text->bytes, text->length, err);
    free(path);
    free(directory);
    buffer_free(text);
    return status;
}

static int put_man_pages(const char *share, const struct command_list *list, struct error *err)
{
    struct buffer text = {0};
    man_program(&text, list);
    int status = put(share, "man/man1", "plumb.1", &text, err);
    for (size_t i = 0; status == 0 && i < list->count; i++) {
        char *name = xprintf("plumb-%s.1", list->items[i]->name);
        man_command(&text, list->items[i]);
        status = put(share, "man/man1", name, &text, err);
        free(name);
    }
    return status;
}

static int put_completions(const char *share, const struct command_list *list, struct error *err)
{
    static const struct {
        void (*write)(struct buffer *, const struct command_list *);
        const char *folder, *name;
    } shells[] = {{complete_bash, "bash-completion/completions", "plumb"},
                  {complete_zsh, "zsh/vendor-completions", "_plumb"},
                  {complete_fish, "fish/vendor_completions.d", "plumb.fish"}};
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(shells); i++) {
        struct buffer text = {0};
        shells[i].write(&text, list);
        status = put(share, shells[i].folder, shells[i].name, &text, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    const struct command_list list = {commands, ARRAY_COUNT(commands)};
    struct error err;
    if (argc != 2) {
        fputs("usage: manual DIR\n", stderr);
        return CONCLUDE_FAILED;
    }
    if (put_man_pages(argv[1], &list, &err) || put_completions(argv[1], &list, &err)) {
        fprintf(stderr, "manual: %s\n", err.text);
        return CONCLUDE_FAILED;
    }
    return CONCLUDE_OK;
}
