// SPDX-License-Identifier: Apache-2.0
//
// Reads the kernel times of Nsight Systems, in three forms:
//   nsys stats -r cuda_gpu_kern_sum (or cuda_gpu_kern_gb_sum; gpukernsum before 2023) --format csv:
//       a row per kernel; its median is the one time that is read, or its mean if there is none
//   nsys stats -r cuda_gpu_trace (gputrace) --format csv: a row per launch; each is a sample
//   nsys export --type sqlite: the same, from the table CUPTI_ACTIVITY_KIND_KERNEL
// The columns become
//   kernel   Name without return type and parameters
//   problem  a profiler does not know it: --problem, and --kernel to select one kernel's launches
//   time     in the unit that a column's name says
//   device   the database's UUID; a table names none: --device
// Copies and fills of memory are left out. If launches of one problem have other grids or
// blocks, these go into their kernel's name. nsys does not lock clocks. Columns:
// docs.nvidia.com/nsight-systems, "Statistical Reports Shipped With Nsight Systems" and
// its SQLite schema.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// Launches that are samples of one series: they have one kernel, device, grid and block.
struct launch_group {
    const char *name, *grid, *block, *device;
    const char *device_name;
    double *times_ns;
    size_t count, room;
};

static int add_group(struct import *in, const struct launch_group *g, const char *regime,
                     struct error *err)
{
    struct arena *arena = &in->run.arena;
    struct foreign_label labels[FOREIGN_LABELS];
    struct foreign f = {.name = arena_strdup(arena, g->name),
                        .state = MEASURED_OK,
                        .regime = regime,
                        .label = labels};
    f.device = foreign_device(in, "cuda", g->device, g->device_name);
    foreign_name(&f, foreign_bare_name(arena, g->name));
    foreign_label(&f, "grid", g->grid);
    foreign_label(&f, "block", g->block);
    return foreign_add(in, &f, g->times_ns, g->count, err);
}

// ---- tables that nsys prints ----

static bool has_word(const char *line, size_t length, const char *word)
{
    return memmem(line, length, word, strlen(word)) != NULL;
}

// Finds the line with the columns of a table of kernels, and the end of that table. nsys prints
// several tables one after the other, with an empty line or a title between them.
static const char *find_table(size_t *line_length, size_t *end, const struct import_file *file)
{
    const char *stop = file->text + file->length, *found = NULL;
    size_t length;
    for (const char *at = file->text; at < stop; at += length + 1) {
        const char *newline = memchr(at, '\n', (size_t)(stop - at));
        length = (size_t)((newline ? newline : stop) - at);
        if (found && (length == 0 || *at == '\r' || strncmp(at, "Processing [", 12) == 0)) {
            *end = (size_t)(at - file->text);
            return found;
        }
        if (found || !has_word(at, length, "Name") ||
            (!(has_word(at, length, "Total Time") && has_word(at, length, "Instances")) &&
             !(has_word(at, length, "Start (") && has_word(at, length, "Duration (") &&
               has_word(at, length, "Grd"))))
            continue;
        found = at;
        *line_length = length;
    }
    *end = file->length;
    return found;
}

// The first column whose name begins with this text; -1: there is none.
static int column_of(const struct csv *csv, const char *begin)
{
    for (size_t i = 0; i < csv->columns; i++) {
        if (strncmp(csv->header[i], begin, strlen(begin)) == 0)
            return (int)i;
    }
    return -1;
}

static const char *cell(const struct csv *csv, size_t row, const char *column)
{
    const int at = column_of(csv, column);
    return at < 0 ? "" : csv->rows[row].fields[at];
}

// The unit in a column's head, in nanoseconds: 1 for "Med (ns)"; 0: the head has no unit.
static double unit_of(const struct csv *csv, int column)
{
    const char *open = column < 0 ? NULL : strchr(csv->header[column], '(');
    char unit[16] = "";
    if (open)
        snprintf(unit, sizeof(unit), "%.*s", (int)strcspn(open + 1, ")"), open + 1);
    return foreign_unit_ns(unit);
}

// Makes "4-106-1" of three columns, or of one column that has all three numbers.
static const char *shape_of(const struct csv *csv, size_t row, const char *first,
                            const char *const three[3], struct arena *arena)
{
    if (column_of(csv, first) >= 0)
        return cell(csv, row, first);
    if (!cell(csv, row, three[0])[0])
        return "";
    return arena_printf(arena, "%s-%s-%s", cell(csv, row, three[0]), cell(csv, row, three[1]),
                        cell(csv, row, three[2]));
}

static int read_row(struct import *in, const struct csv *csv, size_t row, int column,
                    double unit_ns, struct error *err)
{
    static const char *const grid[] = {"GrdX", "GrdY", "GrdZ"}, *const block[] = {"BlkX", "BlkY",
                                                                                  "BlkZ"};
    struct arena *arena = &in->run.arena;
    double time_ns = csv_number(csv->rows[row].fields[column], '.') * unit_ns;
    const struct launch_group g = {.name = cell(csv, row, "Name"),
                                   .grid = shape_of(csv, row, "GridXYZ", grid, arena),
                                   .block = shape_of(csv, row, "BlockXYZ", block, arena),
                                   .device = "nsys",
                                   .device_name = "unknown",
                                   .times_ns = &time_ns,
                                   .count = 1};
    in->line = csv->rows[row].line;
    if (strncmp(g.name, "[CUDA ", 6) == 0) {
        in->report.rows++;
        in->report.unwanted++;
        return 0;
    }
    return add_group(in, &g, column_of(csv, "Instances") < 0 ? "nsys" : "nsys, median", err);
}

