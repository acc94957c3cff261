// SPDX-License-Identifier: Apache-2.0
//
// Three kinds of references behind one. A library's own is computed where the library is; what it
// says is copied to memory that no library can reach.
#include "kernels/bench/exact.h"

#include "kernels/bench/references.h"
#include "kernels/device/check.h"
#include "kernels/device/form.h"

#include <math.h>
#include <stdlib.h>

struct exact {
    struct exact_source source;
    struct shared_reference *shared; // of a plain problem's known inputs
    struct reference *plain;         // of others
    struct form_reference *form;
    double *stated; // of every element
    double largest; // of them, as a magnitude
};

static int open_stated(struct exact *e, struct buffers *b, uint32_t set, struct error *err)
{
    const uint64_t count = b->parts.output.count;
    e->stated = xcalloc(count, sizeof(*e->stated));
    if (arm_reference(e->stated, e->source.arm, b, set, err))
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(e->stated[i]))
            return error_set(err, "reference() says %g of element %llu", e->stated[i],
                             (unsigned long long)i);
        e->largest = fmax(e->largest, fabs(e->stated[i]));
    }
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
        status = open_stated(e, b, set, err);
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
    free(e->stated);
    free(e);
}

static void compare_stated(struct comparison *out, const struct exact *e, const struct buffers *b,
                           const void *c, double tolerance)
{
    const struct plumb_buffers *s = e->source.stated;
    *out = (struct comparison){0};
    for (uint64_t i = 0; i < b->parts.output.count; i++) {
        const double got = inputs_load((int)b->parts.output.type, c, i), wanted = e->stated[i];
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
        return s->absolute + 2 * s->relative * e->largest;
    return tolerance * check_scale(e->source.problem);
}
