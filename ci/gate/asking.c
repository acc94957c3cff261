// SPDX-License-Identifier: Apache-2.0
//
// Reads the request in a comment on a pull request: "/plumb gate ...".
#include "ci/gate/asking.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

struct asked_key {
    const char *name;
    size_t offset;
    const char *characters, *is;
};
static const struct asked_key keys[] = {
    {"kernel", offsetof(struct asking, kernel), LETTERS "_.+-*?[]!",
     "a pattern of letters, digits and _.+-*?[]!"},
    {"problem", offsetof(struct asking, problem), LETTERS "_.:,=+-*?[]!",
     "a pattern of letters, digits and _.:,=+-*?[]!"},
    {"base", offsetof(struct asking, base), LETTERS "_./-~^",
     "a branch, a tag or an id, of letters, digits and _./-~^"},
    {"head", offsetof(struct asking, head), "0123456789abcdef",
     "the commit's id, ten hexadecimal digits at least"},
};

// Whether git would read the text as a revision, and no program as an option.
static bool is_revision(const char *text)
{
    return text[0] != '-' && text[0] != '.' && text[0] != '/' && text[0] != '~' && text[0] != '^' &&
           !strstr(text, "..") && !strstr(text, "//");
}

static bool is_sound(const struct asked_key *key, const char *value)
{
    const size_t length = strlen(value);
    if (length == 0 || strspn(value, key->characters) != length)
        return false;
    if (strcmp(key->name, "base") == 0)
        return is_revision(value);
    if (strcmp(key->name, "head") == 0)
        return length >= 10 && length <= 64;
    return value[0] != '-';
}

static int take_word(struct asking *out, const char *word, size_t length, size_t number,
                     struct error *err)
{
    const char *equals = memchr(word, '=', length);
    for (size_t i = 0; equals && i < ARRAY_COUNT(keys); i++) {
        char *value = (char *)out + keys[i].offset;
        const size_t name = strlen(keys[i].name), size = length - name - 1;
        if ((size_t)(equals - word) != name || memcmp(word, keys[i].name, name) != 0)
            continue;
        if (value[0])
            return error_set(err, "word %zu: %s= stands there twice", number, keys[i].name);
        if (size >= ASKING_WORD || memchr(equals, '\0', size + 1))
            return error_set(err, "word %zu: %s= is longer than %d bytes", number, keys[i].name,
                             ASKING_WORD - 1);
        memcpy(value, equals + 1, size);
        value[size] = '\0';
        if (!is_sound(&keys[i], value))
            return error_set(err, "word %zu: %s= is %s", number, keys[i].name, keys[i].is);
        return 0;
    }
    return error_set(err, "word %zu: it is kernel=, problem=, base= or head=", number);
}

static int refuse_line(struct error *err)
{
    return error_set(err, "the first line is no '/plumb gate', with kernel=, problem=, base= and "
                          "head= behind it");
}

int asking_parse(struct asking *out, const char *text, size_t length, struct error *err)
{
    static const char *const first[] = {"/plumb", "gate"};
    const char *end = memchr(text, '\n', length), *at = text;
    size_t number = 0;
    memset(out, 0, sizeof(*out));
    end = end ? end : text + length;
    while (at < end) {
        const char *word = at;
        while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
            at++;
        const size_t size = (size_t)(at - word);
        at += at < end;
        if (size == 0)
            continue;
        if (number++ >= ARRAY_COUNT(first)) {
            if (take_word(out, word, size, number, err))
                return -1;
        } else if (size != strlen(first[number - 1]) ||
                   memcmp(word, first[number - 1], size) != 0) {
            return refuse_line(err);
        }
    }
    return number < ARRAY_COUNT(first) ? refuse_line(err) : 0;
}
