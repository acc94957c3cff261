// SPDX-License-Identifier: Apache-2.0
//
// A checked-out pull request's policy switches no sandbox off, is given no variables, and trusts no
// library, and brings no cache and no results: its commands may be run before anyone has read it.
// Label: unsanitized
#include "ci/settings/policy.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

// Says in its log what it was given, and builds nothing.
static const char hostile[] =
    "[build]\n\tinput = kernels\n\tcommand = \"echo \\\"given: $PLUMB_TEST_TOKEN.\\\"; exit 1\"\n"
    "\tsandbox = off\n\tpass = PLUMB_TEST_TOKEN\n[device \"host\"]\n\tkind = host\n"
    "[problems \"p\"]\n\tproblem = 8x8x8:fp32\n[kernel \"*\"]\n\tproblems = p\n";

static int set_up(void **state)
{
    helper_repo_create(&repo);
    setenv("PLUMB_TEST_TOKEN", "secret", 1);
    char *path = xprintf("%s/ci/plumb.cfg", repo.directory);
    char *folder = xprintf("mkdir -p '%s/ci'", repo.directory);
    const int status = system(folder);
    helper_write_text(path, hostile);
    free(folder);
    free(path);
    return status;
}

AROUND_ALL(set_up, NULL);

static void list(void)
{
    const char *argv[] = {"list", "kernels", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    assert_int_not_equal(outcome.code, 0);
}

static void add_remote(const char *commit)
{
    helper_remote(repo.directory, commit);
}

static void configure(const char *value)
{
    helper_configure(repo.directory, "plumb.trustCheckout", value);
}

#define COMMIT "git -c user.name=t -c user.email=t@example.org commit -qm x"

static void shell(const char *words)
{
    char *line = xprintf("cd '%s' && %s", repo.directory, words);
    assert_int_equal(system(line), 0);
    free(line);
}

TEST(repository_without_a_remote_is_ones_own)
{
    list();
    assert_non_null(strstr(outcome.output, "given: secret."));
}

TEST(checkout_that_may_be_a_strangers_is_confined)
{
    add_remote(repo.ids[REPO_START]); // which has no policy
    list();
    assert_null(strstr(outcome.output, "secret"));
    assert_non_null(strstr(outcome.output, "is not that of a trusted branch"));
    assert_null(strstr(outcome.output, "switched off"));
}

TEST(policy_of_the_trusted_branch_counts)
{
    char id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"ci/plumb.cfg", hostile, 0};
    helper_repo_commit(id, repo.directory, "trusted", &parent, 1, 99, "policy\n", &file, 1);
    add_remote(id);
    list();
    assert_non_null(strstr(outcome.output, "given: secret."));
    assert_null(strstr(outcome.output, "is not that of"));
    add_remote(repo.ids[REPO_START]);
}

// A change that began before a kernel was built or captured may make it slower unseen.
TEST(what_only_the_newest_policy_builds_is_said_not_to_be_judged)
{
    static const char said[] = "a kernel that only the latter builds or captures is not judged";
    static const char capture[] = "[capture \"c\"]\n\tcommand = sh c.sh\n\tkernel = *\n";
    char *other = xprintf("%s[build]\n\toutput = lib*.so\n", hostile);
    char *captures = xprintf("%s%s", hostile, capture);
    char *stricter = xprintf("%s[gate]\n\tmargin = 1%%\n", hostile);
    const struct {
        const char *policy;
        bool told;
    } cases[] = {{other, true}, {captures, true}, {stricter, false}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char id[OBJECT_ID_TEXT];
        const char *parent = repo.ids[REPO_FASTER];
        const struct helper_file file = {"ci/plumb.cfg", cases[i].policy, 0};
        helper_repo_commit(id, repo.directory, "newest", &parent, 1, 120 + (int)i, "policy\n",
                           &file, 1);
        add_remote(id);
        list();
        if (!strstr(outcome.output, "whichever is stricter") ||
            cases[i].told != (strstr(outcome.output, said) != NULL))
            fail_msg("case %zu: %s", i, outcome.output);
        shell("git branch -q -D newest");
    }
    add_remote(repo.ids[REPO_START]);
    free(other);
    free(captures);
    free(stricter);
}

