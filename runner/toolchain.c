// SPDX-License-Identifier: Apache-2.0
//
// Asks the compilers of this machine for their versions.
#include "runner/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

int toolchain_detect(struct toolchain *out, struct error *err)
{
    static const char *const argv[] = {
        "sh", "-c",
        "for name in cc c++ nvcc; do\n"
        "  PATH=\"$PATH:/usr/local/cuda/bin\"\n"
        "  if command -v $name >/dev/null 2>&1; then echo $name: $($name --version </dev/null)\n"
        "  else echo $name: -; fi\n"
        "done",
        NULL};
    const struct process_plan plan = {.argv = argv, .log_bytes = 8192, .limits = {.wall_s = 60}};
    struct process_result result;
    struct utsname name;
    char *said = NULL;
    int code = process_capture(&result, &said, &plan, err);
    if (code == 0 && (result.end != PROCESS_EXITED || result.code != 0)) {
        char ending[64];
        process_describe(ending, sizeof(ending), &result);
        code = error_set(err, "asking the compilers for their versions: %s", ending);
    }
    uname(&name);
    if (code == 0)
        out->text = xprintf("%smachine: %s\n", said, name.machine);
    free(said);
    return code;
}

void toolchain_free(struct toolchain *toolchain)
{
    free(toolchain->text);
    toolchain->text = NULL;
}
