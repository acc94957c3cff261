// SPDX-License-Identifier: Apache-2.0
//
// Completion of command lines for bash, zsh and fish: commands, their options, and the words that a
// command knows. What an option's value is a file or folder, the shell completes as such.
#include "ci/manual/manual.h"

#include <ctype.h>
#include <string.h>

// The fixed words of a command: "kernels [REV] | models" knows kernels and models.
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

// `text` with a backslash before each of `special`, and an apostrophe as the shell in apostrophes
// wants it.
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
    buffer_puts(out, "'\n        ;;\n");
}

void complete_bash(struct buffer *out, const struct command_list *commands)
{
    buffer_puts(out, "# bash completion for plumb; written by its build.\n"
                     "_plumb() {\n"
                     "    local current=${COMP_WORDS[COMP_CWORD]} "
                     "previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local options='' valued='' words=''\n"
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
                     "    # The shell completes values as files.\n"
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
        buffer_puts(out, ":");
        add_quoted(out, o->value, "[]:\\", apostrophe);
        buffer_puts(out, takes_path(o) ? ":_files" : ": ");
    }
    buffer_puts(out, "'");
}

void complete_zsh(struct buffer *out, const struct command_list *commands)
{
    const struct command_option *o;
    buffer_puts(out, "#compdef plumb\n# Written by plumb's build.\n"
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
        if (words.length)
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
        if (o->value)
            buffer_puts(out, takes_path(o) ? " -r" : " -x");
        buffer_puts(out, " -d '");
        add_quoted(out, o->help, "\\", "\\'");
        buffer_puts(out, "'\n");
    }
    add_words(&words, command);
    if (words.length)
        buffer_printf(out, "complete -c plumb -f -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                      command->name, words.bytes + 1);
    buffer_free(&words);
}

void complete_fish(struct buffer *out, const struct command_list *commands)
{
    buffer_puts(out, "# fish completion for plumb; written by its build.\n");
    for (size_t i = 0; i < commands->count; i++)
        fish_command(out, commands->items[i]);
}