// A clone of nothing but a pull request: what its policy says is its own word, whatever commit of
// it one asks.
TEST(clone_that_knows_no_main_branch_judges_nothing)
{
    static const char said[] = "the remote's main branch is not known here";
    char first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    const char *parents[] = {repo.ids[REPO_MERGE], first};
    const struct helper_file files[] = {{"ci/plumb.cfg", hostile, 0}, {"README.md", "hello", 0}};
    helper_repo_commit(first, repo.directory, "alone", parents, 1, 110, "one\n", &files[0], 1);
    helper_repo_commit(second, repo.directory, "alone", &parents[1], 1, 111, "two\n", &files[1], 1);
    char *path = xprintf("%s/ci/plumb.cfg", repo.directory);
    add_remote(first);
    shell("git update-ref -d refs/remotes/origin/main");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "gate", "--head", second);
    plumb_said(&outcome, 4, "git fetch origin +refs/heads/main:refs/remotes/origin/main");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "gate", "--head", second, "--base", first,
                 "--merge-base");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "gate", "--head", second, "--base", first,
                 "--join", "parts.db");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "study", "--base", first, "--head", second);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "run", second);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "run", "--dry-run", "alone~1..alone");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "list", "kernels", second);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "bisect", "--series", "k/8x8x8:fp32", "--good",
                 first, "--bad", second);
    assert_null(strstr(outcome.output, "secret"));
    // Who calls may say which policy counts; and what only reads goes on.
    PLUMB_EXPECT(&outcome, repo.directory, 4, "given: secret.", "gate", "--head", second,
                 "--policy", path);
    PLUMB_EXPECT(&outcome, repo.directory, 0, "", "status");
    shell("git update-ref refs/remotes/origin/trunk alone && "
          "git remote set-head origin trunk"); // of whatever name it is
    list();
    assert_null(strstr(outcome.output, said));
    shell("git symbolic-ref -d refs/remotes/origin/HEAD && "
          "git update-ref -d refs/remotes/origin/trunk");
    free(path);
}

// Whoever may push branches may call one HEAD, or master beside main. A fetch of all branches has
// them.
TEST(name_of_a_branch_makes_it_no_main_branch)
{
    static const char said[] = "the remote's main branch is not known here",
                      confined[] = "is not that of a trusted branch";
    char evil[OBJECT_ID_TEXT];
    const char *parents[] = {repo.ids[REPO_MERGE]};
    const struct helper_file file = {"ci/plumb.cfg", hostile, 0};
    helper_repo_commit(evil, repo.directory, "evil", parents, 1, 112, "evil\n", &file, 1);
    add_remote(repo.ids[REPO_START]); // origin/main, which has no policy
    PLUMB_EXPECT(&outcome, repo.directory, 3, confined, "list", "kernels", "evil");
    shell("git update-ref refs/remotes/origin/HEAD evil");
    PLUMB_EXPECT(&outcome, repo.directory, 3, confined, "list", "kernels", "evil");
    shell("git update-ref -d refs/remotes/origin/HEAD && "
          "git update-ref refs/remotes/origin/master evil");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "list", "kernels", "evil");
    plumb_said(&outcome, 4, "(it has a main and a master)");
    plumb_said(&outcome, 4, "git remote set-head origin main");
    shell("git remote set-head origin main");
    PLUMB_EXPECT(&outcome, repo.directory, 3, confined, "list", "kernels", "evil");
    shell("git symbolic-ref -d refs/remotes/origin/HEAD && "
          "git update-ref -d refs/remotes/origin/main && "
          "git update-ref refs/remotes/origin/HEAD evil && "
          "git update-ref -d refs/remotes/origin/master");
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "list", "kernels", "evil");
    shell("git update-ref -d refs/remotes/origin/HEAD");
}

