// SPDX-License-Identifier: Apache-2.0
//
// What a build takes from an earlier one, and from whose.
#include "runner/build/build.h"
#include "tests/helpers/helper_build.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A library is its source and what that includes, so its bytes show what it was made from. The
// recipe says what it made and what it took.
static const char script[] =
    "for source in src/*.c; do\n"
    "  name=$(basename \"$source\" .c)\n"
    "  if [ -e \"$PLUMB_HAVE/$name.so\" ]; then\n"
    "    cp \"$PLUMB_HAVE/$name.so\" \"$PLUMB_HAVE/$name.so.inputs\" \"$PLUMB_OUT/\"\n"
    "    echo \"took-$name\"\n"
    "    continue\n"
    "  fi\n"
    "  headers=$(sed -n 's,^#include ,src/,p' \"$source\")\n"
    "  cat \"$source\" $headers >\"$PLUMB_OUT/$name.so\" || exit 1\n"
    "  printf '%s\\n' src/build.sh \"$source\" $headers 'src/*.h' \"\" "
    ">\"$PLUMB_OUT/$name.so.inputs\"\n"
    "  echo \"made-$name\"\n"
    "done\n";
static const struct helper_file first_files[] = {{"src/build.sh", script, 0},
                                                 {"src/a.c", "#include one.h\na 1\n", 0},
                                                 {"src/b.c", "b 1\n", 0},
                                                 {"src/one.h", "one 1\n", 0}};
static const char *const src_input[] = {"src"};

struct fixture {
    struct helper_builds *builds;
    char first[OBJECT_ID_TEXT];
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    void *builds;
    if (helper_builds_set_up(&builds))
        return -1;
    f->builds = builds;
    f->builds->recipe.inputs = src_input;
    f->builds->recipe.input_count = 1;
    f->builds->recipe.command = "sh src/build.sh";
    const char *parent = f->builds->repo.ids[REPO_START];
    helper_repo_commit(f->first, f->builds->repo.directory, "parts", &parent, 1, 100, "first",
                       first_files, ARRAY_COUNT(first_files));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    void *builds = f->builds;
    free(f);
    return helper_builds_tear_down(&builds);
}

AROUND_ALL(set_up, tear_down);

// A cache of its own for each test.
static void begin(struct fixture *f, const char *name)
{
    f->builds->builder.cache = arena_printf(&f->builds->arena, "%s/%s", f->builds->directory, name);
}

static void child_of(char out[OBJECT_ID_TEXT], struct fixture *f, const char *parent,
                     const char *path, const char *contents)
{
    static int number = 101;
    const struct helper_file file = {path, contents, 0};
    helper_repo_commit(out, f->builds->repo.directory, "parts", &parent, 1, number++, "next", &file,
                       1);
}

static struct build make(struct fixture *f, const char *commit, const char *base)
{
    return helper_build_ok(f->builds, commit, base);
}

static void assert_said(const struct build *build, const char *words)
{
    char *log = xstrdup(build->log);
    for (char *end; (end = strchr(log, '\n'));)
        *end = ' ';
    assert_string_equal(log, words);
    free(log);
}

static void assert_library(const struct build *build, const char *name, const char *contents)
{
    char *path = xprintf("%s/out/%s.so", build->directory, name), text[4096] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    free(path);
    assert_string_equal(text, contents);
}

TEST(touched_source_is_built_and_the_others_are_taken)
{
    struct fixture *f = *state;
    char second[OBJECT_ID_TEXT], third[OBJECT_ID_TEXT];
    begin(f, "touched");
    struct build build = make(f, f->first, NULL);
    assert_said(&build, "made-a made-b ");
    child_of(second, f, f->first, "src/b.c", "b 2\n");
    build = make(f, second, f->first); // as the head of a gate
    assert_said(&build, "took-a made-b ");
    assert_library(&build, "a", "#include one.h\na 1\none 1\n");
    assert_library(&build, "b", "b 2\n");
    build = make(f, second, NULL); // as a run of its own, which trusts no head's build
    assert_false(build.cached);
    assert_said(&build, "took-a made-b ");
    child_of(third, f, second, "src/b.c", "b 3\n"); // what was taken is passed on
    build = make(f, third, NULL);
    assert_said(&build, "took-a made-b ");
    assert_true(make(f, third, f->first).cached); // what is trusted serves heads too
}

TEST(touched_header_builds_what_includes_it)
{
    struct fixture *f = *state;
    char second[OBJECT_ID_TEXT];
    begin(f, "header");
    make(f, f->first, NULL);
    child_of(second, f, f->first, "src/one.h", "one 2\n");
    struct build build = make(f, second, f->first);
    assert_said(&build, "made-a took-b ");
    assert_library(&build, "a", "#include one.h\na 1\none 2\n");
}

