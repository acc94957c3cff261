// SPDX-License-Identifier: Apache-2.0
//
// `cmake --install`: what is below the prefix works from there, and its pages and completions say
// what the program says.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static char *folder; // holds the prefix, in it/

static int shell(const char *script)
{
    char *command = xprintf("cd '%s' && exec >said 2>&1; %s", folder, script);
    int status = system(command);
    free(command);
    return status;
}

// Runs it, and returns what it said. Caller frees.
static char *ran(const char *script)
{
    char *path = xprintf("%s/said", folder);
    const int status = shell(script);
    char *said = helper_read(path, NULL);
    if (status)
        fail_msg("%s: %s", script, said);
    free(path);
    return said;
}

static void says(const char *script, const char *part)
{
    char *said = ran(script);
    if (!strstr(said, part))
        fail_msg("%s: no '%s' in: %s", script, part, said);
    free(said);
}

static int set_up(void **state)
{
    folder = helper_directory();
    return shell("DESTDIR= cmake --install '" TEST_BIN "/..' --prefix \"$PWD/it\"");
}

AROUND_ALL(set_up, NULL);

TEST(installed_program_finds_its_bench_and_says_what_it_is)
{
    static const char *const lines[] = {"plumb ", "\ncommit ", "\nCUDA ", "\nlibgit2 ",
                                        "\nSQLite  3."};
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        says("it/bin/plumb --version", lines[i]);
    says("it/bin/plumb list models", "sol");
    // Another program of that name beside it is not ours.
    free(ran("printf '#!/bin/sh\\nexit 1\\n' >it/bin/bench && chmod +x it/bin/bench"));
    says("git init -q repo && cd repo && ../it/bin/plumb init --form host >/dev/null && git add . "
         "&& git -c user.name=n -c user.email=e commit -qm one && ../it/bin/plumb list kernels",
         "example_gemm");
}

// Z3 is large and only a second opinion: the program is not linked with it.
TEST(z3_is_a_part_that_may_be_missing)
{
    static const char ask[] = "it/bin/plumb optimise --machine machine 512x512x512";
    free(ran("printf '[machine]\\nlaunch = 1680\\nload-startup = 100\\nload-block = 40\\n"
             "math-startup = 20\\nmath-block = 40\\nepilogue-startup = 900\\n"
             "epilogue-block = 20\\nsmem-blocks = 96\\nsms = 84\\ndepth = 4\\n' >machine"));
    char *needed = ran("ldd it/bin/plumb");
    assert_null(strstr(needed, "libz3"));
    free(needed);
#ifdef PLUMB_HAVE_Z3
    says(ask, "there is nothing better");
#endif
    free(ran("rm -f it/libexec/plumbline/plumb_z3.so"));
    says(ask, "  Z3: not asked, it is not installed");
}

TEST(header_is_found_by_pkg_config)
{
    if (system("command -v pkg-config >/dev/null")) {
        skip_without("pkg-config", "there is no pkg-config");
    }
    says("export PKG_CONFIG_PATH=\"$PWD/it/share/pkgconfig\" && echo '#include <plumb_kernel.h>' "
         ">a.c && cc -fsyntax-only $(pkg-config --cflags plumbline) a.c && echo compiles",
         "compiles");
}

// Each option of each command's own help.
TEST(man_pages_have_every_option)
{
    says("for c in $(it/bin/plumb --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p'); do\n"
         "  it/bin/plumb $c --help | grep -oE -- '--[a-z][a-z-]+' | grep -vE '^--(usage|no)$' |\n"
         "    sort -u >options\n"
         "  zcat -f it/share/man/man1/plumb-$c.1* | sed 's/\\\\-/-/g' >page\n"
         "  while read -r o; do grep -q -e \"$o\" page || echo \"$c lacks $o\"; done <options\n"
         "done >lacking; cat lacking; [ -s options ] && [ ! -s lacking ] && echo complete",
         "complete");
}

TEST(man_pages_are_without_warnings)
{
    if (system("command -v man >/dev/null && command -v groff >/dev/null")) {
        skip_without("man", "there is no man, or no groff");
    }
    char *said = ran("LC_ALL=C.UTF-8 MANWIDTH=80 man -l --warnings it/share/man/man1/plumb*.1* "
                     "2>&1 >/dev/null");
    assert_string_equal(said, "");
    free(said);
}

TEST(bash_completes_commands_options_and_words)
{
    static const struct {
        const char *line, *reply;
    } rows[] = {
        {"plumb ga", "gate"},
        {"plumb gate --form", "--format"},
        {"plumb list ker", "kernels"},
        {"plumb help bis", "bisect"},
        {"plumb store pr", "prune"},
        {"plumb gate --policy ", ""},
        {"plumb run --steps ", ""},
        {"plumb gate --sandbox re", "require"},
        {"plumb gate --sandbox ", "auto require off"},
        {"plumb init --form ho", "host host-numbers"},
        {"plumb init --form = cuda-t", "cuda-tn"},
        {"plumb gate --sandbox =", "auto require off"},
        {"plumb list kernels --format ", "table json"},
        {"plumb gate --base ", "HEAD main v1"},
        {"plumb bisect --good v", "v1"},
        {"plumb run ma", "main"},
    };
    if (system("command -v bash >/dev/null")) {
        skip_without("bash", "there is no bash");
    }
    if (system("command -v git >/dev/null")) {
        skip_without("git", "there is no git, whose branches would be offered");
    }
    // A branch whose name a shell would run is not offered.
    says("git init -q other && cd other && git symbolic-ref HEAD refs/heads/main && git -c "
         "user.name=T -c user.email=t@t commit -q "
         "--allow-empty -m one && git tag v1 && git branch 'x$(touch${IFS}ran)' && echo made",
         "made");
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        char *script = xprintf(
            "cd other && bash -c '. ../it/share/bash-completion/completions/plumb; line=\"%s\"; "
            "read -ra COMP_WORDS <<<\"$line\"; [ \"${line%% }\" = \"$line\" ] || "
            "COMP_WORDS+=(\"\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _plumb; "
            "echo \"[${COMPREPLY[*]}]\"'",
            rows[i].line);
        char *reply = xprintf("[%s]\n", rows[i].reply);
        says(script, reply);
        free(reply);
        free(script);
    }
}

TEST(no_branch_is_run)
{
    assert_false(helper_exists(folder, "other/ran"));
}

TEST(other_shells_read_theirs)
{
    says("if command -v zsh >/dev/null; then zsh -n it/share/zsh/vendor-completions/_plumb; fi && "
         "if command -v fish >/dev/null; then fish -n "
         "it/share/fish/vendor_completions.d/plumb.fish; fi && echo read",
         "read");
    says("cat it/share/fish/vendor_completions.d/plumb.fish",
         "-l base -x -a '(__plumb_revisions)' -d 'Baseline");
    says("cat it/share/zsh/vendor-completions/_plumb", "'--base=[Baseline \\[");
}
