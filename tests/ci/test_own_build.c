// SPDX-License-Identifier: Apache-2.0
//
// What this project's own recipe leaves beside its CUDA modules, by a compiler that stands in for
// nvcc. Whatever lies there is in the code id of every module, so it may hold nothing that differs
// from one build to the next.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Makes the module and its dependencies, and says how long it took, as nvcc does. Refuses arguments
// that name the folder of the sources: a compilers' cache would not serve another clone.
static const char compiler[] = "#!/bin/sh\n"
                               "echo \"ptxas info    : Compile time = $$ ms\" >&2\n"
                               "while [ $# -gt 0 ]; do\n"
                               "    case $1 in\n"
                               "    -o) echo module >\"$2\" ;;\n"
                               "    -MF) echo 'module: cuda/naive_fp32.cu' >\"$2\" ;;\n"
                               "    *" TEST_SOURCE "*) echo \"$1 is elsewhere\"; exit 1 ;;\n"
                               "    esac\n"
                               "    shift\n"
                               "done\n";

TEST(a_module_lies_beside_nothing_but_its_statement_and_no_flag_names_a_clone)
{
    char *folder = helper_directory(), *path = xprintf("%s/nvcc", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(compiler, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    char *command = xprintf("export PLUMB_HAVE=/nowhere && cmake -S " TEST_SOURCE
                            "/kernels/gemm -B '%s/b' -G Ninja -DPLUMB_CUDA=ON "
                            "-DPLUMB_NVCC='%s' -DPLUMB_KERNEL_DIR='%s/out' >'%s/log' 2>&1 && "
                            "cmake --build '%s/b' --target '%s/out/libnaive_fp32.so' >>'%s/log' "
                            "2>&1 || { cat '%s/log'; exit 1; }",
                            folder, path, folder, folder, folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    char *out = xprintf("%s/out", folder);
    size_t modules = 0;
    DIR *entries = opendir(out);
    assert_non_null(entries);
    for (struct dirent *e; (e = readdir(entries));) {
        const size_t length = strlen(e->d_name);
        const bool module = length > 3 && strcmp(e->d_name + length - 3, ".so") == 0;
        const bool statement = length > 7 && strcmp(e->d_name + length - 7, ".inputs") == 0;
        modules += module;
        if (!module && !statement && e->d_name[0] != '.')
            fail_msg("%s lies beside the modules", e->d_name);
    }
    closedir(entries);
    assert_int_equal(modules, 1);
    helper_discard(folder);
    free(folder);
    free(path);
    free(command);
    free(out);
}
