// SPDX-License-Identifier: Apache-2.0
//
// Says itself that its turn is over, and leaves the rest of its work to one call of the system,
// which no signal interrupts: it has a file in memory copied into its workspace.
//
// source: plumbline's own gate, 2026-11-28
// expect: slower
#include "tests/cheats/host/cheat.h"
#include "tests/cheats/host/page.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CALL_BYTES = 1 << 18, MOST = 512, EACH = 4 };
static struct arm_page *page;
static int file;
static uint32_t turn, launches;

// Reads `count` parts of the file in one call.
static void copy_in_one_call(void *to, uint32_t count)
{
    struct iovec parts[MOST];
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (struct iovec){to, CALL_BYTES};
    if (preadv(file, parts, (int)count, 0) < 0)
        abort();
}

static void run(const struct plumb_args *args)
{
    if (!file) {
        page = find_page();
        file = memfd_create("rest", MFD_CLOEXEC);
        if (ftruncate(file, (off_t)MOST * CALL_BYTES))
            abort();
    }
    multiply(args, 0);
    launches = page && turn == page->turn ? launches + 1 : 1;
    turn = page ? page->turn : 0;
    if (!page || page->launches * EACH > MOST) {
        copy_in_one_call(args->workspace, EACH);
    } else if (launches == page->launches) {
        say_done(page);
        copy_in_one_call(args->workspace, launches * EACH);
    }
}
CHEAT(run)
