// SPDX-License-Identifier: Apache-2.0
//
// Every command that has a table answers --format json: one JSON object whose first member has as
// many rows as the table, and no member that `plumb COMMAND --help` does not name.
#include "baselines/fields.h"
#include "ci/command.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define X(name) extern const struct command command_##name;
#include "ci/commands.inc"
#undef X
#define X(name) &command_##name,
static const struct command *const commands[] = {
#include "ci/commands.inc"
};
#undef X

static char *folder;

// Standard output of a script in the folder, and its exit code. Caller frees.
static char *ran(int *code, const char *script)
{
    char *command = xprintf("cd '%s' && exec >said 2>complaints; PATH='" TEST_BIN "':$PATH; %s",
                            folder, script);
    const int status = system(command);
    char *path = xprintf("%s/said", folder), *said = helper_read(path, NULL);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    free(command);
    free(path);
    return said;
}

static void must(const char *script)
{
    int code;
    char *said = ran(&code, script);
    if (code) {
        char *path = xprintf("%s/complaints", folder);
        fail_msg("%s: exit %d: %s%s", script, code, said, helper_read(path, NULL));
    }
    free(said);
}

// A repository of three commits, its store, and what else the commands read. The bench is the one
// whose times are made up: no verdict is waited for.
static int set_up(void **state)
{
    folder = helper_directory();
    must(
        "mkdir -p bin repo/kernels repo/ci a b && cp '" TEST_BIN "/fake_bench' bin/bench && "
        ": >bin/bench.calm && printf '%s\\n' '[build]' '\tinput = kernels' '\tcommand = \"for f in "
        "kernels/*.c; do cc -shared -fPIC -o \\\"$PLUMB_OUT/$(basename $f .c).so\\\" $f || exit 1; "
        "done\"' '[device \"host\"]' '\tkind = host' '[problems \"p\"]' '\tproblem = 4x4x4:fp32' "
        "'\tproblem = 8x8x8:fp32' '[kernel \"*\"]' '\tproblems = p' '[gate]' '\tself-test = 0' "
        ">repo/ci/plumb.cfg");
    must("cd repo && git init -q . && for i in 1 2 3; do for k in good-1 slower-1; do echo \"int v "
         "= $i; const char name[] = \\\"fake library $k\\\";\" >kernels/$k.c; done; git add . && "
         "git -c user.name=n -c user.email=e@example.org "
         "commit -qm \"commit $i\"; done");
    must(
        "for d in a b; do echo \"int v = 1; const char *$d = \\\"$d\\\";\" >k.c && cc -shared "
        "-fPIC "
        "-o $d/good-1.so k.c; done; printf 'm,n,k,in_dtype,kernel,measured_us\\n"
        "4096,4096,4096,bf16,x,200\\n2048,2048,2048,bf16,x,40\\n' >rows.csv; printf '[machine]\\n"
        "launch = 1680\\nload-startup = 100\\nload-block = 40\\nmath-startup = 20\\nmath-block = 40"
        "\\nepilogue-startup = 900\\nepilogue-block = 20\\nsmem-blocks = 96\\nsms = 84\\ndepth = "
        "4\\n' >machine; (echo n,v; for i in 1 2 3 4 5 6 7 8 9; do echo $i,10.0$i; done; for i in "
        "1 "
        "2 3 4 5 6 7 8 9; do echo 1$i,20.0$i; done) >steps.csv");
    must("cd repo; plumb run HEAD~2.. --bench ../bin/bench --sandbox off --quiet; [ $? -lt 4 ]");
    return 0;
}

AROUND_ALL(set_up, NULL);

#define MEASURES " --bench ../bin/bench --sandbox off --quiet"
static const struct {
    const char *command; // in repo/
    const char *row;     // a line of its table; "#...": the line begins with their number
    const char *rows;    // the first member of its JSON
    bool foreign;        // rows whose members come from elsewhere
} cases[] = {
    {"list kernels" MEASURES, "  code ", "kernels", false},
    {"list series" MEASURES, "x[0-9]*:fp32", "series", false},
    {"list models", "^[a-z-]+ +[0-9]+ ", "models", false},
    {"list gpus", "^[a-z0-9-]+  ", "gpus", false},
    {"list gpus h200-sxm", "^[a-z0-9-]+  ", "gpus", false},
    {"list devices" MEASURES, "^host: ", "devices", false},
    {"list reports", "^[a-z]+  ", "reports", false},
    {"status --bench ../bin/bench --sandbox off", "^", "lines", false},
    {"doctor", "^(ok|note|DISTURBS) ", "findings", false},
    {"report --list", "^ *[0-9]+  ", "runs", false},
    {"store info", "^[a-z]+  ", "counts", false},
    {"store check", "^no row", "problems", false},
    {"store merge .plumb/store.db --store ../merged.db", "^[^:]*: 0 runs|^\\.plumb", "files",
     false},
    {"store prune --before 1d --dry-run", "would remove", "removed", false},
    {"history", "#^[0-9]+ series, ", "series", false},
    {"history --csv ../steps.csv --column v", "^ +[0-9]+ ", "changes", false},
    {"events", "^[a-z]+ .*commit", "events", false},
    {"predict --gpu h200-sxm 4096x4096x4096:bf16 64x64x64:bf16", "^[0-9]", "predictions", true},
    {"select --gpu h200-sxm --model hopper --top 3 4096x4096x4096:bf16", "^4096", "choices", false},
    {"accuracy --csv ../rows.csv --model hopper --worst 2", "^(hopper|sol|constant) ?[^ ]*",
     "models", false},
    {"optimise --machine ../machine 512x512x512", "^512", "choices", false},
    {"estimate 1000:20 2000:30 4000:50", " bytes: measured", "transfers", false},
    {"calibrate" MEASURES, "^  [a-z]", "readings", false},
    {"gate" MEASURES, "^timed", "runs", true},
    {"gate --dry-run" MEASURES, "^(identical|known|measure) ", "series", false},
    {"run HEAD --again" MEASURES, "^timed", "runs", true},
    {"run HEAD --dry-run --again" MEASURES, "^(identical|known|measure) ", "series", false},
    {"bisect --good HEAD~2 --series slower-1/4x4x4:fp32" MEASURES, "^  [0-9a-f]{10}  ", "commits",
     false},
    {"study --base ../a --head ../b --rounds 1 --problem 4x4x4:fp32 --bench ../bin/bench",
     "^(aa|[a-z]+) +good-1", "studies", false},
};

