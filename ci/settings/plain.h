// SPDX-License-Identifier: Apache-2.0
//
// Lines for people, on a terminal or in the log of a CI service, of text that may be a stranger's.
#ifndef PLUMB_PLAIN_H
#define PLUMB_PLAIN_H

// One line without terminal escapes and control bytes (reports/text/clean.h), and without what the
// log readers of GitHub and Azure take for a command: "::" where a line begins, "##" anywhere. They
// could hide words, or end the commands that we give ourselves. The caller frees.
char *plain_line(const char *text) __attribute__((returns_nonnull));

#endif
