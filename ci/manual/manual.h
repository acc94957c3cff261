// SPDX-License-Identifier: Apache-2.0
//
// What the program's tables of commands and options are written as: man pages and completions.
#ifndef PLUMB_MANUAL_H
#define PLUMB_MANUAL_H

#include "ci/command.h"
#include "model/buffer.h"

struct command_list {
    const struct command *const *items;
    size_t count;
};

// plumb(1).
void man_program(struct buffer *out, const struct command_list *commands);
// plumb-NAME(1).
void man_command(struct buffer *out, const struct command *command);

// Scripts that a shell reads to complete `plumb` command lines.
void complete_bash(struct buffer *out, const struct command_list *commands);
void complete_zsh(struct buffer *out, const struct command_list *commands);
void complete_fish(struct buffer *out, const struct command_list *commands);

#endif
