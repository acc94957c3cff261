// SPDX-License-Identifier: Apache-2.0
//
// Opens a plan and its cubins. Where an entry point's parameters lie is read from the cubin
// (.nv.info.ENTRY, EIATTR_KPARAM_INFO), so a plan cannot give false places.
#include "runner/code/plan_file.h"

#include "model/config.h"
#include "runner/code/code_id.h"
#include "runner/git/repository.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PARAMETERS_MAX = 512, PARAMETER_INFO = 12 };

static const char ending[] = ".plan";

bool plan_file_is(const char *path)
{
    const size_t length = strlen(path), end = strlen(ending);
    return length > end && strcmp(path + length - end, ending) == 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// ---- cubins ----

static int open_cubin(struct plan_cubin *cubin, struct error *err)
{
    struct stat status;
    // A link could lead out of the build's output.
    if (lstat(cubin->path, &status) || !S_ISREG(status.st_mode))
        return error_set(err, "there is no file %s beside the plan", cubin->name);
    if (code_read(&cubin->file, cubin->path, err))
        return -1;
    if (elf_open(&cubin->image, cubin->file.bytes, cubin->file.size) ||
        cubin->image.machine != CUBIN_MACHINE)
        return error_set(err, "%s is not a cubin", cubin->name);
    return 0;
}

static struct plan_cubin *find_cubin(struct plan_file *f, const char *name)
{
    for (size_t i = 0; i < f->cubin_count; i++) {
        if (strcmp(f->cubins[i].name, name) == 0)
            return &f->cubins[i];
    }
    return NULL;
}

// Finds the section ".nv.info.NAME" of the function whose code is in ".text.NAME".
static const struct elf_section *section_of(const struct elf_image *image, const char *prefix,
                                            const char *entry)
{
    const size_t length = strlen(prefix);
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *section = &image->sections[i];
        if (section->bytes && strncmp(section->name, prefix, length) == 0 &&
            strcmp(section->name + length, entry) == 0)
            return section;
    }
    return NULL;
}

// Reads a parameter: index 4, ordinal 2, offset 2 bytes, then the size in the highest 14 bits of 4
// bytes.
static int take_parameter(struct record_parameter *parameters, uint32_t *count,
                          const struct cubin_attribute *attribute)
{
    if (attribute->size != PARAMETER_INFO)
        return -1;
    const uint16_t ordinal = elf_u16(attribute->bytes + 4);
    if (ordinal >= PARAMETERS_MAX || parameters[ordinal].bytes)
        return -1;
    parameters[ordinal] = (struct record_parameter){
        .offset = elf_u16(attribute->bytes + 6),
        .bytes = elf_u32(attribute->bytes + 8) >> 18,
    };
    *count = ordinal >= *count ? ordinal + 1U : *count;
    return parameters[ordinal].bytes ? 0 : -1;
}

static int read_entry(struct plan_entry *out, const struct elf_image *image, const char *entry,
                      struct arena *arena, struct error *err)
{
    const struct elf_section *info = section_of(image, ".nv.info.", entry);
    struct record_parameter *parameters = arena_alloc(arena, PARAMETERS_MAX * sizeof(*parameters));
    struct cubin_attribute attribute;
    uint32_t count = 0;
    size_t at = 0;
    if (!section_of(image, ".text.", entry))
        return error_set(err, "there is no function %.200s in it", entry);
    while (info && cubin_next(&attribute, &at, info)) {
        if (attribute.code == CUBIN_PARAMETER && take_parameter(parameters, &count, &attribute))
            return error_set(err, "%.200s: its parameters cannot be read", entry);
    }
    for (uint32_t p = 0; p < count; p++) {
        if (!parameters[p].bytes)
            return error_set(err, "%.200s: its parameter %u cannot be read", entry, p);
    }
    *out = (struct plan_entry){parameters, count};
    return 0;
}

