// SPDX-License-Identifier: Apache-2.0
//
// Sections with a name: found, or appended.
#include "ci/settings/policy_owners.h"

#include <string.h>

void *policy_grow(struct arena *arena, void *items, size_t *count, size_t size)
{
    char *grown = arena_alloc(arena, (*count + 1) * size);
    void *old;
    memcpy(&old, items, sizeof(old));
    if (*count)
        memcpy(grown, old, *count * size);
    memcpy(items, &grown, sizeof(grown));
    return grown + (*count)++ * size;
}

// Every named item begins with its name, so one search serves them all.
static void *named_item(struct policy *p, void *items, size_t *count, size_t size, const char *name,
                        bool *made)
{
    char *at;
    memcpy(&at, items, sizeof(at));
    for (size_t i = 0; i < *count; i++, at += size) {
        const char *held;
        memcpy(&held, at, sizeof(held));
        if (strcmp(held, name) == 0)
            return at;
    }
    *made = true;
    at = policy_grow(&p->arena, items, count, size);
    const char *copy = arena_strdup(&p->arena, name);
    memcpy(at, &copy, sizeof(copy));
    return at;
}

void *policy_owner(struct policy *p, enum owner owner, const char *name)
{
    bool made = false;
    if (owner == OWN_TOOLCHAIN)
        return named_item(p, &p->toolchains, &p->toolchain_count, sizeof(*p->toolchains), name,
                          &made);
    if (owner == OWN_SET)
        return named_item(p, &p->sets, &p->set_count, sizeof(*p->sets), name, &made);
    if (owner == OWN_KERNEL)
        return named_item(p, &p->kernels, &p->kernel_count, sizeof(*p->kernels), name, &made);
    if (owner == OWN_MIX)
        return named_item(p, &p->mixes, &p->mix_count, sizeof(*p->mixes), name, &made);
    if (owner == OWN_LIBRARY)
        return named_item(p, &p->libraries, &p->library_count, sizeof(*p->libraries), name, &made);
    if (owner == OWN_DEVICE) {
        struct policy_device *device =
            named_item(p, &p->devices, &p->device_count, sizeof(*p->devices), name, &made);
        if (made) {
            device->kind = "host";
            device->required = true;
        }
        return device;
    }
    return p;
}