TEST(names_that_appear_or_go_count_where_they_match)
{
    struct fixture *f = *state;
    char header[OBJECT_ID_TEXT], source[OBJECT_ID_TEXT], gone[OBJECT_ID_TEXT];
    begin(f, "names");
    make(f, f->first, NULL);
    child_of(header, f, f->first, "src/deep/two.h", "may hide another\n");
    struct build build = make(f, header, f->first);
    assert_said(&build, "made-a made-b ");
    child_of(source, f, f->first, "src/c.c", "c 1\n");
    build = make(f, source, f->first);
    assert_said(&build, "took-a took-b made-c ");
    child_of(gone, f, f->first, "src/b.c", NULL);
    build = make(f, gone, f->first);
    assert_said(&build, "took-a ");
    assert_int_equal(build.library_count, 1);
}

TEST(without_patterns_all_names_count)
{
    struct fixture *f = *state;
    char plain[OBJECT_ID_TEXT], touched[OBJECT_ID_TEXT], added[OBJECT_ID_TEXT];
    begin(f, "all-names");
    // The same script, but for the pattern.
    char *text = xstrdup(script), *pattern = strstr(text, "'src/*.h'");
    memset(pattern, ' ', strlen("'src/*.h'"));
    child_of(plain, f, f->first, "src/build.sh", text);
    make(f, plain, NULL);
    child_of(touched, f, plain, "src/b.c", "b 2\n");
    struct build build = make(f, touched, plain);
    assert_said(&build, "took-a made-b ");
    child_of(added, f, plain, "src/c.c", "c 1\n");
    build = make(f, added, plain);
    assert_said(&build, "made-a made-b made-c ");
    free(text);
}

TEST(other_recipe_or_environment_takes_nothing)
{
    struct fixture *f = *state;
    struct recipe *recipe = &f->builds->recipe, before = *recipe;
    char second[OBJECT_ID_TEXT];
    static const char *const names[] = {"PLUMB_TEST_PARTS"};
    begin(f, "recipe");
    make(f, f->first, NULL);
    child_of(second, f, f->first, "src/b.c", "b 2\n");
    recipe->command = "sh  src/build.sh";
    struct build build = make(f, second, f->first);
    assert_said(&build, "made-a made-b ");
    *recipe = before;
    recipe->environment = names;
    recipe->environment_count = 1;
    build = make(f, second, f->first);
    assert_said(&build, "made-a made-b ");
    *recipe = before;
    struct toolchain other = {.text = (char[]){"cc: another\n"}};
    const struct toolchain *own = f->builds->builder.toolchain;
    f->builds->builder.toolchain = &other;
    build = make(f, second, f->first);
    assert_said(&build, "made-a made-b ");
    f->builds->builder.toolchain = own;
}

// A pull request's first push puts something else into b and says that it is made from b.c alone;
// its second restores the script. What it wrote must be nowhere but in its own first build: not in
// the second push, not in the base, and not in the base that gets the second push's tree.
TEST(lying_statement_of_a_head_reaches_nobody)
{
    struct fixture *f = *state;
    static const char lying[] = "echo '#include one.h\na 1\none 1' >$PLUMB_OUT/a.so\n"
                                "echo evil >$PLUMB_OUT/b.so\n"
                                "echo src/b.c >$PLUMB_OUT/b.so.inputs\n"
                                "echo src/a.c >$PLUMB_OUT/a.so.inputs\n";
    char evil[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT], merged[OBJECT_ID_TEXT],
        later[OBJECT_ID_TEXT];
    begin(f, "lying");
    make(f, f->first, NULL);
    child_of(evil, f, f->first, "src/build.sh", lying);
    struct build build = make(f, evil, f->first);
    assert_library(&build, "b", "evil\n");
    char *mark = xprintf("%s/parts", build.directory);
    assert_int_equal(access(mark, F_OK), -1); // nothing of it is ever offered
    free(mark);
    char both[OBJECT_ID_TEXT];
    child_of(both, f, evil, "src/a.c", "#include one.h\na 2\n");
    child_of(second, f, both, "src/build.sh", script);
    build = make(f, second, f->first);
    assert_said(&build, "made-a took-b ");
    assert_library(&build, "b", "b 1\n");
    child_of(merged, f, f->first, "src/a.c", "#include one.h\na 2\n"); // the same tree, squashed
    build = make(f, merged, NULL);
    assert_false(build.cached);
    assert_said(&build, "made-a took-b ");
    assert_library(&build, "b", "b 1\n");
    child_of(later, f, merged, "src/one.h", "one 2\n");
    build = make(f, later, NULL);
    assert_library(&build, "b", "b 1\n");
}