static int open_launch(struct plan_file *f, size_t index, const char *folder, struct error *err)
{
    const struct plan_launch *launch = &f->plan.launches[index];
    struct plan_cubin *cubin;
    struct error why;
    int status = 0;
    cubin = find_cubin(f, launch->cubin);
    if (!cubin) {
        cubin = &f->cubins[f->cubin_count++];
        cubin->name = launch->cubin;
        cubin->path = arena_printf(&f->arena, "%s/%s", folder, launch->cubin);
        status = open_cubin(cubin, &why);
    }
    if (status == 0)
        status = read_entry(&f->entries[index], &cubin->image, launch->entry, &f->arena, &why);
    if (status)
        return error_set(err, "%.200s:%u: cubin %.200s: %.500s", f->plan.label, launch->line,
                         launch->cubin, why.text);
    return plan_check_entry(&f->plan, launch, &f->entries[index], err);
}

// ---- the plan ----

static int read_plan(struct plan_file *f, const char *path, struct error *err)
{
    struct code_file text;
    if (code_read(&text, path, err))
        return -1;
    const int status =
        plan_parse(&f->plan, (const char *)text.bytes, text.size, file_name(path), err);
    if (status == 0)
        f->text = arena_strndup(&f->arena, (const char *)text.bytes, text.size);
    code_close(&text);
    return status;
}

int plan_file_open(struct plan_file *out, const char *path, struct error *err)
{
    struct plan_file f = {0};
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash ? arena_strndup(&f.arena, path, (size_t)(slash - path)) : arena_strdup(&f.arena, ".");
    int status = read_plan(&f, path, err);
    const size_t count = f.plan.launch_count;
    f.entries = arena_alloc(&f.arena, (count + 1) * sizeof(*f.entries));
    f.cubins = arena_alloc(&f.arena, (count + 1) * sizeof(*f.cubins));
    for (size_t i = 0; status == 0 && i < count; i++)
        status = open_launch(&f, i, folder, err);
    if (status)
        plan_file_close(&f);
    else
        *out = f;
    return status;
}

void plan_file_close(struct plan_file *file)
{
    for (size_t i = 0; i < file->cubin_count; i++) {
        elf_close(&file->cubins[i].image);
        code_close(&file->cubins[i].file);
    }
    plan_free(&file->plan);
    arena_free(&file->arena);
    *file = (struct plan_file){0};
}

const char *plan_file_code(const char *path, struct arena *arena)
{
    struct plan_file file;
    struct error none;
    const char *code = NULL;
    if (!plan_file_is(path))
        return path;
    if (plan_file_open(&file, path, &none))
        return NULL;
    if (file.cubin_count == 1)
        code = arena_strdup(arena, file.cubins[0].path);
    plan_file_close(&file);
    return code;
}

// ---- the code id ----

// Writes a key's text with each run of blanks as one, because blanks do not change a formula or a
// place.
static void put_text(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        const bool blank = *text == ' ' || *text == '\t';
        if (!blank)
            buffer_add(out, text, 1);
        else if (text[1] != ' ' && text[1] != '\t')
            buffer_puts(out, " ");
    }
    buffer_puts(out, "\n");
}

static void put_entry(struct buffer *out, const struct plan_file *f, const struct config_entry *e)
{
    if (strcmp(e->section, "kernel") == 0)
        return;
    if (!*e->key) {
        buffer_printf(out, "[%s %s]\n", e->section, e->subsection);
        return;
    }
    buffer_printf(out, "%s ", e->key);
    // The cubin's number counts, not its file's name.
    if (strcmp(e->key, "cubin") == 0 && e->value) {
        size_t i = 0;
        while (i < f->cubin_count && strcmp(f->cubins[i].name, e->value) != 0)
            i++;
        buffer_printf(out, "%zu\n", i);
    } else {
        put_text(out, e->value ? e->value : "true");
    }
}

int plan_file_code_id(char out[OBJECT_ID_TEXT], const struct plan_file *file, struct error *err)
{
    struct config_file config;
    struct buffer text = {0};
    buffer_puts(&text, "plumb plan 1\n");
    for (size_t i = 0; i < file->cubin_count; i++) {
        char code[OBJECT_ID_TEXT];
        if (code_id(code, file->cubins[i].path, err))
            goto failed;
        buffer_printf(&text, "cubin %s\n", code);
    }
    if (config_parse(&config, file->text, strlen(file->text), file->plan.label, err))
        goto failed;
    for (size_t i = 0; i < config.count; i++)
        put_entry(&text, file, &config.entries[i]);
    config_free(&config);
    content_id(out, text.bytes, text.length);
    buffer_free(&text);
    return 0;
failed:
    buffer_free(&text);
    return -1;
}
