// SPDX-License-Identifier: Apache-2.0
//
// Makes records: of one kernel of a library, whose launches a sandboxed bench tells and whose
// device code stands in the library's file, or of a plan with its cubins. Neither runs here.
#ifndef PLUMB_RUNNER_RECORD_H
#define PLUMB_RUNNER_RECORD_H

#include "model/record/record.h"
#include "runner/bench/measure.h"

// `bench` runs the library's host code: it should time nothing else. Writes the file at once, or
// not at all. 0 with out->state MEASURED_OK; another state when the kernel cannot be recorded, with
// the reason in out->detail; -1: the device is gone, or the file cannot be written.
int record_write(struct bench_outcome *out, const char *path, struct bench *bench,
                 const struct bench_series *series, struct error *err);
// Writes the record of a problem on a device with so many multiprocessors. 0 with out->state
// MEASURED_OK; another state where the plan cannot be followed for this problem, with the reason in
// out->detail; -1: the file cannot be written.
int record_of_plan(struct bench_outcome *out, const char *to, const char *path,
                   const struct problem *problem, int64_t sms, struct error *err);

// The code id of a record: it covers the launches, and of their kernels what code_id_of_kernel()
// does. Two records of one id put the same code on the device, called alike. -1: it is no record.
int record_code_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err);

// Writes a whole record, at once or not at all. Its images are written without the code of kernels
// that it does not launch (code_clear_unlaunched()).
int record_save(const struct record *record, const char *path, struct error *err);

#endif