static int read_table(struct import *in, const struct csv *csv, struct error *err)
{
    static const char *const names[] = {"Duration (", "Med (", "Avg (", "Average"};
    int column = -1;
    for (size_t i = 0; i < ARRAY_COUNT(names) && column < 0; i++)
        column = column_of(csv, names[i]);
    double unit_ns = unit_of(csv, column);
    // Such as "Average", before version 2021.5.
    if (column >= 0 && !strchr(csv->header[column], '('))
        unit_ns = unit_of(csv, column_of(csv, "Total Time ("));
    if (column < 0 || unit_ns == 0)
        return error_set(err, "%.200s: no column of a kernel's time that says its unit", in->name);
    for (size_t row = 0; row < csv->count; row++) {
        if (read_row(in, csv, row, column, unit_ns, err))
            return -1;
    }
    return 0;
}

static int import_table_of(struct import *in, const struct import_file *file, struct error *err)
{
    size_t length, end;
    const char *header = find_table(&length, &end, file);
    struct csv csv = {0};
    if (!header)
        return error_set(err, "%.200s: no table of nsys about kernels in it", in->name);
    char *first = xprintf("%.*s", (int)length, header);
    const struct import_file table = {.text = file->text, .length = end};
    int status = foreign_table(&csv, in, first, &table, err);
    if (status == 0)
        status = foreign_begin(in, "nsys", NULL, file, err);
    if (status == 0)
        status = read_table(in, &csv, err);
    csv_free(&csv);
    free(first);
    return status;
}

// ---- the database ----

static const char database_mark[] = "SQLite format 3";

static bool is_database(const struct import_file *file)
{
    return file->length > 100 && memcmp(file->text, database_mark, sizeof(database_mark)) == 0;
}

// A hostile database may make a query endless, so a query is stopped after this many steps.
enum { STEPS_AT_ONCE = 1 << 16, STEPS_MOST = 4000 };

static int count_steps(void *context)
{
    return ++*(int *)context > STEPS_MOST;
}

static int fail(const struct import *in, sqlite3 *db, struct error *err)
{
    return error_set(err, "%.200s: not a database of nsys: %.200s", in->name, sqlite3_errmsg(db));
}

// Opens the file as a read-only database in memory. Only its tables are read; triggers and views
// never run.
static int open_database(sqlite3 **out, const struct import *in, const struct import_file *file,
                         struct error *err)
{
    unsigned char *bytes = (unsigned char *)(uintptr_t)file->text;
    *out = NULL;
    if (bytes[18] == 2 || bytes[19] == 2)
        return error_set(err,
                         "%.200s: its newest part may lie in another file; close it with "
                         "sqlite3 FILE 'PRAGMA journal_mode = delete'",
                         in->name);
    if (sqlite3_open_v2(":memory:", out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) ||
        sqlite3_db_config(*out, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) ||
        sqlite3_db_config(*out, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) ||
        sqlite3_db_config(*out, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) ||
        sqlite3_db_config(*out, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) ||
        sqlite3_exec(*out, "PRAGMA cell_size_check = 1; PRAGMA cache_size = -16000", NULL, NULL,
                     NULL) ||
        sqlite3_deserialize(*out, "main", bytes, (sqlite3_int64)file->length,
                            (sqlite3_int64)file->length, SQLITE_DESERIALIZE_READONLY))
        return fail(in, *out, err);
    sqlite3_limit(*out, SQLITE_LIMIT_LENGTH, 1 << 20);
    return 0;
}

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

// The SQL for a column of the GPU that the launch ran on; "NULL" if the database has no such
// column. GPUs that CUDA does not use also have the CUDA number 0, so they must be excluded.
static char *of_gpu(sqlite3 *db, const char *column)
{
    if (!has_column(db, "TARGET_INFO_GPU", column))
        return xstrdup("NULL");
    if (has_column(db, "TARGET_INFO_CUDA_DEVICE", "cudaId"))
        return xprintf("(SELECT g.%s FROM TARGET_INFO_GPU g JOIN TARGET_INFO_CUDA_DEVICE d ON "
                       "d.gpuId = g.id WHERE d.cudaId = k.deviceId)",
                       column);
    return xprintf("(SELECT g.%s FROM TARGET_INFO_GPU g WHERE g.%s = k.deviceId)", column,
                   has_column(db, "TARGET_INFO_GPU", "cuDevice") ? "cuDevice" : "id");
}

