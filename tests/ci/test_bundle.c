// SPDX-License-Identifier: Apache-2.0
//
// ci/bundle: what travels to another machine, and that kernels built there are loaded with that
// machine's libraries.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static char *folder; // holds the bundle, in bundle/

static int shell(const char *script)
{
    char *command = xprintf("cd '%s' && exec >said 2>&1; %s", folder, script);
    int status = system(command);
    free(command);
    return status;
}

static char *said(void)
{
    char *path = xprintf("%s/said", folder), *text = helper_read(path, NULL);
    free(path);
    return text;
}

static void ran(const char *script)
{
    if (shell(script))
        fail_msg("%s: %s", script, said());
}

static int set_up(void **state)
{
    folder = helper_directory();
    return shell("PLUMB_BUILD_DIR='" TEST_BIN "/..' sh '" TEST_SOURCE
                 "/ci/bundle' \"$PWD/bundle\"");
}

AROUND_ALL(set_up, NULL);

TEST(it_runs_and_finds_what_it_carries)
{
    ran("bundle/bin/plumb list models");
    ran("ldd bundle/bin/plumb");
    char *text = said();
    char *own = xprintf("%s/bundle/lib/libgit2", folder);
    char *way = xprintf("bundle/bin/../lib/libgit2");
    if (!strstr(text, own) && !strstr(text, way))
        fail_msg("libgit2 is not the bundle's: %s", text);
    free(text);
    free(own);
    free(way);
}

TEST(as_an_archive_it_runs_wherever_it_is_unpacked)
{
    ran("PLUMB_BUILD_DIR='" TEST_BIN "/..' sh '" TEST_SOURCE "/ci/bundle' plumbline.tar.gz");
    ran("mkdir -p elsewhere && tar -C elsewhere -xzf plumbline.tar.gz");
    ran("elsewhere/plumbline/bin/plumb list models && ls elsewhere/plumbline/lib");
    char *text = said();
    assert_non_null(strstr(text, "libgit2"));
    free(text);
}

TEST(the_compilers_libraries_do_not_travel)
{
    ran("ls bundle/lib");
    char *text = said();
    static const char *const machines[] = {"libstdc++", "libgcc_s", "libgomp", "libcuda",
                                           "libcublas", "libc.so",  "libm.so", "ld-linux"};
    for (size_t i = 0; i < ARRAY_COUNT(machines); i++) {
        if (strstr(text, machines[i]))
            fail_msg("the bundle holds %s: %s", machines[i], text);
    }
    assert_non_null(strstr(text, "libgit2"));
    free(text);
}

// What bench has loaded before a kernel's library is what that gets.
TEST(bench_needs_nothing_but_glibc)
{
    ran("ldd bundle/bin/bench | awk '$2 == \"=>\" {print $1}'");
    char *text = said();
    if (!strstr(text, "libasan")) // a sanitizer brings libraries of its own
        for (char *name = strtok(text, "\n"); name; name = strtok(NULL, "\n")) {
            static const char *const glibc[] = {"libc.so.6", "libm.so.6", "libdl.so.2",
                                                "libpthread.so.0", "librt.so.1"};
            bool known = false;
            for (size_t i = 0; i < ARRAY_COUNT(glibc); i++)
                known |= strcmp(name, glibc[i]) == 0;
            if (!known)
                fail_msg("bench needs %s", name);
        }
    free(text);
}

// A kernel's library that needs every library of the bundle, and libstdc++; then the bundle's are
// spoilt, as if each were too old.
TEST(kernels_are_loaded_without_any_of_it)
{
    ran("printf '%s\\n' '#include \"tests/modules/idle.h\"' "
        "'static const struct plumb_kernel k = {.name = \"k\", .supports = idle_supports,' "
        "'.launch = idle_launch}; PLUMB_LIBRARY(\"host\", k)' > k.c && "
        "cc -std=gnu17 -shared -fPIC -I'" TEST_SOURCE "' -o k.so k.c -Wl,--no-as-needed "
        "-Wl,--allow-shlib-undefined bundle/lib/*.so* -l:libstdc++.so.6 -l:libgcc_s.so.1 "
        "-L$(dirname \"$(cc -print-file-name=libgcc_s.so.1)\") "
        "-L$(dirname \"$(cc -print-file-name=libstdc++.so.6)\")");
    ran("for f in bundle/lib/*; do echo spoilt > \"$f\"; done;"
        "echo spoilt > bundle/lib/libstdc++.so.6; bundle/bin/bench list ./k.so");
    char *text = said();
    assert_non_null(strstr(text, "host"));
    free(text);
}
