// SPDX-License-Identifier: Apache-2.0
//
// What `plumb doctor` does with GPUs that the store knows: judges them by their controls, takes out
// what is sick, and brings it back.
#ifndef PLUMB_DOCTOR_DEVICES_H
#define PLUMB_DOCTOR_DEVICES_H

#include "ci/settings/context.h"

// Prints a line for each GPU; one that is sick is taken out. *out is CONCLUDE_UNDECIDED where one
// is sick or out.
int doctor_controls(enum conclusion *out, struct context *context, struct error *err);
// Brings a device back that was taken out.
int doctor_clear(struct context *context, const char *uuid, const char *who, const char *why,
                 struct error *err);
// Calls `found` for each device that is out, as far as there is a store.
typedef void doctor_found(void *data, const char *uuid, const char *why);
void doctor_out(struct context *context, doctor_found *found, void *data);

#endif
