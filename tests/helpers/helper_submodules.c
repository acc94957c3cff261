// SPDX-License-Identifier: Apache-2.0
//
// A scene of repositories, written once as the commands that a person would type.
#include "tests/helpers/helper_submodules.h"

#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kernel[] =
    "#include \"kernel.h\"\n"
    "#include \"twice.h\"\n"
    "#include \"vendor/deep/deep.h\"\n"
    "static int supports(const struct plumb_problem *p)\n"
    "{\n"
    "    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->layout == PLUMB_TN &&\n"
    "           p->batch == 1 && p->epilogue == 0;\n"
    "}\n"
    "static int launch(const struct plumb_args *args, void *stream)\n"
    "{\n"
    "    const float *a = args->a, *b = args->b;\n"
    "    float *c = args->c;\n"
    "    int64_t m = args->problem.m, n = args->problem.n, k = args->problem.k;\n"
    "    (void)stream;\n"
    "    for (int again = 0; again < TWICE + DEEP; again++)\n"
    "        for (int64_t i = 0; i < m; i++)\n"
    "            for (int64_t j = 0; j < n; j++) {\n"
    "                float sum = 0;\n"
    "                for (int64_t l = 0; l < k; l++)\n"
    "                    sum += a[i * k + l] * b[j * k + l];\n"
    "                c[i * n + j] = sum;\n"
    "            }\n"
    "    return 0;\n"
    "}\n"
    "static const struct plumb_kernel plain = {\n"
    "    .name = \"plain\", .summary = \"three loops\",\n"
    "    .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .acc_type = PLUMB_FP32},\n"
    "    .supports = supports, .launch = launch,\n"
    "};\n"
    "PLUMB_LIBRARY(\"host\", plain)\n";

static const char scene[] =
    "git init -q -b main deep && echo '#define DEEP 0' >deep/deep.h\n"
    "git -C deep add . && git -C deep commit -q -m deep\n"
    "git init -q -b main other && echo secret >other/private.h\n"
    "git -C other add . && git -C other commit -q -m other\n"
    "git init -q -b main lib && mkdir lib/include\n"
    "echo '#define TWICE 1' >lib/include/twice.h\n"
    "git -C lib submodule --quiet add \"$PWD/deep\" vendor/deep\n"
    "git -C lib add . && git -C lib commit -q -m one\n"
    "git init -q -b main top && mkdir top/kernels top/include\n"
    "cp '" TEST_SOURCE "/kernels/kernel.h' top/include && mv plain.c top/kernels\n"
    "git -C top submodule --quiet add \"$PWD/lib\" third_party/lib\n"
    "git -C top add . && git -C top commit -q -m first\n"
    "echo '#define TWICE 2' >lib/include/twice.h && git -C lib commit -q -a -m two\n"
    "git -C top/third_party/lib pull -q && git -C top commit -q -a -m second\n";

// Nothing of the machine's own configuration takes part.
static char *prepared(const char *directory, const char *folder, const char *words)
{
    return xprintf("set -e; export GIT_CONFIG_GLOBAL='%s/gitconfig' GIT_CONFIG_NOSYSTEM=1 "
                   "GIT_CONFIG_COUNT=0\ncd '%s/%s'\n%s",
                   directory, directory, folder, words);
}

void helper_shell(const char *directory, const char *folder, const char *words)
{
    char *text = prepared(directory, folder, words);
    if (system(text) != 0)
        fail_msg("in %s: %s", folder, words);
    free(text);
}

char *helper_shell_says(const char *directory, const char *folder, const char *words)
{
    char *text = prepared(directory, folder, words), *said = xcalloc(4096, 1);
    FILE *pipe = popen(text, "r");
    assert_non_null(pipe);
    said[fread(said, 1, 4095, pipe)] = '\0';
    if (pclose(pipe) != 0)
        fail_msg("in %s: %s", folder, words);
    said[strcspn(said, "\n")] = '\0';
    free(text);
    return said;
}

char *helper_submodules(void)
{
    char *directory = helper_directory(), *config = xprintf("%s/gitconfig", directory);
    char *source = xprintf("%s/plain.c", directory);
    helper_write_text(config, "[user]\n\tname = T\n\temail = t@example.com\n"
                              "[protocol \"file\"]\n\tallow = always\n"
                              "[advice]\n\tdetachedHead = false\n");
    helper_write_text(source, kernel);
    helper_shell(directory, ".", scene);
    free(source);
    free(config);
    return directory;
}

void helper_submodules_policy(const char *path, const char *rest)
{
    char *text = xprintf("[build]\n%s"
                         "\tcommand = \"cc -O2 -shared -fPIC -Iinclude -Ithird_party/lib/include "
                         "-Ithird_party/lib -o \\\"$PLUMB_OUT/plain.so\\\" kernels/plain.c\"\n"
                         "[device \"host\"]\n\tkind = host\n"
                         "[problems \"small\"]\n\tproblem = 64x64x64:fp32\n"
                         "[kernel \"*\"]\n\tproblems = small\n"
                         "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n",
                         rest);
    helper_write_text(path, text);
    free(text);
}
