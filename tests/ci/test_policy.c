// SPDX-License-Identifier: Apache-2.0
//
// The policy: every kind of value, and a refusal with its line for everything else.
#include "ci/settings/policy.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good[] = "[build]\n"
                           "\tinput = kernels\n"
                           "\tinput = include\n"
                           "\tcommand = make\n"
                           "[device \"gpu\"]\n"
                           "\tkind = cuda\n"
                           "\trequired = false\n"
                           "[problems \"small\"]\n"
                           "\tproblem = 64x64x64:fp32\n"
                           "\tproblem = 128x64x32:bf16\n"
                           "[kernel \"gemm-*\"]\n"
                           "\tproblems = small\n"
                           "\tdevice = gpu\n"
                           "\tmargin = 0.5 %\n"
                           "[kernel \"*\"]\n"
                           "\tproblems = small\n"
                           "[gate]\n"
                           "\tmargin = 0.003\n"
                           "\tundecided = pass\n";

static void refused(const char *text, const char *expected)
{
    struct policy policy;
    struct error err = {""};
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), -1);
    if (!strstr(err.text, expected))
        fail_msg("expected '%s' in '%s'", expected, err.text);
    assert_null(strchr(err.text, '\n'));
}

// `good` with one line put in front of the section given.
static void refused_line(const char *section, const char *line, const char *expected)
{
    char *text = xprintf("%s[%s]\n%s\n", good, section, line);
    refused(text, expected);
    free(text);
}

TEST(skipped_kernels_have_no_rule_and_need_no_problems)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("%.*s[kernel \"gemm-slow*\"]\n\tskip = true\n%s",
                         (int)(strstr(good, "[kernel") - good), good, strstr(good, "[kernel"));
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    assert_null(policy_rule(&policy, "gemm-slow-1", &policy.devices[0]));
    assert_true(policy_skips(&policy, "gemm-slow-1"));
    assert_null(policy_kernel_owner(&policy, "gemm-slow-1"));
    assert_non_null(policy_rule(&policy, "gemm-1", &policy.devices[0]));
    assert_false(policy_skips(&policy, "gemm-1"));
    policy_free(&policy);
    free(text);
}

TEST(policy_reads_every_kind_of_value)
{
    struct policy policy;
    struct error err;
    assert_int_equal(policy_parse(&policy, good, strlen(good), "p.cfg", &err), 0);
    assert_int_equal(policy.recipe.input_count, 2);
    assert_string_equal(policy.recipe.inputs[1], "include");
    assert_string_equal(policy.recipe.command, "make");
    assert_int_equal(policy.device_count, 1);
    assert_string_equal(policy.devices[0].kind, "cuda");
    assert_false(policy.devices[0].required);
    assert_int_equal(policy.sets[0].count, 2);
    assert_int_equal(policy.sets[0].problems[1].k, 32);
    assert_true(policy.gate.margin == 0.003);
    assert_true(policy.gate.undecided_passes);
    assert_false(policy.gate.accept_base); // the review of a change is that of its epochs
    assert_null(policy.commit_url);
    policy_free(&policy);
    char *text = xprintf("%s[report]\n\tcommit-url = https://host.example/c/%%s?x=%%20\n", good);
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    assert_string_equal(policy.commit_url, "https://host.example/c/%s?x=%20");
    policy_free(&policy);
    free(text);
    text = xprintf("%s[gate]\n\taccept = base\n", good);
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    assert_true(policy.gate.accept_base);
    policy_free(&policy);
    free(text);
}

