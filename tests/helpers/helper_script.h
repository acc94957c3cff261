// SPDX-License-Identifier: Apache-2.0
//
// The scripts that record on a GPU (baselines/recorded/h200/*.sh), with stand-ins for what needs
// one: a sweep, a compute-sanitizer, a plumb, a bench and a load that behave, are wrong, differ, or
// are slow as files beside them say.
#ifndef PLUMB_HELPER_SCRIPT_H
#define PLUMB_HELPER_SCRIPT_H

enum { SCRIPT_OUTPUT = 1 << 16 };

// A directory with the stand-ins, and what the script that ran last printed.
extern char *script_folder, script_output[SCRIPT_OUTPUT];

// For cmocka_unit_test_setup_teardown(): the directory, anew for each test.
int script_set_up(void **state);
int script_tear_down(void **state);
// Writes a file of that directory, or one that can be run.
void script_put(const char *name, const char *text);
void script_program(const char *name, const char *text);
// Runs the script with these arguments in it; the test fails at another exit code.
void script_ran(const char *arguments, int code);
// The test fails unless that is part of what was printed, or of the file.
void script_said(const char *part);
void script_file_says(const char *name, const char *part);

#endif
