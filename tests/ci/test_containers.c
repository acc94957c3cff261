// SPDX-License-Identifier: Apache-2.0
//
// A toolchain in a container, with a stand-in for its runner (an image is a folder): builds see the
// image's compiler and nothing of this machine, and what cannot be is refused in a line.
// Label: unsanitized
#include "baselines/store.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320], image[320];

// What the image has: a shell, a few tools with what they are linked with, and a cc that gives out
// libraries which this machine's cc made before, without optimisation.
static const char make_image[] =
    "set -e; cd '%s'; mkdir -p image/usr/bin image/opt image/etc image/usr/include/sys bin; "
    ": >image/usr/include/sys/cdefs.h; ln -s usr/bin image/bin\n"
    "put() { mkdir -p \"image$(dirname \"$1\")\"; cp -L \"$1\" \"image$1\"; }\n"
    "for p in sh cp basename sed cat; do f=$(command -v $p); cp -L \"$f\" image/usr/bin/$p\n"
    "  for l in $(ldd \"$f\" | grep -o '/[^ ]*'); do [ -e \"image$l\" ] || put \"$l\"; done; done\n"
    "git worktree list >/dev/null 2>&1 || :\n"
    "git archive %s | { mkdir -p source; tar -x -C source; }\n"
    "for f in source/kernels/*.c; do cc -O0 -std=gnu17 -shared -fPIC -Isource/include"
    " -o image/opt/$(basename $f .c).so $f; done\n"
    "cat >image/usr/bin/cc <<'CC'\n"
    "#!/bin/sh\n"
    "[ \"$1\" != --version ] || { echo 'boxed cc 1'; exit; }\n"
    "while [ \"$1\" != -o ]; do shift; done\n"
    "[ ! -e '%s' ] || exit 3\n"
    "[ -e /usr/include/sys/cdefs.h ] || exit 4\n"
    "exec cp /opt/$(basename \"$2\") \"$2\"\n"
    "CC\n"
    "cat >bin/podman <<'RUNNER'\n"
    "#!/bin/sh\n"
    "echo \"$*\" >>'%s/calls'\n"
    "case \"$1 $2\" in\n"
    "'image inspect') [ \"$5\" = test/cc:1 ] && echo sha256:0123456789abcdef0123456789abcdef || "
    "exit 1 ;;\n"
    "'create --pull=never') echo box ;;\n"
    "'export -o') tar -C '%s/image' -cf \"$3\" . ;;\n"
    "'rm box') ;;\n"
    "*) exit 9 ;;\n"
    "esac\n"
    "RUNNER\n"
    "chmod +x image/usr/bin/cc bin/podman\n";

static int set_up(void **state)
{
    char rest[600];
    const char *d;
    helper_repo_create(&repo);
    d = repo.directory;
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", d);
    snprintf(image, sizeof(image), "%s/image", d);
    // Nobody in the container may see the folder that the image came from.
    char *script = xprintf(make_image, d, repo.ids[REPO_MERGE], image, d, d);
    const int status = system(script);
    free(script);
    snprintf(rest, sizeof(rest),
             "[gate]\n\tseconds = 10\n\tself-test = 0\n[measure]\n\tsamples = 3\n"
             "[toolchain \"boxed\"]\n\tcontainer = test/cc:1\n"
             "[toolchain \"absent\"]\n\tcontainer = test/cc:2\n");
    helper_repo_policy(policy_path, "\tproblem = 32x32x32:fp32\n", rest);
    helper_repo_know_host(&repo, NULL);
    char *path = xprintf("%s/bin:%s", d, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    return status;
}

AROUND_ALL(set_up, NULL);

static void gate(const char *toolchain, const char *sandbox)
{
    const char *argv[] = {"gate",
                          "--head",
                          repo.ids[REPO_MERGE],
                          "--head-toolchain",
                          toolchain,
                          "--policy",
                          policy_path,
                          "--out",
                          "none",
                          "--sandbox",
                          sandbox,
                          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

static size_t calls(const char *what)
{
    size_t count = 0;
    if (!helper_exists(repo.directory, "calls"))
        return 0;
    char *path = xprintf("%s/calls", repo.directory), *text = helper_read(path, NULL);
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    free(text);
    free(path);
    return count;
}

static void needs_sandbox(void)
{
    if (strstr(outcome.output, "bubblewrap does not work here"))
        skip_without("sandbox", outcome.output);
}

TEST(builds_see_the_image_in_place_of_this_machine)
{
    struct store *store;
    struct run run;
    struct error err;
    int64_t id;
    char path[400];
    gate("boxed", "require");
    needs_sandbox();
    assert_int_not_equal(outcome.code, 4); // whatever it says of the time
    snprintf(path, sizeof(path), "%s/.plumb/store.db", repo.directory);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    assert_int_equal(store_last_run(&id, store, RUN_GATE, &err), 0);
    assert_int_equal(store_load_run(&run, store, id, &err), 0);
    assert_string_equal(run.toolchain[ROLE_HEAD], "boxed");
    assert_int_equal(run.count, 2);
    for (size_t i = 0; i < run.count; i++) {
        assert_int_equal(run.results[i].head.state, MEASURED_OK);
        assert_string_not_equal(run.results[i].base_code, run.results[i].head_code);
    }
    run_free(&run);
    store_close(store);
    assert_int_equal(calls("export"), 1);
    assert_int_equal(calls("rm box"), 1);
}

TEST(image_is_unpacked_once)
{
    const size_t before = calls("export");
    gate("boxed", "require");
    needs_sandbox();
    assert_int_equal(calls("export"), before ? before : 1);
    assert_false(helper_exists(repo.directory, ".plumb/cache/containers/0123456789abcdef.tar"));
}

TEST(what_cannot_be_is_refused_in_a_line)
{
    gate("absent", "auto");
    needs_sandbox();
    plumb_said(
        &outcome, 4,
        "[toolchain \"absent\"] container test/cc:2: it is not on this machine; pull it first");
    gate("boxed", "off");
    plumb_said(&outcome, 4, "container = test/cc:1: needs the sandbox, which shows its files");
}
