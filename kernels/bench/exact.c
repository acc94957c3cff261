// SPDX-License-Identifier: Apache-2.0
//
// Three kinds of references behind one interface. A library computes its own reference in the
// process where it is loaded; the result is copied to memory that no library can access.
#include "kernels/bench/series_parts.h"

#include "kernels/bench/series.h"
#include "kernels/device/check.h"
#include "kernels/device/form.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// A host library takes seconds to compute a reference for known inputs, and series of one problem
// need the same one. So it is kept in this process, and for others. The most recently used one
// comes first.
struct stated {
    char *of; // its library, kernel, problem and seed; NULL: only one series has it
    uint64_t count;
    double *values;
    double largest; // the largest magnitude
    uint32_t users;
    struct stated *next;
};

static struct stated *all_stated;
enum { STATED_KEPT = 12 };

struct exact {
    struct exact_source source;
    struct shared_reference *shared; // for a plain problem's known inputs
    struct reference *plain;         // for other inputs
    struct form_reference *form;
    struct stated *stated;
};

static void free_stated(struct stated *s)
{
    free(s->of);
    free(s->values);
    free(s);
}

// Frees unused ones, except the latest.
static void drop_stated(void)
{
    uint32_t kept = 0;
    for (struct stated **at = &all_stated; *at;) {
        struct stated *s = *at;
        if (s->users || ++kept <= STATED_KEPT) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free_stated(s);
    }
}

// ---- sharing between processes ----
//
// There is a file for each reference; it begins with what it belongs to.

enum { SHARED_MOST = 256 << 20 }; // bytes of one file

static char *shared_path(const char *of)
{
    const char *folder = getenv(REFERENCES_FOLDER);
    return folder && of
               ? xprintf("%s/%016llx", folder, (unsigned long long)hash_text(HASH_START, of))
               : NULL;
}

// Reads a file, which is used only if it is complete.
static bool read_shared(struct stated *s, const char *path)
{
    const size_t length = strlen(s->of);
    FILE *file = fopen(path, "re");
    char *begun = xcalloc(length + 1, 1);
    const bool taken =
        file && fread(begun, 1, length, file) == length && strcmp(begun, s->of) == 0 &&
        fread(s->values, sizeof(*s->values), s->count, file) == s->count && fgetc(file) == EOF;
    if (file)
        fclose(file);
    free(begun);
    return taken;
}

// A reference that another process is computing, until somebody waits for it.
struct ahead {
    char *path;
    pid_t process;
    struct ahead *next;
};

static struct ahead *all_ahead;

static void wait_ahead(const char *path)
{
    for (struct ahead **at = &all_ahead, *a; (a = *at); at = &a->next) {
        if (strcmp(a->path, path) != 0)
            continue;
        while (waitpid(a->process, NULL, 0) < 0 && errno == EINTR)
            ;
        *at = a->next;
        free(a->path);
        free(a);
        return;
    }
}

// Writes a file so that another process finds it complete or not at all. A reference that cannot be
// kept is computed again.
static void write_shared(const struct stated *s, const char *path)
{
    char *own = xprintf("%s.%d", path, (int)getpid());
    FILE *file = s->count * sizeof(*s->values) <= SHARED_MOST ? fopen(own, "wxe") : NULL;
    bool whole = file && fputs(s->of, file) >= 0 &&
                 fwrite(s->values, sizeof(*s->values), s->count, file) == s->count;
    if (file && fclose(file))
        whole = false;
    if (file && (!whole || rename(own, path)))
        unlink(own);
    free(own);
}

static int say_or_read(struct stated *s, const char *path, struct arm *arm, struct buffers *b,
                       uint32_t set, struct error *err)
{
    if (path)
        wait_ahead(path);
    if (path && read_shared(s, path))
        return 0;
    if (arm_reference(s->values, arm, b, set, NULL, err))
        return -1;
    if (path)
        write_shared(s, path);
    return 0;
}

static int find_stated(struct stated *s, struct arm *arm, struct buffers *b, uint32_t set,
                       struct error *err)
{
    char *path = shared_path(s->of);
    s->count = b->parts.output.count;
    s->values = xcalloc(s->count, sizeof(*s->values));
    const int status = say_or_read(s, path, arm, b, set, err);
    free(path);
    for (uint64_t i = 0; i < s->count && status == 0; i++) {
        if (!isfinite(s->values[i]))
            return error_set(err, "reference() says %g of element %llu", s->values[i],
                             (unsigned long long)i);
        s->largest = fmax(s->largest, fabs(s->values[i]));
    }
    return status;
}

// The text that identifies a reference; NULL without a seed.
static char *stated_of(const struct exact_source *source, const uint64_t *seed)
{
    return seed ? xprintf("%s%llu\n", source->of, (unsigned long long)*seed) : NULL;
}