// Some CI systems fetch by an address, and make no remote.
TEST(what_was_fetched_without_a_remote_is_not_ones_own)
{
    static const char said[] = "the remote's main branch is not known here";
    char *other = helper_directory();
    char *make = xprintf("cd '%s' && git init -q . && git fetch -q '%s' main && "
                         "git checkout -q --detach FETCH_HEAD && mkdir ci && "
                         "cp '%s/ci/plumb.cfg' ci/ && git add ci && " COMMIT,
                         other, repo.directory, repo.directory);
    assert_int_equal(system(make), 0);
    PLUMB_EXPECT(&outcome, other, 4, said, "list", "kernels");
    PLUMB_EXPECT(&outcome, other, 4, said, "gate", "--base", "HEAD");
    free(make);
    free(other);
}

// Neither through a link, nor by a name that is given.
TEST(policy_that_came_with_a_commit_is_nobodys_word)
{
    shell(
        "git checkout -q -b words && mkdir -p words elsewhere && "
        "printf '[kernel-%s]\\n' precious >elsewhere/plumb.cfg && cp ci/plumb.cfg words/own.cfg && "
        "ln -s ../elsewhere/plumb.cfg words/link.cfg && git add -f words && " COMMIT);
    add_remote(repo.ids[REPO_START]);
    PLUMB_EXPECT(&outcome, repo.directory, 4, "words/own.cfg: came with the commit", "list",
                 "kernels", "--policy", "words/own.cfg");
    PLUMB_EXPECT(&outcome, repo.directory, 4, "words/own.cfg: came with the commit", "gate",
                 "--base", "HEAD", "--policy=words/own.cfg");
    PLUMB_EXPECT(&outcome, repo.directory, 3, "given: secret.", "list", "kernels", "--policy",
                 "ci/plumb.cfg"); // which no commit has
    shell("mv ci here-before && ln -s elsewhere ci && git add -f ci && " COMMIT);
    PLUMB_EXPECT(&outcome, repo.directory, 4, "a link that came with", "list", "kernels");
    assert_null(strstr(outcome.output, "precious"));
    shell("git checkout -q -f main && git branch -q -D words && rm -rf ci && mv here-before ci");
}

TEST(user_may_say_that_a_checkout_is_theirs)
{
    add_remote(repo.ids[REPO_START]);
    configure("true");
    list();
    assert_non_null(strstr(outcome.output, "given: secret."));
    configure("false");
    list();
    assert_null(strstr(outcome.output, "secret"));
}

// A pull request of two commits brings the policy in its first, which is the base of its second.
TEST(base_that_nobody_accepted_is_confined)
{
    char first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    const char *parents[] = {repo.ids[REPO_MERGE], first};
    const struct helper_file files[] = {{"ci/plumb.cfg", hostile, 0}, {"README.md", "hello", 0}};
    helper_repo_commit(first, repo.directory, "pull", parents, 1, 100, "one\n", &files[0], 1);
    helper_repo_commit(second, repo.directory, "pull", &parents[1], 1, 101, "two\n", &files[1], 1);
    const char *implied[] = {"gate", "--head", second, "--cache", "c", "--store", "s.db", NULL};
    const char *named[] = {"gate",    "--head", second,    "--base", first,
                           "--cache", "c",      "--store", "s.db",   NULL};
    const char *const *const ways[] = {implied, named};
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        add_remote(repo.ids[REPO_MERGE]);
        plumb_run(&outcome, repo.directory, ways[i], 0);
        assert_int_not_equal(outcome.code, 0);
        assert_non_null(strstr(outcome.output, "is not of origin/main"));
        assert_null(strstr(outcome.output, "switched off"));
        assert_null(strstr(outcome.output, "secret"));
        add_remote(second); // now somebody has accepted it
        plumb_run(&outcome, repo.directory, ways[i], 0);
        assert_null(strstr(outcome.output, "is not of origin/main"));
        assert_non_null(strstr(outcome.output, "given: secret."));
    }
    add_remote(repo.ids[REPO_START]);
}