TEST(policy_first_matching_section_rules_a_kernel)
{
    struct policy policy;
    struct error err;
    assert_int_equal(policy_parse(&policy, good, strlen(good), "p.cfg", &err), 0);
    const struct policy_device host = {.name = "host", .kind = "host"};
    const struct policy_kernel *rule = policy_rule(&policy, "gemm-tf32", &policy.devices[0]);
    assert_non_null(rule);
    assert_true(policy_gate_for(&policy, rule).margin > 0.00499);
    assert_null(policy_rule(&policy, "gemm-tf32", &host)); // named for the other device only
    rule = policy_rule(&policy, "other", &host);
    assert_non_null(rule);
    assert_true(policy_gate_for(&policy, rule).margin == 0.003);
    policy_free(&policy);
}

TEST(the_nearest_section_says_in_which_regimes_a_problem_is_a_series)
{
    struct policy policy;
    struct error err;
    enum regime regimes[REGIMES];
    char *text = xprintf("%s[gate]\n\tregime = stream\n\tregime = isolated, warm\n"
                         "[problems \"decode\"]\n\tproblem = 1x64x64:bf16\n"
                         "\tproblem = 2x64x64:bf16:dirty\n\tproblem = 4x64x64:bf16:cold\n"
                         "\tregime = activations\n"
                         "[kernel \"decode\"]\n\tproblems = decode\n\tregime = cold\n",
                         good);
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    const struct policy_set *small = &policy.sets[0], *decode = &policy.sets[1];
    const struct policy_kernel *any = &policy.kernels[1], *own = &policy.kernels[2];
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", any, small, &small->problems[0]), 3);
    assert_int_equal(regimes[0], REGIME_STREAM);
    assert_int_equal(regimes[1], REGIME_ISOLATED);
    assert_int_equal(regimes[2], REGIME_WARM);
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", any, decode, &decode->problems[0]),
                     1);
    assert_int_equal(regimes[0], REGIME_ACTIVATIONS);
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", any, decode, &decode->problems[1]),
                     1);
    assert_int_equal(regimes[0], REGIME_DIRTY);
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", any, decode, &decode->problems[2]),
                     1);
    assert_int_equal(regimes[0], REGIME_COLD);
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", own, decode, &decode->problems[0]),
                     1);
    assert_int_equal(regimes[0], REGIME_COLD);
    policy_free(&policy);
    free(text);
    assert_int_equal(policy_parse(&policy, good, strlen(good), "p.cfg", &err), 0);
    const struct problem *plain = &policy.sets[0].problems[0];
    any = &policy.kernels[0];
    assert_int_equal(policy_regimes(regimes, &policy, "cuda", any, NULL, plain), 1);
    assert_int_equal(regimes[0], REGIME_STREAM);
    assert_int_equal(policy_regimes(regimes, &policy, "host", any, NULL, plain), 1);
    assert_int_equal(regimes[0], REGIME_COLD);
    assert_int_equal(regime_usual("host"), REGIME_COLD);
    policy_free(&policy);
    refused_line("gate", "regime = hot", "p.cfg:21: gate.regime = hot: is stream, isolated");
    refused_line("kernel \"gemm-*\"", "regime =", "names no regime");
}

TEST(what_changed_is_looked_at_in_the_regimes_that_are_named)
{
    static const struct {
        const char *words;
        uint32_t bits;
    } cases[] = {{"", 0},
                 {"\tbeside = stream, dirty\n\tbeside = cold\n",
                  1u << REGIME_STREAM | 1u << REGIME_DIRTY | 1u << REGIME_COLD},
                 {"\tbeside = none\n", POLICY_NO_LOOKS}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct policy policy;
        char *text = xprintf("%s[gate]\n%s", good, cases[i].words);
        struct error err;
        if (policy_parse(&policy, text, strlen(text), "p.cfg", &err))
            fail_msg("%s", err.text);
        assert_int_equal(policy.gate.beside, cases[i].bits);
        policy_free(&policy);
        free(text);
    }
}

TEST(policy_unknown_keys_are_errors_with_their_line)
{
    refused("[build]\n\tcommand = make\n\tcomand = make\n", "p.cfg:3: unknown key comand");
    refused("[build]\n\tcommand = make\n[gates]\n\tx = 1\n", "p.cfg:3: unknown section [gates]");
}

