// SPDX-License-Identifier: Apache-2.0
//
// Makes the record of a kernel: its launches, and the device code that they run. The launches come
// over the wire from a process that runs foreign code, so each line is parsed as hostile text. The
// device code is taken from the library's file: every cubin with an entry point that a launch
// names. Code that a library loads from elsewhere, compresses, or leaves to the driver's compiler
// has no cubin here; such a kernel is refused by name.
#include "runner/bench/measure.h"

#include "model/record/record.h"
#include "runner/bench/bench_talk.h"
#include "runner/code/machine_code.h"
#include "runner/code/plan_file.h"
#include "runner/git/repository.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_IMAGES = 64 };
static const double record_limit_s = 60;

// ---- the launches that bench tells ----

struct record_telling {
    struct record record;
    struct arena *arena;
    bool begun, ended;
};

static int take_head(struct record *out, const struct wire_record *line, struct error *err)
{
    int64_t version, workspace;
    const char *note = wire_text(line, "note");
    if (wire_int(&version, line, "version", 1, RECORD_VERSION, err) ||
        wire_int(&workspace, line, "workspace", 0, INT64_MAX / 4, err))
        return -1;
    bench_clean(out->note, sizeof(out->note), note ? note : "");
    out->version = (int)version;
    out->workspace_bytes = (uint64_t)workspace;
    return 0;
}

static int take_line(void *context, const struct wire_record *line, struct error *err)
{
    struct record_telling *t = context;
    if (!t->begun && strcmp(line->name, "record") == 0) {
        t->begun = true;
        return take_head(&t->record, line, err);
    }
    if (!t->begun || t->ended)
        return bench_unexpected(line, err);
    if (strcmp(line->name, "end") == 0) {
        t->ended = true;
        return 0;
    }
    return record_take_line(&t->record, line, t->arena, err);
}

static int ask(struct bench_outcome *out, struct record_telling *t, struct bench *bench,
               const struct bench_series *series, struct error *err)
{
    struct wire_line line;
    char problem[PROBLEM_TEXT];
    const struct problem work = problem_in(series->problem, REGIME_COLD);
    problem_format(problem, &work);
    wire_begin(&line, "record");
    wire_add_text(&line, "kernel", series->kernel);
    wire_add_text(&line, "problem", problem);
    wire_add_text(&line, "head", series->head);
    wire_add_int(&line, "seed", 0);
    if (series->pins[ROLE_HEAD])
        wire_add_text(&line, "pin", series->pins[ROLE_HEAD]);
    if (bench_exchange(out, bench, &line, record_limit_s, take_line, t, err))
        return -1;
    if (out->state == MEASURED_OK && (!t->ended || !t->record.launch_count)) {
        out->state = MEASURED_CRASHED;
        snprintf(out->detail, sizeof(out->detail), "broke the protocol: no whole record");
    } else if (out->refused) {
        out->state = MEASURED_UNSUPPORTED;
    }
    return 0;
}

// ---- the device code ----

static bool has_function(const struct elf_image *cubin, const char *name)
{
    const struct elf_section *table = elf_symbols(cubin);
    struct elf_symbol symbol;
    for (uint64_t i = 0; table && elf_symbol(&symbol, cubin, table, i); i++) {
        if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF &&
            strcmp(symbol.name, name) == 0)
            return true;
    }
    return false;
}

// Adds the cubin if a launch needs it; *covered has a bit for each launch whose function was found.
static void consider(struct record *record, bool *covered, const struct fatbin_entry *entry)
{
    struct elf_image cubin;
    bool needed = false;
    if (entry->kind != FATBIN_CUBIN || record->image_count == RECORD_IMAGES ||
        elf_open(&cubin, entry->bytes, entry->size))
        return;
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind == RECORD_KERNEL && has_function(&cubin, launch->function))
            covered[i] = needed = true;
    }
    elf_close(&cubin);
    if (needed)
        record->images[record->image_count++] = (struct record_image){entry->bytes, entry->size};
}

static int find_images(struct bench_outcome *out, struct record *record,
                       const struct code_file *file, struct arena *arena)
{
    struct elf_image library;
    bool *covered = arena_alloc(arena, record->launch_count * sizeof(*covered));
    record->images = arena_alloc(arena, RECORD_IMAGES * sizeof(*record->images));
    if (elf_open(&library, file->bytes, file->size) == 0) {
        for (size_t s = 0; s < library.section_count; s++) {
            const struct elf_section *section = &library.sections[s];
            struct fatbin_entry entry;
            size_t at = 0;
            if (!section->bytes || strcmp(section->name, ".nv_fatbin") != 0)
                continue;
            while (fatbin_next(&entry, &at, section->bytes, section->size))
                consider(record, covered, &entry);
        }
        elf_close(&library);
    }
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind != RECORD_KERNEL || covered[i])
            continue;
        out->state = MEASURED_UNSUPPORTED;
        snprintf(out->detail, sizeof(out->detail),
                 "the library's file has no machine code of %.200s: it is compressed (build with "
                 "-Xfatbin=-compress=false), left to the driver's compiler, or another library's",
                 launch->function);
        return -1;
    }
    return 0;
}

// ---- the file ----

