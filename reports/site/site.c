// SPDX-License-Identifier: Apache-2.0
//
// Decides which pages the site has and which must be made again, and writes them.
//
// Pages that need only the summaries are made every time, and written only if their bytes differ. A
// kernel's page needs all points of its series, and a file of times needs those of its runs. So
// each carries a stamp of its inputs; if the existing file has the same stamp, nothing is loaded.
#include "reports/site/site_parts.h"

typedef int write_pages(struct site_target *target, const struct site_map *map, struct error *err);

static write_pages *const pages[] = {site_write_kernels, site_write_overview, site_write_accuracy,
                                     site_write_events,  site_write_runs,     site_write_compare,
                                     site_write_metrics};

static int write_all(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer style = {0};
    for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
        if (pages[i](target, map, err))
            return -1;
    }
    buffer_puts(&style, page_style());
    return site_put(target, "", "page", ".css", &style, err);
}

int site_write(const struct site *site, const char *directory, struct site_written *written,
               struct error *err)
{
    static const char *const folders[] = {"",        "/kernel",  "/series", "/device",
                                          "/points", "/compare", "/commit", "/run"};
    struct site_target target = {.directory = directory};
    struct site_map map;
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        if (site_make_folder(directory, folders[i], err))
            return -1;
    }
    site_map_make(&map, site);
    int status = write_all(&target, &map, err);
    site_map_free(&map);
    if (status == 0 && written)
        *written = target.written;
    return status;
}