TEST(toolchains_are_settings_and_a_prefix)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("%s[toolchain \"cuda-12.8\"]\n\tset = NVCC_APPEND_FLAGS=-maxrregcount=64\n"
                         "\tset = CC=clang\n\tprefix = /usr/local/cuda-12.8\n",
                         good);
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    const struct policy_toolchain *t = policy_toolchain_find(&policy, "cuda-12.8");
    assert_non_null(t);
    assert_int_equal(t->setting_count, 2);
    assert_string_equal(t->settings[0], "NVCC_APPEND_FLAGS=-maxrregcount=64");
    assert_string_equal(t->prefix, "/usr/local/cuda-12.8");
    assert_null(policy_toolchain_find(&policy, "cuda-13.0"));
    policy_free(&policy);
    free(text);
    refused_line("toolchain \"a\"", "set = CC", "needs VARIABLE=VALUE");
    refused_line("toolchain \"a\"", "set = 1CC=x", "needs VARIABLE=VALUE");
    refused_line("toolchain \"a\"", "set = PATH=/home/someone/bin", "is set by plumb");
    refused_line("toolchain \"a\"", "set = PLUMB_OUT=/", "is set by plumb");
    refused_line("toolchain \"a\"", "prefix = tools", "an absolute folder");
    refused_line("toolchain \"a\"", "prefix = /usr/../home", "without ..");
    refused_line("toolchain \"default\"", "set = CC=cc", "that is what [build] alone is called");
    refused_line("toolchain \"a b\"", "set = CC=cc", "letters, digits and ._+-");
    refused_line("toolchain", "set = CC=cc", "needs a name");
}

TEST(policy_bad_values_name_line_and_range)
{
    refused_line("gate", "alpha = 2", "p.cfg:21: gate.alpha = 2");
    refused_line("gate", "processes = 0", "whole number from 1 to 8");
    refused_line("gate", "seconds = soon", "gate.seconds = soon");
    refused_line("gate", "removed = maybe", "is either fail or allow");
    refused_line("measure", "samples = 1e9", "measure.samples");
    refused_line("measure", "seed = -1", "0 or more");
    refused_line("build", "sandbox = perhaps", "auto, require or off");
    refused_line("report", "commit-url = javascript:alert(1)", "https:// or http://");
    refused_line("report", "commit-url = https://", "https:// or http://");
    refused_line("report", "commit-url = https:///x", "https:// or http://");
    refused_line("report", "commit-url = https://a/(b", "no address has");
    refused_line("report", "site-url = \"https://a/ b\"", "no address has");
    refused_line("report", "commit-url = https://a/%s/%s", "more than one %s");
    refused_line("build", "memory = 5", "build.memory");
    refused_line("problems \"x\"", "problem = 0x1x1", "each dimension must be");
    refused_line("problems \"x\"", "problem = 1x1x1:fp31", "unknown element type");
    refused_line("kernel \"x\"", "margin = nan%", "kernel.margin");
    refused_line("kernel \"y\"", "margin = 0.3",
                 "margin = 0.3: is 0.3 % or 30 %; write 0.3% or 30%");
    refused_line("kernel \"x\"", "margin = 1", "is 1 % or 100 %; write 1% or 100%");
    refused_line("fleet", "tasks = 0", "whole number from 1 to 100000");
    refused_line("fleet", "gres = \"gpu:1 --uid=0\"", "a word as sbatch takes it");
    refused_line("fleet", "partition = -x", "a word as sbatch takes it");
    refused_line("fleet", "nodes = 4", "unknown key nodes in [fleet]");
    refused_line("device", "kind = host", "[device] needs a name");
    refused_line("device \"x\"", "kind = tpu", "is either host or cuda");
}