// The name of a tag begins where it likes; git finds it by a short name that looks whole.
TEST(tag_is_no_branch_of_a_remote)
{
    char id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"ci/plumb.cfg", hostile, 0};
    helper_repo_commit(id, repo.directory, "tagged", &parent, 1, 103, "policy\n", &file, 1);
    add_remote(repo.ids[REPO_START]);
    shell("git tag refs/remotes/upstream/HEAD tagged");
    list();
    assert_null(strstr(outcome.output, "secret"));
    assert_non_null(strstr(outcome.output, "is not that of a trusted branch"));
    shell("git tag -d refs/remotes/upstream/HEAD >/dev/null");
}

TEST(base_that_a_tag_is_called_too_ends_a_gate)
{
    const char *gate[] = {"gate", "--base", "main", "--merge-base", NULL};
    const char *range[] = {"run", "main..docs", NULL};
    shell("git tag main docs");
    plumb_run(&outcome, repo.directory, gate, 0);
    plumb_said(&outcome, 4, "type the whole name, for instance refs/heads/main");
    plumb_run(&outcome, repo.directory, range, 0);
    plumb_said(&outcome, 4, "type the whole name, for instance refs/heads/main");
    shell("git tag -d main >/dev/null");
}

// Whether git's index or the commit itself has it, as files or as a link to somewhere else.
TEST(what_plumb_keeps_cannot_come_from_a_commit)
{
    static const char *const ways[] = {
        "mkdir .plumb && echo x >.plumb/store.db && git add -f .plumb",
        "mkdir -p .plumb/cache && echo x >.plumb/cache/y && git add -f .plumb && " COMMIT,
        "ln -s kernels .plumb && git add -f .plumb && " COMMIT};
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        char *make = xprintf("cd '%s' && rm -rf .plumb && %s", repo.directory, ways[i]);
        assert_int_equal(system(make), 0);
        free(make);
        add_remote(repo.ids[REPO_START]);
        list();
        plumb_said(&outcome, 4, "/.plumb: came with the commit that is checked out");
        const char *events[] = {"events", NULL};
        plumb_run(&outcome, repo.directory, events, 0);
        plumb_said(&outcome, 4, "/.plumb: came with the commit that is checked out");
        const char *elsewhere[] = {"list",    "kernels",  "--cache", "other",
                                   "--store", "other.db", NULL};
        plumb_run(&outcome, repo.directory, elsewhere, 0);
        assert_null(strstr(outcome.output, "came with"));
    }
}