// Begins to compute the reference of a library in this process, because it may take seconds and a
// series needs three. A failure is reported when the reference is needed.
static int begin_stated(const struct exact_source *source, struct buffers *b, uint32_t set,
                        const uint64_t *seed, struct error *err)
{
    struct stated *s = xcalloc(1, sizeof(*s));
    s->of = stated_of(source, seed);
    s->count = b->parts.output.count;
    char *path = shared_path(s->of);
    pid_t process = -1;
    int status = 0;
    if (path && access(path, F_OK)) {
        s->values = xcalloc(s->count, sizeof(*s->values));
        status = arm_reference(s->values, source->arm, b, set, &process, err);
    }
    if (process == 0) {
        if (status == 0)
            write_shared(s, path);
        _exit(status ? 1 : 0);
    }
    if (process > 0) {
        struct ahead *a = xcalloc(1, sizeof(*a));
        *a = (struct ahead){path, process, all_ahead};
        all_ahead = a;
        path = NULL;
    }
    free(path);
    free_stated(s);
    return status;
}

// Computes a reference; `seed` NULL: only one series has these inputs.
static int open_stated(struct exact *e, struct buffers *b, uint32_t set, const uint64_t *seed,
                       struct error *err)
{
    char *of = stated_of(&e->source, seed);
    struct stated **at = &all_stated, *s;
    while ((s = *at) && (!of || !s->of || strcmp(s->of, of) != 0))
        at = &s->next;
    if (s) {
        *at = s->next;
        free(of);
    } else {
        s = xcalloc(1, sizeof(*s));
        s->of = of;
        if (find_stated(s, e->source.arm, b, set, err)) {
            free_stated(s);
            return -1;
        }
    }
    s->next = all_stated;
    all_stated = s;
    s->users++;
    e->stated = s;
    return 0;
}

int exact_open(struct exact **out, const struct exact_source *source, struct buffers *b,
               uint32_t set, const uint64_t *seed, struct error *err)
{
    if (!out)
        return begin_stated(source, b, set, seed, err);
    struct exact *e = xcalloc(1, sizeof(*e));
    const struct problem *p = source->problem;
    const void *given;
    int status;
    e->source = *source;
    if (p->number_count)
        status = open_stated(e, b, set, seed, err);
    else if (b->plain && seed)
        status = references_take(&e->shared, source->ops, source->device, p, &b->args[set].args,
                                 *seed, err);
    else if (b->plain)
        status =
            source->ops->reference(&e->plain, source->device, p, &b->args[set].args, NULL, err);
    else
        status = buffers_given(&given, b, set, err) ||
                         source->ops->form_reference(&e->form, source->device, p, &b->args[set],
                                                     given, err)
                     ? -1
                     : 0;
    if (status) {
        exact_free(e);
        return -1;
    }
    *out = e;
    return 0;
}

void exact_free(struct exact *e)
{
    if (!e)
        return;
    if (e->shared)
        references_give(e->shared, e->source.ops);
    if (e->plain)
        e->source.ops->reference_free(e->source.device, e->plain);
    if (e->form)
        e->source.ops->form_reference_free(e->source.device, e->form);
    if (e->stated) {
        e->stated->users--;
        drop_stated();
    }
    free(e);
}

static void compare_stated(struct comparison *out, const struct exact *e, const struct buffers *b,
                           const void *c, double tolerance)
{
    const struct plumb_buffers *s = e->source.stated;
    *out = (struct comparison){0};
    for (uint64_t i = 0; i < b->parts.output.count; i++) {
        const double got = inputs_load((int)b->parts.output.type, c, i),
                     wanted = e->stated->values[i];
        // An exact result has no scale: equal means no error, and anything else an infinite one.
        const double scale = got == wanted ? 1 : s->absolute + s->relative * fabs(wanted);
        check_value(out, got, wanted, scale, tolerance, -1, (int64_t)i);
    }
}

int exact_compare(struct comparison *out, const struct exact *e, const struct buffers *b,
                  uint32_t set, const struct inputs_signs *signs, double tolerance,
                  struct error *err)
{
    const struct exact_source *s = &e->source;
    const void *c = b->outputs[set];
    const struct reference *plain = e->shared ? e->shared->exact : e->plain;
    if (plain)
        return s->ops->compare(out, s->device, plain, c, signs, tolerance, err);
    if (e->form)
        return s->ops->form_compare(out, s->device, e->form, c, tolerance, err);
    void *copy = xcalloc(b->parts.output.bytes, 1);
    const int status = s->ops->read(s->device, copy, c, b->parts.output.bytes, err);
    if (status == 0)
        compare_stated(out, e, b, copy, tolerance);
    free(copy);
    return status;
}

double exact_allowed(const struct exact *e, double tolerance)
{
    const struct plumb_buffers *s = e->source.stated;
    if (e->stated) // other contents have other numbers, of about the same size
        return s->absolute + 2 * s->relative * e->stated->largest;
    return tolerance * check_scale(e->source.problem);
}
