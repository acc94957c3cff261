// SPDX-License-Identifier: Apache-2.0
//
// Names a build: a hash over its toolchain, recipe and inputs, each a field with its length.
#include "runner/build/build_key.h"

#include <stdlib.h>
#include <string.h>

// 2: builds are offered libraries of earlier ones, and those of heads are kept apart.
enum { KEY_VERSION = 2 };

void build_key_field(FILE *to, const char *name, const char *value)
{
    fprintf(to, "%s %zu:%s\n", name, strlen(value), value);
}

void build_key_recipe(FILE *to, const struct builder *builder, const struct recipe *recipe)
{
    fprintf(to, "plumb build %d\n", KEY_VERSION);
    build_key_field(to, "toolchain", builder->toolchain->text);
    build_key_field(to, "command", recipe->command);
    build_key_field(to, "outputs", recipe->outputs);
    if (recipe->overlay)
        build_key_field(to, "overlay", recipe->overlay->id);
    for (size_t i = 0; i < recipe->without_count; i++)
        build_key_field(to, "without", recipe->without[i]);
    for (size_t i = 0; i < recipe->environment_count; i++) {
        const char *value = getenv(recipe->environment[i]);
        build_key_field(to, "name", recipe->environment[i]);
        build_key_field(to, value ? "value" : "unset", value ? value : "");
    }
}

void build_key_of_head(char key[OBJECT_ID_TEXT])
{
    char *text = xprintf("plumb head %s\n", key);
    content_id(key, text, strlen(text));
    free(text);
}

int build_key_submodules(FILE *to, const struct repository *repository, const char *commit,
                         struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (repository_path_id(id, repository, commit, ".gitmodules", err))
        return -1;
    if (id[0])
        build_key_field(to, "submodules", id);
    return 0;
}

static int add_inputs(FILE *to, const struct repository *repository, const char *commit,
                      const struct recipe *recipe, struct error *err)
{
    if (build_key_submodules(to, repository, commit, err))
        return -1;
    for (size_t i = 0; i < (recipe->input_count ? recipe->input_count : 1); i++) {
        const char *path = recipe->input_count ? recipe->inputs[i] : "";
        char id[OBJECT_ID_TEXT];
        if (repository_path_id(id, repository, commit, path, err))
            return -1;
        build_key_field(to, "input", path);
        build_key_field(to, "object", id);
    }
    return 0;
}

int build_key(char out[OBJECT_ID_TEXT], const struct builder *builder,
              const struct repository *repository, const char *commit, const struct recipe *recipe,
              struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return error_set(err, "no memory for a key");
    build_key_recipe(to, builder, recipe);
    int result = add_inputs(to, repository, commit, recipe, err);
    fclose(to);
    if (result == 0)
        content_id(out, text, size);
    free(text);
    return result;
}