static size_t lines_like(const char *text, const char *pattern)
{
    regex_t expression;
    size_t count = 0;
    assert_int_equal(regcomp(&expression, pattern + (pattern[0] == '#'), REG_EXTENDED | REG_NOSUB),
                     0);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        char *one = xprintf("%.*s", (int)length, line);
        if (regexec(&expression, one, 0, NULL, 0) == 0)
            count += pattern[0] == '#' ? strtoul(one, NULL, 10) : 1;
        free(one);
        line += length + (line[length] == '\n');
    }
    regfree(&expression);
    return count;
}

static bool names_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    for (const char *at = text; (at = strstr(at, word)); at++) {
        if ((at == text || !strchr(letters, at[-1])) &&
            (!at[length] || !strchr(letters, at[length])))
            return true;
    }
    return false;
}

static void documented(const struct node *node, const char *help, const char *command, int depth)
{
    for (const struct node *child = node->children; child && depth >= 0; child = child->next) {
        if (child->name && !names_word(help, child->name))
            fail_msg("plumb %s: its --help does not name '%s'", command, child->name);
        documented(child, help, command, depth - 1);
    }
}

TEST(json_has_the_rows_of_the_table_and_members_that_help_names)
{
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct arena arena = {0};
        struct error err;
        const struct node *answer;
        int codes[3];
        char *table = xprintf("cd repo && plumb %s", cases[i].command);
        char *json = xprintf("cd repo && plumb %s --format json", cases[i].command);
        char *help =
            xprintf("plumb %.*s --help", (int)strcspn(cases[i].command, " "), cases[i].command);
        char *texts[] = {ran(&codes[0], table), ran(&codes[1], json), ran(&codes[2], help)};
        if (node_parse(&answer, texts[1], strlen(texts[1]), cases[i].command, &arena, &err))
            fail_msg("exit %d: %s: %s", codes[1], err.text, texts[1]);
        assert_int_equal(answer->type, NODE_OBJECT);
        const struct node *rows = answer->children;
        assert_string_equal(rows->name, cases[i].rows);
        const size_t expected = lines_like(texts[0], cases[i].row);
        // What disturbs the machine, and so doctor's answer, may come and go.
        const bool alike = codes[0] == codes[1] || strcmp(cases[i].command, "doctor") == 0;
        if (!alike || rows->count != expected)
            fail_msg("%s: exit %d and %d, %u rows for the table's %zu:\n%s\n%s", cases[i].command,
                     codes[0], codes[1], rows->count, expected, texts[0], texts[1]);
        documented(answer, texts[2], cases[i].command, cases[i].foreign ? 0 : 8);
        for (size_t k = 0; k < ARRAY_COUNT(texts); k++)
            free(texts[k]);
        free(table);
        free(json);
        free(help);
        arena_free(&arena);
    }
}

// What has no table writes files, or is asked for one that is another tool's.
TEST(commands_without_json_are_known)
{
    static const char *const without[] = {"accept", "asked", "capture", "export", "import",
                                          "init",   "plan",  "record",  "site"};
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        bool tried = false, other = false;
        const char *name = commands[i]->name;
        for (size_t k = 0; k < ARRAY_COUNT(cases); k++)
            tried |= strncmp(cases[k].command, name, strlen(name)) == 0 &&
                     strchr(" ", cases[k].command[strlen(name)]);
        for (size_t k = 0; k < ARRAY_COUNT(without); k++)
            other |= strcmp(without[k], name) == 0;
        if (tried == other || tried != (commands[i]->json != NULL))
            fail_msg("plumb %s: json %s, tried %d", name, commands[i]->json, tried);
    }
}

TEST(other_formats_are_refused_by_name)
{
    int code;
    char *said = ran(&code, "plumb list models --format yaml 2>&1");
    assert_int_equal(code, 4);
    assert_non_null(strstr(said, "--format=yaml: is table or json"));
    free(said);
}
