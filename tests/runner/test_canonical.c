// SPDX-License-Identifier: Apache-2.0
//
// What a build left is kept so that whatever a library can read of it is in its code id: outputs
// that differ elsewhere become the same bytes, and still load.
#include "runner/code/code_id.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void shell(const char *command)
{
    if (library_shell(command))
        fail_msg("%s", command);
}

static int settle(const char *from, const char *to, uint64_t bytes, struct error *err)
{
    const struct code_limits limits = {bytes};
    char *folder = library_path(from), *copy = library_path(to), *stated = library_path("stated");
    char *made = xprintf("rm -rf '%s' '%s' && mkdir '%s' '%s'", copy, stated, copy, stated);
    shell(made);
    const int status = code_settle(folder, copy, stated, &limits, err);
    free(made);
    free(stated);
    free(copy);
    free(folder);
    return status;
}

static void settled(const char *from, const char *to)
{
    struct error err;
    if (settle(from, to, 0, &err))
        fail_msg("%s", err.text);
}

// All that stat and read say, but for inode numbers and when the copy was made.
static void assert_equal_copies(const char *what)
{
    settled("one", "first");
    settled("two", "second");
    if (library_shell("for d in first second; do (cd $d && find . -printf '%p %y %m %n %s %b %T@ "
                      "%l\\n' | sort >../$d.list); done; cmp first.list second.list && "
                      "diff -r first second"))
        fail_msg("%s", what);
}

static void make_one(void)
{
    shell("rm -rf one two && mkdir one");
    library_compile("one/a", library_plain, "-Wl,--build-id=0x0100000000000001");
    shell("rm one/*.c && echo 1 >one/table && cp one/table one/other && cp -a one two");
}

AROUND_ALL(library_set_up, library_tear_down);

TEST(what_no_id_says_is_the_same_for_all)
{
    static const char *const changes[] = {
        "mkdir -p two/slow/er",
        "mkfifo two/slow",
        "touch -d @1 two/table",
        "touch -d @1 two",
        "chmod 755 two/table; chmod 700 two",
        "ln -f two/table two/other",
        "strip two/a.so",
        "echo kernels/a.cu >two/a.so.inputs",
    };
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        make_one();
        shell(changes[i]);
        assert_equal_copies(changes[i]);
    }
    make_one();
    library_compile("two/a", library_plain, "-g -Wl,--build-id=0x0200000000000002");
    shell("rm two/*.c");
    assert_equal_copies("debug information and build id");
    make_one();
    shell("truncate -s 1M one/table; dd if=/dev/zero of=two/table bs=1M count=1 status=none; "
          "printf '1\\n' | dd of=two/table conv=notrunc status=none");
    assert_equal_copies("holes");
}

// Host code can read its device code, and so what compilers say of the source in it.
TEST(what_device_code_says_of_its_source_is_the_same_for_all)
{
    static const char *const changes[] = {"s/lines of source/other of source/",
                                          "s/file\\.cu/slow.cu/", "s/f266c20c/0badcafe/g"};
    struct cubin_plan plan = library_usual_cubin;
    plan.debug = "lines of source";
    plan.kernel = plan.host = "_ZN40_INTERNAL_f266c20c_6_kan_cu_0123456789ab3addEPf";
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        shell("rm -rf one two && mkdir one two");
        library_make_cuda("one/a", &plan);
        char *change = xprintf("rm one/*.c && LC_ALL=C sed '%s' one/a.so >two/a.so && "
                               "! cmp -s one/a.so two/a.so",
                               changes[i]);
        shell(change);
        free(change);
        assert_equal_copies(changes[i]);
        assert_string_equal(library_id("one/a.so"), library_id("first/a.so"));
        assert_string_equal(library_id("two/a.so"), library_id("first/a.so"));
        settled("first", "second");
        shell("diff -r first second && ! grep -q 'lines of\\|file.cu\\|f266c20c' first/a.so");
    }
}

TEST(what_it_may_read_of_itself_counts_and_is_kept)
{
    static const char *const changes[] = {
        "echo 0123456 >>two/a.so", "echo payload >x && objcopy --add-section .payload=x two/a.so"};
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        char first[OBJECT_ID_TEXT];
        make_one();
        text_copy(first, sizeof(first), library_id("one/a.so"));
        shell(changes[i]);
        settled("two", "second");
        assert_string_not_equal(first, library_id("two/a.so"));
        text_copy(first, sizeof(first), library_id("two/a.so"));
        assert_string_equal(first, library_id("second/a.so"));
    }
    shell("objcopy -O binary --only-section=.payload --set-section-flags .payload=alloc "
          "second/a.so y && cmp x y");
    settled("second", "first");
    shell("diff -r first second");
}

// ---- one id is one file

// A constant in a section of its own. Under another name the section would hold device code, and
// the copy's table of sections, which a library can read, says where that is.
TEST(where_device_code_could_be_counts)
{
    char first[OBJECT_ID_TEXT];
    shell("rm -rf one two && mkdir one");
    library_compile("one/a",
                    "static const char c[64] __attribute__((section(\".slow\"), used)) = "
                    "{1};\nint launch(void) { return c[0]; }\n",
                    "-Wl,--build-id=none");
    shell("rm one/*.c && cp -a one two && "
          "objcopy --rename-section .slow=.nv_fatbin one/a.so two/a.so");
    settled("one", "first");
    settled("two", "second");
    text_copy(first, sizeof(first), library_id("first/a.so"));
    shell("! cmp -s first/a.so second/a.so");
    assert_string_not_equal(first, library_id("second/a.so"));
}