// Copies of the images in which all code is cleared that no launch runs, because the record's id
// does not depend on it.
static struct record_image *cleared_images(const struct record *record, struct arena *arena)
{
    struct record_image *images = arena_alloc(arena, (record->image_count + 1) * sizeof(*images));
    const char **launched = arena_alloc(arena, (record->launch_count + 1) * sizeof(*launched));
    size_t count = 0;
    for (size_t i = 0; i < record->launch_count; i++) {
        if (record->launches[i].kind == RECORD_KERNEL)
            launched[count++] = record->launches[i].function;
    }
    for (size_t i = 0; i < record->image_count; i++) {
        images[i] = record->images[i];
        unsigned char *copy = arena_alloc(arena, images[i].size + 1);
        memcpy(copy, images[i].bytes, images[i].size);
        code_clear_unlaunched(copy, images[i].size, launched, count);
        images[i].bytes = copy;
    }
    return images;
}

int record_save(const struct record *record, const char *path, struct error *err)
{
    char *temporary = xprintf("%s.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "we");
    struct buffer text = {0};
    struct arena arena = {0};
    struct record saved = *record;
    int status = -1;
    saved.images = cleared_images(record, &arena);
    record_print(&text, &saved);
    arena_free(&arena);
    const bool whole = file && fwrite(text.bytes, 1, text.length, file) == text.length;
    buffer_free(&text);
    if (!file || fclose(file) || !whole || rename(temporary, path)) {
        error_set(err, "%s: %s", path, strerror(errno));
        unlink(temporary);
    } else {
        status = 0;
    }
    free(temporary);
    return status;
}

int record_write(struct bench_outcome *out, const char *path, struct bench *bench,
                 const struct bench_series *series, struct error *err)
{
    struct arena arena = {0};
    struct record_telling t = {.arena = &arena};
    struct code_file file = {0};
    int status = -1;
    t.record.problem = problem_in(series->problem, REGIME_COLD); // one record serves all regimes
    if (!text_copy(t.record.kernel, sizeof(t.record.kernel), series->kernel))
        return error_set(err, "'%.80s...' is no kernel's name", series->kernel);
    if (ask(out, &t, bench, series, err))
        goto done;
    status = 0;
    if (out->state != MEASURED_OK)
        goto done;
    status = code_read(&file, series->head, err);
    if (status == 0 && find_images(out, &t.record, &file, &arena) == 0)
        status = record_save(&t.record, path, err);
done:
    code_close(&file);
    arena_free(&arena);
    return status;
}

// ---- records of a plan ----

int record_of_plan(struct bench_outcome *out, const char *to, const char *path,
                   const struct problem *problem, int64_t sms, struct error *err)
{
    struct plan_file file;
    struct record record;
    struct error why;
    struct arena arena = {0};
    const struct problem work = problem_in(problem, REGIME_COLD); // one record serves all regimes
    int status = 0;
    *out = (struct bench_outcome){.state = MEASURED_OK, .role = ROLE_HEAD};
    if (plan_file_open(&file, path, &why)) {
        out->state = MEASURED_UNBUILDABLE;
    } else {
        if (plan_record(&record, &file.plan, &work, sms, file.entries, &arena, &why)) {
            out->state = MEASURED_UNSUPPORTED;
        } else {
            record.images = arena_alloc(&arena, (file.cubin_count + 1) * sizeof(*record.images));
            for (size_t i = 0; i < file.cubin_count; i++)
                record.images[record.image_count++] =
                    (struct record_image){file.cubins[i].file.bytes, file.cubins[i].file.size};
            status = record_save(&record, to, err);
        }
        plan_file_close(&file);
    }
    if (out->state != MEASURED_OK)
        snprintf(out->detail, sizeof(out->detail), "%.500s", why.text);
    arena_free(&arena);
    return status;
}

// ---- the code id of a record ----

// Writes a launch's kernel as the hash of its code, wherever it is looked up, and without
// addresses.
static void put_launch(struct record_launch *launch, const struct record *record,
                       struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; launch->kind == RECORD_KERNEL && i < record->image_count; i++) {
        const struct record_image *image = &record->images[i];
        char code[OBJECT_ID_TEXT];
        if (launch->image && launch->image != i + 1)
            continue;
        code_id_of_kernel(code, image->bytes, image->size, launch->function);
        text = arena_printf(arena, "%s %s", text, code);
    }
    launch->function = text;
    for (uint32_t i = 0; i < launch->address_count; i++) {
        const struct record_address *address = &launch->addresses[i];
        if (address->at + sizeof(uint64_t) <= launch->size)
            memset(launch->bytes + address->at, 0, sizeof(uint64_t));
    }
}

int record_code_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err)
{
    struct code_file file;
    struct record record;
    struct arena arena = {0};
    struct buffer text = {0};
    int status = code_read(&file, path, err);
    if (status)
        return -1;
    status = record_parse(&record, (char *)file.bytes, file.size, &arena, err);
    for (size_t i = 0; status == 0 && i < record.launch_count; i++)
        put_launch(&record.launches[i], &record, &arena);
    if (status == 0) {
        record.image_count = 0;
        record_print(&text, &record);
        content_id(out, text.bytes, text.length);
    }
    buffer_free(&text);
    arena_free(&arena);
    code_close(&file);
    return status;
}