// A link may lead to files that are somebody's, and a store or cache may say anything.
TEST(nothing_is_written_through_links_or_believed_that_came_with_a_commit)
{
    static const struct {
        const char *argv[4], *said;
    } ways[] = {
        {{"gate"}, "plumb-report: came with the commit"},
        {{"gate", "--out", "here/victim"}, "here: came with the commit"},
        {{"gate", "--out", "plumb-report/a/b/"}, "plumb-report: came with the commit"},
        {{"run", "--out", "./victim/../here"}, "here: came with the commit"},
        {{"export", "--output", "o.jsonl", "--store=other.db"}, "o.jsonl: a link that came with"},
        {{"gate", "--out", "report"}, "report: came with the commit"},
        {{"run", "--out", "report/"}, "report: came with the commit"},
        {{"site", "--store=other.db", "--out=report"}, "report: came with the commit"},
        {{"events", "--store", "s.db"}, "s.db: came with the commit"},
        {{"events", "--store", "here/victim/new.db"}, "here: came with the commit"},
        {{"list", "kernels", "--store=new.db", "--cache=here/x"}, "here: came with the commit"}};
    char *make =
        xprintf("cd '%s' && rm -rf plumb-report s.db* && mkdir victim && "
                "ln -s victim plumb-report && ln -s . here && ln -s victim/kept o.jsonl && "
                "echo x >s.db && echo precious >victim/kept && "
                "mkdir -p report && ln -sfn ../victim report/series && "
                "git add -f plumb-report here o.jsonl s.db report && " COMMIT,
                repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
    add_remote(repo.ids[REPO_START]);
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        const char *const *from = ways[i].argv;
        const char *argv[] = {from[0], from[1], from[2], from[3], NULL};
        plumb_run(&outcome, repo.directory, argv, 0);
        plumb_said(&outcome, 4, ways[i].said);
    }
    make = xprintf("cd '%s/victim' && [ \"$(ls)\" = kept ] && [ \"$(cat kept)\" = precious ]",
                   repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
}

TEST(capture_writes_through_no_link_of_a_commit)
{
    need_capture();
    char *place = xprintf("%s/captured", repo.directory);
    shell("mkdir -p captured/ci outside && ln -s ../../outside/kept captured/ci/plumb.cfg && "
          "ln -s ../outside captured/records && echo precious >outside/kept && "
          "git add -f captured && " COMMIT);
    add_remote(repo.ids[REPO_START]);
    PLUMB_EXPECT(&outcome, place, 4, "records: came with the commit", "capture", "--sandbox",
                 "auto", "-k", "x", "-o", "records", "--", "true");
    PLUMB_EXPECT(&outcome, place, 4, "ci/plumb.cfg: a link that came with", "capture", "--sandbox",
                 "auto", "--write", "--", "true");
    shell("[ \"$(ls outside)\" = kept ] && [ \"$(cat outside/kept)\" = precious ]");
    free(place);
}

// Its configuration would be the commit's: plumb.trustCheckout, and no remote.
TEST(repository_in_a_commit_is_none)
{
    char *make = xprintf(
        "cd '%s' && git init -q --bare -b main brought && mkdir -p brought/below && "
        "git -C brought config plumb.trustCheckout true && "
        "touch brought/refs/heads/.k brought/refs/tags/.k && git add -f brought && " COMMIT " && "
        "git init -q --bare -b main mine.git",
        repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
    const char *inside[] = {"list", "kernels", "-C", "brought", NULL};
    const char *below[] = {"list", "kernels", "-C", "brought/below", NULL};
    const char *mine[] = {"list", "kernels", "-C", "mine.git", NULL};
    add_remote(repo.ids[REPO_START]);
    plumb_run(&outcome, repo.directory, inside, 0);
    plumb_said(&outcome, 4,
               "brought/: a repository that came with the commit of the one around it");
    plumb_run(&outcome, repo.directory, below, 0);
    plumb_said(&outcome, 4,
               "brought/: a repository that came with the commit of the one around it");
    plumb_run(&outcome, repo.directory, mine, 0);
    plumb_said(&outcome, 4, "the repository has no commit yet");
}

static struct policy parsed(const char *trust, const char *sandbox)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("[build]\n\tcommand = x\n\tsandbox = %s\n[device \"g\"]\n\tkind = cuda\n"
                         "[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                         "[kernel \"a*\"]\n\tproblems = p\n\ttrust = %s\n"
                         "[kernel \"lib*\"]\n\tproblems = p\n",
                         sandbox, trust);
    if (policy_parse(&policy, text, strlen(text), "p.cfg", &err))
        fail_msg("%s", err.text);
    free(text);
    return policy;
}

// Whether that changes it.
static bool confine(struct policy *policy, const struct policy *trusted)
{
    bool changed;
    struct error err;
    if (policy_confine(&changed, policy, trusted, &err))
        fail_msg("%s", err.text);
    return changed;
}

TEST(trust_and_sandbox_only_get_stricter)
{
    const struct policy_device device = {.name = "g"};
    struct policy trusted = parsed("device-code", "require"), theirs = parsed("library", "off");
    assert_true(confine(&theirs, &trusted));
    assert_true(policy_rule(&theirs, "ab", &device)->device_code);
    assert_false(policy_rule(&theirs, "lib", &device)->device_code); // as the trusted rule for it
    assert_int_equal(theirs.sandbox, SANDBOX_REQUIRE);
    policy_free(&theirs);
    theirs = parsed("device-code", "require");
    assert_false(confine(&theirs, NULL));
    assert_int_equal(theirs.sandbox, SANDBOX_REQUIRE);
    policy_free(&theirs);
    theirs = parsed("device-code", "auto"); // which lets a stranger's code go without
    assert_true(confine(&theirs, NULL));
    assert_int_equal(theirs.sandbox, SANDBOX_UNSAID);
    policy_free(&theirs);
    policy_free(&trusted);
}

static struct policy with_gate(const char *gate)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("[build]\n\tcommand = x\n[device \"g\"]\n\tkind = cuda\n"
                         "[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                         "[kernel \"a*\"]\n\tproblems = p\n[gate]\n%s",
                         gate);
    if (policy_parse(&policy, text, strlen(text), "p.cfg", &err))
        fail_msg("%s", err.text);
    free(text);
    return policy;
}

// Each key of [gate]: whichever of two policies is the trusted one, what counts is no looser than
// either; the trusted one's alpha and looks count as they are.
TEST(a_gate_only_gets_stricter)
{
    static const char loose[] =
        "\tregime = stream\n\tbeside = none\n\tmargin = 2%\n\talpha = 0.1\n\tmax-pairs = 16\n"
        "\tprocesses = 1\n\tseconds = 1\n\tself-test = 0\n\tundecided = pass\n"
        "\tremoved = allow\n\taccept = head\n\tstatic = auto\n\tstatic-alone = pass\n";
    static const char strict[] =
        "\tregime = isolated\n\tbeside = warm\n\tmargin = 0.5%\n\talpha = 1e-6\n"
        "\tmax-pairs = 512\n\tprocesses = 5\n\tseconds = 900\n\tself-test = 7\n"
        "\tundecided = fail\n\tremoved = fail\n\taccept = base\n\tstatic = off\n"
        "\tstatic-alone = fail\n";
    for (int turn = 0; turn < 2; turn++) {
        struct policy theirs = with_gate(turn ? strict : loose);
        struct policy trusted = with_gate(turn ? loose : strict);
        assert_true(confine(&theirs, &trusted));
        const struct policy_gate *g = &theirs.gate;
        assert_true(g->margin == 0.005 && g->alpha == (turn ? 0.1 : 1e-6));
        assert_int_equal(g->max_pairs, 512);
        assert_int_equal(g->processes, 5);
        assert_int_equal(g->seconds, 900);
        assert_int_equal(g->self_test, 7);
        assert_int_equal(g->regimes, 1u << REGIME_STREAM | 1u << REGIME_ISOLATED);
        assert_int_equal(g->beside, trusted.gate.beside);
        assert_false(g->undecided_passes || g->removed_allowed);
        assert_true(g->accept_base && g->static_off && g->static_fails);
        policy_free(&theirs);
        policy_free(&trusted);
    }
}

static struct policy with_limits(const char *limits)
{
    struct policy policy;
    struct error err;
    char *text = xprintf("[device \"g\"]\n\tkind = cuda\n[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                         "[kernel \"*\"]\n\tproblems = p\n[build]\n\tcommand = x\n%s",
                         limits);
    if (policy_parse(&policy, text, strlen(text), "p.cfg", &err))
        fail_msg("%s", err.text);
    free(text);
    return policy;
}

// A change may go back to a day before they were set.
TEST(limits_of_a_build_and_of_a_kernel_are_those_that_both_allow)
{
    static const char few[] = "\ttimeout = 20\n\tmemory = 64M\n\tdisk = 3M\n"
                              "[measure]\n\ttimeout = 5\n";
    static const char many[] = "\ttimeout = 86400\n\tmemory = 900000G\n\tdisk = 900000G\n"
                               "[measure]\n\ttimeout = 86400\n";
    const char *const texts[][2] = {{few, many}, {many, few}, {few, ""}, {"", few}, {few, few}};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct policy ours = with_limits(texts[i][0]), trusted = with_limits(texts[i][1]);
        const struct policy least = with_limits(few);
        assert_true(confine(&ours, &trusted));
        assert_true(ours.recipe.timeout_s == 20 && ours.timeout_s == 5);
        assert_int_equal(ours.recipe.memory_bytes, least.recipe.memory_bytes);
        assert_int_equal(ours.recipe.disk_bytes, least.recipe.disk_bytes);
        policy_free(&ours);
        policy_free(&trusted);
        struct policy gone = least;
        policy_free(&gone);
    }
    // What neither names is the usual, and not what only one of them would give.
    struct policy ours = with_limits(many), trusted = with_limits("");
    assert_true(confine(&ours, &trusted));
    assert_true(ours.recipe.timeout_s == 600 && ours.timeout_s == 60);
    assert_true(ours.recipe.memory_bytes == 0 && ours.recipe.disk_bytes == 0);
    policy_free(&ours);
    policy_free(&trusted);
}

// Readers of a report follow its links, and a fleet's job is paid by an account.
TEST(a_report_leads_nowhere_that_the_trusted_branch_does_not_name)
{
    static const char own[] = "[report]\n\tcommit-url = https://ours.example/%s\n\tsite-url = "
                              "https://ours.example/\n[fleet]\n\taccount = ours\n";
    static const char strange[] = "[report]\n\tcommit-url = https://strange.example/%s\n\tsite-url"
                                  " = https://strange.example/\n[fleet]\n\taccount = strange\n"
                                  "[measure]\n\tsamples = 100000\n[history]\n\tsearch = 86400\n"
                                  "\tsick = 10\n";
    struct policy theirs = with_limits(strange), trusted = with_limits(own);
    assert_true(confine(&theirs, &trusted));
    assert_string_equal(theirs.commit_url, "https://ours.example/%s");
    assert_string_equal(theirs.site_url, "https://ours.example/");
    assert_string_equal(theirs.fleet.account, "ours");
    assert_int_equal(theirs.samples, trusted.samples);
    assert_int_equal(theirs.search_s, trusted.search_s);
    assert_true(theirs.sick == trusted.sick);
    policy_free(&theirs);
    policy_free(&trusted);
    theirs = with_limits(strange);
    confine(&theirs, NULL);
    assert_null(theirs.commit_url);
    assert_null(theirs.site_url);
    policy_free(&theirs);
}

// What one of two policies leaves to the device's kind is measured beside what the other names.
TEST(regimes_of_both_count_and_each_kind_has_its_own_where_none_is_named)
{
    static const struct {
        const char *kind;
        enum regime regimes[2];
    } kinds[] = {{"cuda", {REGIME_STREAM, REGIME_WARM}}, {"host", {REGIME_COLD, REGIME_WARM}}};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        enum regime found[REGIMES];
        struct policy trusted = parsed("library", "require"), theirs = parsed("library", "require");
        theirs.kernels[0].regimes = 1u << REGIME_WARM;
        assert_true(confine(&theirs, &trusted));
        const struct policy_device device = {.name = "g"};
        const struct policy_kernel *rule = policy_rule(&theirs, "ab", &device);
        assert_int_equal(policy_regimes(found, &theirs, kinds[i].kind, rule, &theirs.sets[0],
                                        &theirs.sets[0].problems[0]),
                         2);
        assert_memory_equal(found, kinds[i].regimes, sizeof(kinds[i].regimes));
        policy_free(&theirs);
        policy_free(&trusted);
    }
}