// Lets a build's id cover the first bytes of the library's device code, which nobody can read
// before these are cleared.
static void cover_with_build_id(const char *name)
{
    char *path = library_path(name);
    size_t size;
    unsigned char *bytes = (unsigned char *)helper_read(path, &size);
    const Elf64_Ehdr *head = (const void *)bytes;
    Elf64_Phdr *segments = (void *)(bytes + head->e_phoff);
    Elf64_Shdr *sections = (void *)(bytes + head->e_shoff);
    const char *names = (const char *)bytes + sections[head->e_shstrndx].sh_offset;
    Elf64_Shdr *fatbin = NULL;
    for (size_t i = 0; i < head->e_shnum; i++)
        fatbin = strcmp(names + sections[i].sh_name, ".nv_fatbin") ? fatbin : &sections[i];
    assert_non_null(fatbin);
    for (size_t i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type == PT_GNU_STACK)
            segments[i] = (Elf64_Phdr){.p_type = PT_NOTE,
                                       .p_flags = PF_R,
                                       .p_offset = fatbin->sh_offset,
                                       .p_vaddr = fatbin->sh_addr,
                                       .p_filesz = 24,
                                       .p_memsz = 24};
    }
    fatbin->sh_offset += 16;
    fatbin->sh_addr += 16;
    fatbin->sh_size -= 16;
    helper_write(path, bytes, size);
    free(bytes);
    free(path);
}

// What clearing uncovers is cleared as well, so that two copies with one id are equal.
TEST(what_clearing_uncovers_is_cleared)
{
    static const uint32_t note[6] = {4, 8, NT_GNU_BUILD_ID, 0x00554e47, 1, 1};
    static const char *const lines[] = {"lines of source", "other of source"};
    static const char *const names[] = {"one/a", "two/a"};
    static struct cubin cubin;
    unsigned char fat[12000];
    shell("rm -rf one two && mkdir one two");
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        struct cubin_plan plan = library_usual_cubin;
        plan.debug = lines[i];
        cubin_make(&cubin, &plan);
        memcpy(fat, note, sizeof(note));
        library_make(names[i], fat,
                     sizeof(note) + fatbin_make(fat + sizeof(note), 2, cubin.bytes, cubin.used));
    }
    cover_with_build_id("one/a.so");
    cover_with_build_id("two/a.so");
    shell("rm one/*.c two/*.c && ! cmp -s one/a.so two/a.so");
    assert_equal_copies("debug information behind a build's id");
}

TEST(what_is_kept_loads_and_has_the_id_that_it_had)
{
    char first[OBJECT_ID_TEXT];
    make_one();
    text_copy(first, sizeof(first), library_id("one/a.so"));
    settled("one", "first");
    assert_string_equal(first, library_id("first/a.so"));
    settled("first", "second"); // a copy of a copy is the copy
    shell("diff -r first second");
    char *path = library_path("first/a.so");
    void *handle = dlopen(path, RTLD_NOW);
    assert_non_null(handle);
    assert_non_null(dlsym(handle, "ops"));
    dlclose(handle);
    free(path);
}

TEST(device_code_is_found_in_what_is_kept)
{
    char first[OBJECT_ID_TEXT];
    struct code_function_list list;
    struct arena arena = {0};
    struct error err;
    shell("rm -rf one && mkdir one");
    library_make_cuda("one/a", &library_usual_cubin);
    text_copy(first, sizeof(first), library_id("one/a.so"));
    settled("one", "first");
    assert_string_equal(first, library_id("first/a.so"));
    char *path = library_path("first/a.so");
    assert_int_equal(code_resources(&list, path, &arena, &err), 0);
    assert_true(list.complete && list.count > 0);
    arena_free(&arena);
    free(path);
}

TEST(statements_are_kept_apart_and_other_files_stay)
{
    make_one();
    shell("echo kernels/a.cu >one/a.so.inputs; echo 2 >one/lonely.inputs; mkdir one/deep; "
          "echo 3 >one/deep/table; ln -s table one/link");
    settled("one", "first");
    shell("test ! -e first/a.so.inputs && grep -q kernels/a.cu stated/a.so.inputs && "
          "grep -q 2 first/lonely.inputs && grep -q 3 first/deep/table && "
          "test \"$(readlink first/link)\" = table");
}

TEST(more_than_anyone_may_leave_is_the_builds_fault)
{
    struct error err;
    make_one();
    shell("truncate -s 64M one/hole");
    assert_int_equal(settle("one", "first", 32 << 20, &err), 1);
    assert_non_null(strstr(err.text, "more than 32 MiB"));
    shell("rm one/hole; mkdir one/many && cd one/many && seq 1 10001 | xargs touch");
    assert_int_equal(settle("one", "first", 0, &err), 1);
    assert_non_null(strstr(err.text, "more than 10000 files"));
}