// Refuses too many launches: a file of 64 MiB may have two and a half million, and sorting those
// takes more than 5 s.
static int check_launches(const struct import *in, sqlite3 *db, const char *table,
                          struct error *err)
{
    enum { LAUNCHES_MOST = 1500000 };
    sqlite3_stmt *counting = NULL;
    char *sql = xprintf("SELECT count(*) FROM %s", table);
    int status =
        sqlite3_prepare_v2(db, sql, -1, &counting, NULL) || sqlite3_step(counting) != SQLITE_ROW
            ? fail(in, db, err)
            : 0;
    if (status == 0 && sqlite3_column_int64(counting, 0) > LAUNCHES_MOST)
        status = error_set(err, "%.200s: more than %d launches in one database; split it", in->name,
                           LAUNCHES_MOST);
    sqlite3_finalize(counting);
    free(sql);
    return status;
}

static int prepare(sqlite3_stmt **out, const struct import *in, sqlite3 *db, struct error *err)
{
    static const char kernels[] = "CUPTI_ACTIVITY_KIND_KERNEL";
    if (!has_column(db, kernels, "start"))
        return error_set(err,
                         "%.200s: no kernels in it; profile with --trace=cuda and export with "
                         "nsys export --type sqlite",
                         in->name);
    if (check_launches(in, db, kernels, err))
        return -1;
    char *uuid = of_gpu(db, "uuid"), *name = of_gpu(db, "name");
    char *sql = xprintf(
        "SELECT (SELECT s.value FROM StringIds s WHERE s.id = k.%s), k.deviceId, k.gridX || '-' || "
        "k.gridY || '-' || k.gridZ, k.blockX || '-' || k.blockY || '-' || k.blockZ, "
        "k.\"end\" - k.start, %s, %s FROM %s k ORDER BY 1, 2, 3, 4, k.start",
        has_column(db, kernels, "demangledName") ? "demangledName" : "shortName", uuid, name,
        kernels);
    const int code = sqlite3_prepare_v2(db, sql, -1, out, NULL);
    free(sql);
    free(uuid);
    free(name);
    return code ? fail(in, db, err) : 0;
}

static const char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

// The name that plumb uses for the GPU with that UUID. nsys writes the UUID with or without its
// first word.
static const char *device_at(sqlite3_stmt *s, struct arena *arena)
{
    const char *uuid = text_at(s, 5), *name = text_at(s, 6);
    if (uuid[0])
        return arena_printf(arena, "%s%.100s", strncmp(uuid, "GPU-", 4) == 0 ? "" : "GPU-", uuid);
    return arena_printf(arena, "nsys:%.100s:%s", name[0] ? name : "unknown", text_at(s, 1));
}

static bool goes_on(const struct launch_group *g, sqlite3_stmt *s, struct arena *arena)
{
    return g->name && strcmp(g->name, text_at(s, 0)) == 0 && strcmp(g->grid, text_at(s, 2)) == 0 &&
           strcmp(g->block, text_at(s, 3)) == 0 && strcmp(g->device, device_at(s, arena)) == 0;
}

static int read_launches(struct import *in, sqlite3_stmt *s, struct launch_group *g,
                         struct error *err)
{
    struct arena *arena = &in->run.arena;
    struct arena scratch = {0};
    int status = 0;
    while (status == 0 && sqlite3_step(s) == SQLITE_ROW) {
        if (!goes_on(g, s, &scratch)) {
            if (g->count)
                status = add_group(in, g, "nsys", err);
            g->name = arena_strdup(arena, text_at(s, 0));
            g->grid = arena_strdup(arena, text_at(s, 2));
            g->block = arena_strdup(arena, text_at(s, 3));
            g->device = device_at(s, arena);
            g->device_name = arena_strdup(arena, text_at(s, 6)[0] ? text_at(s, 6) : "unknown");
            g->count = 0;
        }
        g->times_ns = xgrow(g->times_ns, g->count, &g->room, sizeof(*g->times_ns));
        g->times_ns[g->count++] = sqlite3_column_double(s, 4);
        arena_free(&scratch);
    }
    if (status == 0 && g->count)
        status = add_group(in, g, "nsys", err);
    return status;
}

static int import_database(struct import *in, const struct import_file *file, struct error *err)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    struct launch_group group = {0};
    int steps = 0;
    int status = open_database(&db, in, file, err);
    if (status == 0) {
        sqlite3_progress_handler(db, STEPS_AT_ONCE, count_steps, &steps);
        status = prepare(&statement, in, db, err);
    }
    if (status == 0)
        status = foreign_begin(in, "nsys", NULL, file, err);
    if (status == 0)
        status = read_launches(in, statement, &group, err);
    const int code = statement ? sqlite3_finalize(statement) : SQLITE_OK;
    if (status == 0 && code != SQLITE_OK)
        status = fail(in, db, err);
    sqlite3_close(db);
    free(group.times_ns);
    return status;
}

static bool is_nsys(const struct import_file *file)
{
    size_t length, end;
    return is_database(file) || find_table(&length, &end, file);
}

static int import_nsys(struct import *in, const struct import_file *file, struct error *err)
{
    const int status =
        is_database(file) ? import_database(in, file, err) : import_table_of(in, file, err);
    return status ? -1 : foreign_end(in, err);
}

const struct importer importer_nsys = {"nsys", is_nsys, import_nsys, NULL};