// A capture is a rule of its own name, before those with patterns, and needs no build.
TEST(a_capture_is_a_rule_and_a_problem)
{
    static const char text[] =
        "[device \"gpu\"]\n\tkind = cuda\n[problems \"p\"]\n\tproblem = 1x1x1:fp32\n"
        "[kernel \"*\"]\n\tproblems = p\n[capture \"softmax\"]\n\tcommand = python3 bench.py\n"
        "\tkernel = softmax_*\n\tlaunch = 3\n\tproblem = rows=2048,cols=1000:bf16\n"
        "\ttolerance = 0.1%\n\tmargin = 0.5%\n[capture \"layer\"]\n\tcommand = ./x\n\trange = l*\n"
        "\ttolerance = type\n";
    static const struct policy_device gpu = {.name = "gpu", .kind = "cuda"};
    struct policy policy;
    struct error err;
    if (policy_parse(&policy, text, strlen(text), "p.cfg", &err))
        fail_msg("%s", err.text);
    assert_int_equal(policy.capture_count, 2);
    const struct policy_capture *softmax = &policy.captures[0], *layer = &policy.captures[1];
    assert_int_equal(softmax->launch, 3);
    assert_int_equal(layer->launch, 0);
    assert_true(softmax->tolerance == 0.001 && layer->tolerance < 0);
    assert_string_equal(layer->range, "l*");
    const struct policy_kernel *rule = policy_rule(&policy, "softmax", &gpu);
    assert_string_equal(rule->pattern, "softmax");
    assert_true(rule->device_code);
    assert_true(rule->margin == 0.005);
    assert_true(policy_rule(&policy, "softmax.12", &gpu)->margin == 0.005); // another shape
    assert_string_equal(policy_rule(&policy, "other", &gpu)->pattern, "*");
    const struct policy_set *set = policy_set_find(&policy, "softmax");
    assert_int_equal(set->count, 1);
    assert_int_equal(set->problems[0].out, DTYPE_BF16);
    assert_int_equal(policy_set_find(&policy, "layer")->count, 0); // only a build tells
    policy_free(&policy);
}

TEST(a_capture_says_what_it_lacks)
{
#define GPU "[device \"gpu\"]\n\tkind = cuda\n"
    refused(GPU "[capture \"a\"]\n\tkernel = k\n", "[capture \"a\"]: it has no command");
    refused(GPU "[capture \"a\"]\n\tcommand = x\n", "name its kernel or its range");
    refused(GPU "[capture \"a\"]\n\tcommand = x\n\tkernel = k\n\trange = r\n",
            "name its kernel or its range");
    refused(GPU "[capture \"A/b\"]\n\tcommand = x\n\tkernel = k\n", "its name is of a-z");
    refused(GPU "[capture \"a\"]\n\tcommand = x\n\tkernel = k\n\tproblem = 1x\n",
            "[capture \"a\"]:");
    refused(GPU "[capture \"a\"]\n\tcommand = x\n\tkernel = k\n\tlaunch = 0\n", "p.cfg:6:");
    refused(GPU "[problems \"a\"]\n\tproblem = 1x1x1:fp32\n"
                "[capture \"a\"]\n\tcommand = x\n\tkernel = k\n",
            "a [problems] section has this name");
#undef GPU
}

TEST(policy_a_key_given_twice_is_a_slip)
{
    refused_line("gate", "margin = 1%", "p.cfg:21: gate.margin is given twice, first on line 18");
}

TEST(policy_references_must_exist)
{
    refused("[build]\n\tcommand = make\n", "a GPU's is [device \"gpu\"] with kind = cuda");
    refused_line("kernel \"x\"", "margin = 1%", "p.cfg: [kernel \"x\"] names no problems");
    refused_line("kernel \"x\"", "problems = large",
                 "p.cfg:21: [kernel \"x\"]: there is no [problems \"large\"]");
    refused_line("kernel \"x\"", "problems = small\ndevice = tpu",
                 "p.cfg:22: [kernel \"x\"]: there is no [device \"tpu\"]");
    refused("[device \"host\"]\n", "no build.command");
}