TEST(odd_statements_make_no_part_and_break_nothing)
{
    struct fixture *f = *state;
    static const char *const statements[] = {
        "ln -s /etc/passwd a.so.inputs",
        "mkfifo a.so.inputs",
        "mkdir a.so.inputs",
        "head -c 2000000 /dev/zero | tr '\\0' x >a.so.inputs",
        "head -c 20 /dev/zero >a.so.inputs",
        "echo ../../etc/passwd >a.so.inputs",
        "echo /etc/passwd >a.so.inputs",
        "echo src/none.c >a.so.inputs",
        ": >a.so.inputs",
        "echo 'src/*' >a.so.inputs",
    };
    for (size_t i = 0; i < ARRAY_COUNT(statements); i++) {
        char odd[OBJECT_ID_TEXT], next[OBJECT_ID_TEXT];
        char *text =
            xprintf("cd \"$PLUMB_OUT\"; ls \"$PLUMB_HAVE\"; echo x >a.so; %s", statements[i]);
        begin(f, "odd");
        child_of(odd, f, f->first, "src/build.sh", text);
        make(f, odd, NULL);
        child_of(next, f, odd, "src/b.c", "b 2\n");
        struct build build = make(f, next, odd);
        assert_said(&build, "");
        free(text);
    }
}

TEST(symbolic_links_among_the_inputs_make_no_parts)
{
    struct fixture *f = *state;
    char linked[OBJECT_ID_TEXT], touched[OBJECT_ID_TEXT];
    const char *parent = f->first;
    begin(f, "links");
    const struct helper_file link = {"src/two.h", "one.h", 0120000};
    helper_repo_commit(linked, f->builds->repo.directory, "parts", &parent, 1, 99, "link", &link,
                       1);
    make(f, linked, NULL);
    child_of(touched, f, linked, "src/b.c", "b 2\n");
    struct build build = make(f, touched, linked);
    assert_said(&build, "made-a made-b ");
}

// What a build does to what it was offered stays with it, with and without a sandbox.
TEST(offered_libraries_are_copies)
{
    struct fixture *f = *state;
    struct helper_builds *b = f->builds;
    const struct recipe before = b->recipe;
    struct sandbox off;
    struct error err;
    char second[OBJECT_ID_TEXT];
    assert_int_equal(sandbox_probe(&off, SANDBOX_OFF, &err), 0);
    b->recipe.command = "sh src/build.sh; for file in \"$PLUMB_HAVE\"/*.so; do\n"
                        "  echo spoilt 2>/dev/null >\"$file\" || true\n"
                        "done";
    child_of(second, f, f->first, "src/b.c", "b 2\n");
    for (int confined = 0; confined < 2; confined++) {
        begin(f, confined ? "copies-confined" : "copies");
        b->builder.sandbox = confined ? &b->sandbox : &off;
        const struct build first = make(f, f->first, NULL);
        const struct build build = make(f, second, f->first);
        assert_non_null(strstr(build.log, "took-a\nmade-b\n"));
        assert_library(&first, "a", "#include one.h\na 1\none 1\n");
        char *have = xprintf("%s/have", build.directory);
        assert_int_equal(access(have, F_OK), -1);
        free(have);
    }
    b->builder.sandbox = &b->sandbox;
    b->recipe = before;
}

// Builders of several commits take from one base at once, and one of them is killed on the way.
TEST(builders_at_once_and_a_killed_one)
{
    struct fixture *f = *state;
    struct helper_builds *b = f->builds;
    const struct recipe before = b->recipe;
    enum { HEADS = 4 };
    char heads[HEADS][OBJECT_ID_TEXT];
    pid_t builders[HEADS];
    const struct timespec pause = {.tv_nsec = 20000000};
    begin(f, "at-once");
    b->recipe.command = "sh src/build.sh; sleep 1";
    make(f, f->first, NULL);
    for (int i = 0; i < HEADS; i++) {
        char text[32];
        snprintf(text, sizeof(text), "b %d\n", 10 + i);
        child_of(heads[i], f, f->first, "src/b.c", text);
    }
    for (int i = 0; i < HEADS; i++) {
        if ((builders[i] = fork()) == 0) {
            struct build build;
            struct error err;
            _exit(build_commit(&build, &b->builder, b->open, heads[i], f->first, &b->recipe,
                               &b->arena, &err) != 0);
        }
    }
    do
        nanosleep(&pause, NULL);
    while (helper_build_leftovers(b) < HEADS);
    kill(builders[0], SIGKILL);
    for (int i = 0; i < HEADS; i++)
        waitpid(builders[i], NULL, 0);
    for (int i = 0; i < HEADS; i++) {
        char text[32];
        snprintf(text, sizeof(text), "b %d\n", 10 + i);
        const struct build build = make(f, heads[i], f->first);
        assert_int_equal(build.cached, i > 0);
        assert_said(&build, "took-a made-b ");
        assert_library(&build, "a", "#include one.h\na 1\none 1\n");
        assert_library(&build, "b", text);
    }
    b->recipe = before;
}
