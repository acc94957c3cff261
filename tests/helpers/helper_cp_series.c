// SPDX-License-Identifier: Apache-2.0
//
// Makes histories that fool detectors, from a seed.
#include "tests/helpers/helper_cp_series.h"

#include "model/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cp_kind_names[CP_KINDS] = {
    [CP_NORMAL] = "normal",      [CP_SPIKES] = "5 % spikes",      [CP_AR5] = "AR(1) 0.5",
    [CP_AR8] = "AR(1) 0.8",      [CP_BIMODAL] = "bimodal 80:20",  [CP_TWO_MODES] = "bimodal 50:50",
    [CP_WALK] = "random walk",   [CP_LOUDER] = "louder 2nd half", [CP_STEPPED] = "whole numbers",
    [CP_SKEWED] = "exponential",
};

static double spike(struct random *random)
{
    if (random_uniform(random) >= 0.05)
        return 0;
    double size = 5 + 15 * random_uniform(random);
    return random_coin(random) ? size : -size;
}

void cp_series(double *values, size_t n, enum cp_kind kind, struct random *random)
{
    double state = random_normal(random);
    for (size_t i = 0; i < n; i++) {
        double z = random_normal(random), r = kind == CP_AR5 ? 0.5 : 0.8;
        switch (kind) {
        case CP_SPIKES:
            z += spike(random);
            break;
        case CP_AR5:
        case CP_AR8:
            z = state = r * state + sqrt(1 - r * r) * z;
            break;
        case CP_BIMODAL:
            z += random_uniform(random) < 0.2 ? 8 : 0;
            break;
        case CP_TWO_MODES:
            z += random_coin(random) ? 8 : 0;
            break;
        case CP_WALK:
            z = state += z;
            break;
        case CP_LOUDER:
            z *= 2 * i >= n ? 3 : 1;
            break;
        case CP_STEPPED:
            z = round(1.5 * z);
            break;
        case CP_SKEWED:
            z = -log(random_uniform(random));
            break;
        case CP_NORMAL:
        case CP_KINDS:
            break;
        }
        values[i] = 100 + z;
    }
}

void cp_add_step(double *values, size_t n, size_t at, double size)
{
    for (size_t i = at; i < n; i++)
        values[i] += size;
}

size_t cp_load_backgrounds(struct cp_background *out, size_t room)
{
    FILE *file = fopen(TEST_DATA "/history-backgrounds.csv", "rb");
    static char text[65536];
    size_t length = file ? fread(text, 1, sizeof(text), file) : 0, count = 0;
    if (file)
        fclose(file);
    struct csv csv;
    struct error err;
    if (csv_parse(&csv, text, length, "history-backgrounds.csv", &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < csv.count; i++) {
        const char *name = csv.rows[i].fields[0];
        if ((count == 0 || strcmp(out[count - 1].name, name) != 0) && count < room)
            text_copy(out[count++].name, sizeof(out->name), name);
        struct cp_background *b = &out[count - 1];
        if (b->count < ARRAY_COUNT(b->values))
            parse_double(&b->values[b->count++], csv.rows[i].fields[1]);
    }
    csv_free(&csv);
    return count;
}
