// SPDX-License-Identifier: Apache-2.0
//
// Three kinds of references behind one. A library's own is computed where the library is; what it
// says is copied to memory that no library can reach.
#include "kernels/bench/series_parts.h"

#include "kernels/bench/references.h"
#include "kernels/device/check.h"
#include "kernels/device/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a library says of known inputs takes the host seconds, and series of one problem ask it for
// the same: it is kept, by library, problem and seed. What was asked for last comes first.
struct stated {
    char *library;
    struct problem problem;
    uint64_t seed, count;
    double *values;
    double largest; // as a magnitude
    uint32_t users;
    struct stated *next;
};

static struct stated *all_stated;
enum { STATED_KEPT = 12 };

struct exact {
    struct exact_source source;
    struct shared_reference *shared; // of a plain problem's known inputs
    struct reference *plain;         // of others
    struct form_reference *form;
    struct stated *stated;
};

static void free_stated(struct stated *s)
{
    free(s->library);
    free(s->values);
    free(s);
}

// The latest that nobody has stay.
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

static int compute_stated(struct stated *s, struct arm *arm, struct buffers *b, uint32_t set,
                          struct error *err)
{
    s->count = b->parts.output.count;
    s->values = xcalloc(s->count, sizeof(*s->values));
    if (arm_reference(s->values, arm, b, set, err))
        return -1;
    for (uint64_t i = 0; i < s->count; i++) {
        if (!isfinite(s->values[i]))
            return error_set(err, "reference() says %g of element %llu", s->values[i],
                             (unsigned long long)i);
        s->largest = fmax(s->largest, fabs(s->values[i]));
    }
    return 0;
}

// seed: NULL: of inputs that are nobody else's.
static int open_stated(struct exact *e, struct buffers *b, uint32_t set, const uint64_t *seed,
                       struct error *err)
{
    const struct problem *problem = e->source.problem;
    const char *library = e->source.arm->path ? e->source.arm->path : "";
    struct stated **at = &all_stated, *s;
    while ((s = *at) && (!seed || !s->library || s->seed != *seed ||
                         strcmp(s->library, library) != 0 || !problem_equal(&s->problem, problem)))
        at = &s->next;
    if (s) {
        *at = s->next;
    } else {
        s = xcalloc(1, sizeof(*s));
        if (compute_stated(s, e->source.arm, b, set, err)) {
            free_stated(s);
            return -1;
        }
        s->problem = *problem;
        s->library = seed ? xstrdup(library) : NULL;
        s->seed = seed ? *seed : 0;
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
        // What is exact has no scale: there, equal is no error and anything else is infinite.
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

double exact_tolerance(const struct problem *problem)
{
    return problem->number_count ? 1 : check_tolerance(problem);
}

double exact_allowed(const struct exact *e, double tolerance)
{
    const struct plumb_buffers *s = e->source.stated;
    if (e->stated) // other contents have other numbers, of about the same size
        return s->absolute + 2 * s->relative * e->stated->largest;
    return tolerance * check_scale(e->source.problem);
}