TEST(policy_a_directory_or_missing_file_is_said)
{
    struct policy policy;
    struct error err;
    assert_int_equal(policy_load(&policy, "/", &err), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(policy_load(&policy, "/nonexistent/plumb.cfg", &err), -1);
    assert_non_null(strstr(err.text, "plumb init"));
}

TEST(policy_this_repositorys_own_is_valid)
{
    struct policy policy;
    struct error err = {""};
    if (policy_load(&policy, TEST_SOURCE "/ci/plumb.cfg", &err))
        fail_msg("%s", err.text);
    policy_free(&policy);
    if (policy_load(&policy, TEST_SOURCE "/ci/assets/policy.cfg", &err))
        fail_msg("%s", err.text);
    policy_free(&policy);
}

// Mutations of a valid text must be refused or read, never crash or hang.
TEST(policy_mutated_text_never_crashes)
{
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        for (int change = 0; change < 4; change++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            text[random % (sizeof(good) - 1)] = (char)(random >> 32);
        }
        struct policy policy;
        struct error err;
        if (policy_parse(&policy, text, sizeof(good) - 1, "p.cfg", &err) == 0)
            policy_free(&policy);
    }
}

// What `plumb init --print` shows has every key of the table, in its section.
TEST(template_has_every_key)
{
    static const char awk[] =
        "awk '/^[# ]*\\[/ { line = $0; sub(/^[# ]*\\[/, \"\", line); sub(/[\" \\]].*/, \"\", line);"
        " here = line }"
        " /^\\t(# )?[a-z-]+ = / { line = $0; sub(/^\\t(# )?/, \"\", line); sub(/ = .*/, \"\", "
        "line);"
        " print here, line }' '" TEST_SOURCE "/ci/assets/policy.cfg' | sort -u >has; "
        "{ tr -d '\\n' <'" TEST_SOURCE
        "/ci/settings/policy.c' | grep -oE '\\{\"[a-z]+\", *\"[a-z-]+\", "
        "*OWN_' | sed -E 's/[^a-z-]+/ /g; s/^ //; s/ $//'; "
        "awk '/^#define POLICY_[A-Z]+\\(X\\)/ { here = tolower($2); gsub(/policy_|\\(x\\)/, \"\", "
        "here);"
        " if (here == \"set\") here = \"problems\" }"
        " match($0, /[ (]X\\([^,]+, [a-z_]+, \"[a-z-]+\"/) { line = substr($0, RSTART, RLENGTH - "
        "1);"
        " sub(/.*\"/, \"\", line); print here, line }' '" TEST_SOURCE
        "/ci/settings/policy.h'; } | sort -u >wants; "
        "test $(wc -l <wants) -ge 60 && comm -13 has wants | tee /dev/stderr | { ! grep -q .; }";
    char *folder = helper_directory(), *command = xprintf("cd '%s' && { %s; }", folder, awk);
    assert_int_equal(system(command), 0);
    free(command);
    helper_discard(folder);
    free(folder);
}

// By the file's name, in whichever folder it lies; the first section that names it counts.
TEST(skipped_libraries_are_known_by_their_files_names)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("%s[library \"keep-*.so\"]\n\tskip = false\n[library \"*-test.so\"]\n"
                         "\tskip = true\n",
                         good);
    assert_int_equal(policy_parse(&policy, text, strlen(text), "p.cfg", &err), 0);
    assert_true(policy_skips_library(&policy, "/cache/lib/gemm-test.so"));
    assert_true(policy_skips_library(&policy, "gemm-test.so"));
    assert_false(policy_skips_library(&policy, "/cache/x-test.so/gemm.so"));
    assert_false(policy_skips_library(&policy, "/cache/keep-test.so"));
    policy_free(&policy);
    free(text);
}
