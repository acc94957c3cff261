// SPDX-License-Identifier: Apache-2.0
//
// Every series' past for the site: what the store keeps of it, and what is new judged and kept.
#ifndef PLUMB_SITE_PAST_H
#define PLUMB_SITE_PAST_H

#include "ci/history/history_store.h"
#include "ci/history/past_kept.h"

// As history_load(), of all points of the series that the request selects (NULL: all). `kept` gets
// one judgement per series of the set, in its arena. A store that takes nothing (full, or busy for
// long) is complained of on standard error and does not stop it: what is not kept is judged again
// the next time.
int site_past_load(struct history_set *out, struct judgement **kept, struct store *store,
                   const struct history_request *request, const char *epochs_path,
                   struct error *err);

#endif
