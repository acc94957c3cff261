// SPDX-License-Identifier: Apache-2.0
//
// The store's file: opening it (is it ours, of our version, and intact; only then is it used),
// checking it, and making it smaller.
#include "baselines/statement.h"

#include "baselines/fields.h"
#include "baselines/pack.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// ==== opening ====

enum { STORE_APPLICATION_ID = 0x706c756d }; // "plum", PRAGMA application_id

// ---- migrations: the newest schema, and no tables beside those that they make ----

#define X(name) extern const unsigned char migration_##name[];
#include "baselines/migrations.inc"
#undef X

#define X(name) {#name, migration_##name},
static const struct {
    const char *name; // begins with the version
    const unsigned char *sql;
} migrations[] = {
#include "baselines/migrations.inc"
};
#undef X

extern const unsigned char store_schema[]; // written by migrations/schema.c

static const char *sql_type(enum field_type type)
{
    switch (type) {
    case FIELD_COUNT:
    case FIELD_SIZE:
    case FIELD_SEED:
    case FIELD_TIME:
    case FIELD_FLAG:
    case FIELD_SET:
        return " INTEGER";
    case FIELD_SHARED:
    case FIELD_RARE:
        return "_key INTEGER REFERENCES texts";
    default:
        return field_is_number(type) ? " REAL" : " TEXT";
    }
}

// Returns the SQL that adds the columns of all fields that this version of the store introduced;
// NULL if it introduced none. The caller frees.
static char *fields_migration(int version)
{
    struct buffer sql = {0};
    for (size_t i = 0; i < all_fields_count; i++) {
        const struct stored_fields *fields = all_fields[i];
        for (size_t k = 0; k < fields->count; k++) {
            if (fields->items[k].since == version)
                buffer_printf(&sql, "ALTER TABLE %s ADD COLUMN %s%s;\n", fields->table,
                              fields->items[k].column, sql_type(fields->items[k].type));
        }
    }
    return sql.bytes;
}

// The newest version of the store that introduced a field.
static int fields_version(void)
{
    int newest = 0;
    for (size_t i = 0; i < all_fields_count; i++) {
        for (size_t k = 0; k < all_fields[i]->count; k++)
            newest =
                all_fields[i]->items[k].since > newest ? all_fields[i]->items[k].since : newest;
    }
    return newest;
}

static int file_version(size_t index)
{
    return (int)strtol(migrations[index].name, NULL, 10);
}

int migration_count(void)
{
    const int files = file_version(ARRAY_COUNT(migrations) - 1), fields = fields_version();
    return files > fields ? files : fields;
}

// Returns the SQL that makes this version from the one before: a migration's file, or columns for
// the fields that this version introduced. NULL: there is no such version. The caller frees.
static char *migration_sql(int version)
{
    for (size_t i = 0; i < ARRAY_COUNT(migrations); i++) {
        if (file_version(i) == version)
            return xstrdup((const char *)migrations[i].sql);
    }
    return fields_migration(version);
}

// Reads the integer value of one pragma.
static int migration_pragma(int64_t *out, struct store *store, const char *sql, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    int status = code == SQLITE_ROW ? 0 : store_fail(store, err);
    sqlite3_finalize(statement);
    if (status == 0)
        *out = value;
    return status;
}

static int run_script(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

// Another process may have migrated between reading the version and taking the lock, so the version
// is read again.
static int apply_next(bool *more, struct store *store, struct error *err)
{
    int64_t version;
    char stamp[128], *sql = NULL;
    if (run_script(store, "BEGIN IMMEDIATE", err))
        return -1;
    if (migration_pragma(&version, store, "PRAGMA user_version", err))
        goto undo;
    if (version >= migration_count()) {
        *more = false;
        return run_script(store, "COMMIT", err);
    }
    snprintf(stamp, sizeof(stamp), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             STORE_APPLICATION_ID, (int)version + 1);
    sql = migration_sql((int)version + 1);
    if (run_script(store, sql, err) || run_script(store, stamp, err))
        goto undo;
    free(sql);
    *more = true;
    return 0;
undo:
    free(sql);
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

// Applies missing migrations, each in one transaction with its version number.
static int migration_apply(struct store *store, struct error *err)
{
    bool more = true;
    while (more) {
        if (apply_next(&more, store, err))
            return -1;
    }
    return 0;
}

// The schema as one text; NULL on failure. The caller frees.
static char *schema_text(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    const char *sql = "SELECT group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || "
                      "ifnull(sql, ''), char(10)) FROM (SELECT * FROM sqlite_schema WHERE name "
                      "NOT LIKE 'sqlite~_stat%' ESCAPE '~' ORDER BY type, name)";
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        text = xstrdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

char *migration_schema(void)
{
    sqlite3 *db = NULL;
    char *text = NULL;
    bool made = sqlite3_open(":memory:", &db) == SQLITE_OK;
    for (int version = 1; made && version <= migration_count(); version++) {
        char *sql = migration_sql(version);
        made = sql && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
        free(sql);
    }
    if (made)
        text = schema_text(db);
    if (!text && sqlite3_errcode(db) == SQLITE_NOMEM)
        out_of_memory();
    sqlite3_close(db);
    return text;
}

// Fails unless the file's schema is, text by text, what the migrations make: no view, trigger or
// table of another origin is ever run. SQLite's own indexes and ANALYZE's tables may be there.
// Running all migrations takes 20 ms, so the schema that was made when plumb was built is compared
// first; another version of SQLite may write it differently.
static int migration_verify(struct store *store, struct error *err)
{
    static char *expected; // once per process
    char *found = schema_text(store->db);
    int status = 0;
    if (found && strcmp(found, (const char *)store_schema) == 0)
        goto done;
    const int code = sqlite3_errcode(store->db);
    if (!found && code != SQLITE_DONE && code != SQLITE_OK && code != SQLITE_ROW)
        return store_fail(store, err);
    expected = expected ? expected : migration_schema();
    if (!expected)
        status = error_set(err, "this program's migrations do not run; it is built wrongly");
    else if (!found || strcmp(found, expected) != 0)
        status = error_set(err,
                           "store %s: its tables are not those of version %d; another program "
                           "changed them, restore a copy",
                           store->path, migration_count());
done:
    free(found);
    return status;
}

// No row of ours is nearly that large; a hostile one is refused before it fills the memory.
enum { STORE_LENGTH_LIMIT = 64 << 20 };

const char *store_library(void)
{
    return sqlite3_libversion();
}

static int make_folder(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    char *folder = xprintf("%.*s", (int)(slash - path), path);
    int status = 0;
    if (mkdir(folder, 0777) && errno != EEXIST)
        status = error_set(err, "store %s: cannot make its folder: %s", path, strerror(errno));
    free(folder);
    return status;
}

// Looks at a journal next to the store. 2: it cannot be opened (errno says why); 1: it is not ours;
// 0: there is none, or it is ours; -1: it changed meanwhile, because another process writes.
static int look_at_journal(const char *journal)
{
    static const unsigned char mark[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char end[sizeof(mark)] = {0};
    struct stat info;
    const int file = open(journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? 0 : errno == ESTALE ? -1 : errno == ELOOP ? 1 : 2;
    int is = fstat(file, &info) ? -1 : !S_ISREG(info.st_mode);
    if (is == 0 && info.st_size >= (off_t)sizeof(end)) {
        const bool whole =
            pread(file, end, sizeof(end), info.st_size - (off_t)sizeof(end)) == sizeof(end);
        is = !whole ? -1 : memcmp(end, mark, sizeof(mark)) == 0;
    }
    close(file);
    return is;
}

// Refuses a foreign journal. SQLite rolls back what a journal next to a file holds; it then deletes
// the file that the journal's end names as its super-journal, whatever file that is. Our stores
// never have such a journal (they use a log, and one file is written at a time), but a hostile
// folder may.
static int check_journal(const char *path, struct error *err)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    char *real = realpath(path, NULL), *journal = xprintf("%s-journal", real ? real : path);
    int is, status = 0;
    for (int waited_ms = 0; (is = look_at_journal(journal)) < 0 && waited_ms < STORE_WAIT_MS;
         waited_ms += 10)
        nanosleep(&pause, NULL);
    if (is == 2)
        status = error_set(err, "store %s: %s: %s", path, journal, strerror(errno));
    else if (is)
        status =
            error_set(err,
                      "store %s: %s is no journal of plumb's, and undoing it could delete "
                      "other files; look at where the store comes from, and remove the journal",
                      path, journal);
    free(journal);
    free(real);
    return status;
}

static int check_path(const char *path, enum store_mode mode, struct error *err)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISREG(info.st_mode))
            return check_journal(path, err);
        return error_set(err, "store %s: is %s; name a file", path,
                         S_ISDIR(info.st_mode) ? "a directory" : "not a plain file");
    }
    if (errno != ENOENT)
        return error_set(err, "store %s: %s", path, strerror(errno));
    if (mode == STORE_READ)
        return error_set(err,
                         "store %s: there is none yet; `plumb run` makes it, or name another "
                         "with --store",
                         path);
    return make_folder(path, err);
}

char *store_uri(const char *path, const char *options)
{
    char *uri = xcalloc(strlen(path) * 3 + strlen(options) + 16, 1);
    char *at = uri + sprintf(uri, path[0] == '/' ? "file://" : "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            at += sprintf(at, "%%%02x", (unsigned)*c);
        else
            *at++ = *c;
    }
    memcpy(at, options, strlen(options) + 1);
    return uri;
}

static int connect_file(struct store *store, const char *options, struct error *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    flags |= store->mode == STORE_READ ? SQLITE_OPEN_READONLY
                                       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    char *uri = store_uri(store->path, options);
    int code = sqlite3_open_v2(uri, &store->db, flags, NULL);
    free(uri);
    if (code != SQLITE_OK)
        return error_set(err,
                         "store %s: cannot be opened (%s); check its permissions and its "
                         "folder's",
                         store->path, store->db ? sqlite3_errmsg(store->db) : "no memory");
    // A file from elsewhere may not run anything: no triggers, no views, no unsafe functions in its
    // schema, no writing to internal tables.
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, STORE_LENGTH_LIMIT);
    sqlite3_busy_timeout(store->db, STORE_WAIT_MS);
    return 0;
}

// The marks by which a file identifies itself. They are read before anything else of it is used.
struct identity {
    int64_t application, version, tables;
};

// Reads them in one statement, and so at one moment: between two statements another process could
// create the store.
static int read_identity(struct identity *out, struct store *store, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db,
                                  "SELECT application_id, user_version, (SELECT count(*) FROM "
                                  "sqlite_schema) FROM pragma_application_id, pragma_user_version",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    int status = code == SQLITE_ROW ? 0 : store_fail(store, err);
    if (status == 0)
        *out = (struct identity){.application = sqlite3_column_int64(statement, 0),
                                 .version = sqlite3_column_int64(statement, 1),
                                 .tables = sqlite3_column_int64(statement, 2)};
    sqlite3_finalize(statement);
    return status;
}

// Opens a WAL store in a folder where no file can be created. It can be read if no one writes to it
// and no log is left, because then the file is complete.
static int connect_unwritable(struct store *store)
{
    struct stat info;
    struct error ignored;
    char *log = xprintf("%s-wal", store->path);
    bool whole = stat(log, &info) != 0 || info.st_size == 0;
    free(log);
    int code = sqlite3_errcode(store->db);
    if (!whole || store->mode != STORE_READ || (code != SQLITE_CANTOPEN && code != SQLITE_READONLY))
        return -1;
    sqlite3_close(store->db);
    store->db = NULL;
    return connect_file(store, "?immutable=1", &ignored);
}

static int check_identity(const struct store *store, struct identity file, struct error *err)
{
    int known = migration_count();
    bool empty = file.tables == 0 && file.application == 0 && file.version == 0;
    if (!empty && file.application != STORE_APPLICATION_ID)
        return error_set(err, "store %s: is a database of another program; name another file",
                         store->path);
    if (file.version > known)
        return error_set(err,
                         "store %s is version %lld, this plumb knows %d: install a newer "
                         "plumb",
                         store->path, (long long)file.version, known);
    if (store->mode == STORE_READ && file.version < known)
        return error_set(err,
                         "store %s is version %lld, this plumb needs %d: bring it up with "
                         "`plumb store upgrade`",
                         store->path, (long long)file.version, known);
    return 0;
}

// ---- where the store lies
//
// The processes that use a log (WAL) share memory, so they must run on one machine. On a file
// system that several machines write to, SQLite's older journal is used: it needs only locks, which
// most of these file systems have. On some of them a machine may not see another one's locks (two
// mounts of bindfs, sshfs, a 9p server whose locks always succeed). There only one machine writes
// at a time; a file next to the store says which one.

struct file_system {
    unsigned long magic;
    const char *name;
    bool deaf; // machines may not see each other's locks
};

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? xprintf("%.*s", slash == path ? 1 : (int)(slash - path), path) : xstrdup(".");
}

// Finds the kind of file system. NULL: it belongs to this machine alone.
static const struct file_system *shared_file_system(const char *path)
{
    static const struct file_system known[] = {
        {0x6969, "NFS", false},       {0x517b, "SMB", false},       {0xff534d42, "SMB", false},
        {0xfe534d42, "SMB", false},   {0x01021997, "9p", true},     {0x5346414f, "AFS", true},
        {0x00c36400, "Ceph", false},  {0x0bd00bd0, "Lustre", true}, {0x47504653, "GPFS", false},
        {0x01161970, "GFS2", false},  {0x7461636f, "OCFS2", false}, {0x65735546, "FUSE", true},
        {0x19830326, "BeeGFS", true}, {0x786f4256, "vboxsf", true}};
    struct statfs info;
    char *folder = folder_of(path);
    const bool told = statfs(folder, &info) == 0;
    free(folder);
    for (size_t i = 0; told && i < ARRAY_COUNT(known); i++) {
        if (((unsigned long)info.f_type & 0xffffffffu) == known[i].magic)
            return &known[i];
    }
    return NULL;
}

enum {
    MARK_IDLE_S = 900,
    MARK_PAUSE_MS = 20
}; // after so many seconds without a write, another machine may take over

// Identifies this machine since it started, and this mount, because two mounts on one machine do
// not see each other's locks either.
static char *machine_mark(const char *path)
{
    char boot[40] = "", *folder = folder_of(path);
    struct stat info = {0};
    struct utsname machine = {0};
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, boot, sizeof(boot) - 1) <= 0)
        boot[0] = '\0';
    if (file >= 0)
        close(file);
    boot[strcspn(boot, "\n")] = '\0';
    stat(folder, &info);
    uname(&machine);
    free(folder);
    return xprintf("%.60s %s:%llx\n", machine.nodename, boot, (unsigned long long)info.st_dev);
}

// Seconds since the file was written, by the clock of the file's server.
static double idle_s(const char *path, const struct stat *mark)
{
    char *other = xprintf("%s.%ld", path, (long)getpid());
    struct stat now = {.st_mtime = time(NULL)};
    const int file = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        fstat(file, &now);
        close(file);
        unlink(other);
    }
    free(other);
    return difftime(now.st_mtime, mark->st_mtime);
}

static int refuse_mark(const struct store *store, const char *where, char *said, double idle,
                       struct error *err)
{
    said[strcspn(said, " \n")] = '\0';
    for (char *c = said; *c; c++)
        *c = isalnum((unsigned char)*c) || *c == '-' || *c == '.' ? *c : '?';
    return error_set(err,
                     "store %s: lies on %s, where machines may not see each other's locks, and "
                     "%.60s writes it (%s, %.0f s ago): run again when it has ended, or after %d "
                     "minutes; or give each machine a store, and join them with `plumb store "
                     "merge`",
                     store->path, where, said, store->mark_path, idle, MARK_IDLE_S / 60);
}

// Looks at the existing mark. 0: it is this machine's; 1: it is abandoned, or was removed; -1: it
// is another machine's.
static int join_mark(struct store *store, const char *where, struct error *err)
{
    char said[STORE_MARK_TEXT] = "";
    struct stat mine, there;
    const int file = open(store->mark_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return errno == ENOENT || errno == ESTALE ? 1
                                                  : error_set(err, "store %s: %s: %s", store->path,
                                                              store->mark_path, strerror(errno));
    flock(file, LOCK_SH);
    const bool read_it = read(file, said, sizeof(said) - 1) > 0 && fstat(file, &mine) == 0 &&
                         stat(store->mark_path, &there) == 0 && mine.st_ino == there.st_ino;
    if (read_it && strcmp(said, store->mark) == 0) {
        futimens(file, NULL);
        store->mark_file = file;
        return 0;
    }
    close(file);
    if (!read_it)
        return 1; // it is being made or removed
    const double idle = idle_s(store->mark_path, &mine);
    if (idle < MARK_IDLE_S)
        return refuse_mark(store, where, said, idle, err);
    unlink(store->mark_path);
    return 1;
}

// Makes the mark. 0: it was made.
static int make_mark(struct store *store)
{
    const size_t length = strlen(store->mark);
    const int file =
        open(store->mark_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0)
        return -1;
    store->mark_file = file;
    flock(file, LOCK_SH);
    return write(file, store->mark, length) == (ssize_t)length ? 0 : -1;
}

// Takes the mark; waits for another machine as long as for another process.
static int hold_mark(struct store *store, const char *where, struct error *err)
{
    const struct timespec pause = {.tv_nsec = MARK_PAUSE_MS * 1000000L};
    store->mark_path = xprintf("%s-machine", store->path);
    store->mark = machine_mark(store->path);
    error_set(err, "store %s: %s cannot be written", store->path, store->mark_path);
    for (int waited_ms = 0; waited_ms < STORE_WAIT_MS; waited_ms += MARK_PAUSE_MS) {
        if (make_mark(store) == 0)
            return 0;
        if (errno != EEXIST)
            return error_set(err, "store %s: %s: %s", store->path, store->mark_path,
                             strerror(errno));
        if (join_mark(store, where, err) == 0)
            return 0;
        nanosleep(&pause, NULL);
    }
    return -1;
}

// Whether the file at mark_path still names this machine. The check renews the file's time, as a
// write does.
static bool mark_is_ours(const struct store *store)
{
    char text[STORE_MARK_TEXT] = "";
    const int file = open(store->mark_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool ours = file >= 0 && read(file, text, sizeof(text) - 1) > 0 &&
                      strcmp(text, store->mark) == 0 && futimens(file, NULL) == 0;
    if (file >= 0)
        close(file);
    return ours;
}

// Removes the mark, if this is the last process of this machine.
static void release_mark(struct store *store)
{
    if (store->mark_file > 0 && flock(store->mark_file, LOCK_EX | LOCK_NB) == 0 &&
        mark_is_ours(store))
        unlink(store->mark_path);
    if (store->mark_file > 0)
        close(store->mark_file);
    free(store->mark_path);
    free(store->mark);
}

// Whether the file's header says that it was last written with a log.
static bool has_log(const char *path)
{
    unsigned char header[20];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool read = file >= 0 && pread(file, header, sizeof(header), 0) == sizeof(header);
    if (file >= 0)
        close(file);
    return read && (header[18] == 2 || header[19] == 2);
}

// Removes the log of a store that was made elsewhere, before anything else of it is used. Switching
// the log off needs a lock that other machines see, and no shared memory, which they would not see.
static int leave_log(struct store *store, const char *where, struct error *err)
{
    if (!has_log(store->path))
        return 0;
    if (store->mode == STORE_READ)
        return error_set(
            err,
            "store %s: lies on %s and has a log, which is not safe to read there; bring "
            "it up with `plumb store upgrade`, while no other machine uses it",
            store->path, where);
    if (sqlite3_exec(store->db,
                     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA "
                     "locking_mode = NORMAL; SELECT count(*) FROM sqlite_schema",
                     NULL, NULL, NULL) == SQLITE_OK &&
        !has_log(store->path))
        return 0;
    return error_set(err,
                     "store %s: lies on %s and has a log, which several machines cannot share, and "
                     "somebody uses it; end what does, or keep it on a disk of this machine",
                     store->path, where);
}

// Switches an empty file to WAL. That needs the file exclusively, and SQLite does not wait for that
// by itself.
static int use_log(struct store *store, const char *shared, struct error *err)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const char *mode = shared ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
    // Only a new file gets this page size. With it, reading the history of a large store that is
    // not in memory takes half as many pages as with the default 4096 (measured:
    // tests/measure/bench_store.c).
    int code = sqlite3_exec(store->db, "PRAGMA page_size = 8192", NULL, NULL, NULL);
    code = code == SQLITE_OK ? SQLITE_BUSY : code;
    for (int waited_ms = 0; code == SQLITE_BUSY && waited_ms < STORE_WAIT_MS; waited_ms += 10) {
        code = sqlite3_exec(store->db, mode, NULL, NULL, NULL);
        if (code == SQLITE_BUSY)
            nanosleep(&pause, NULL);
    }
    // FULL: a committed save also survives a power cut. One result takes far longer than one sync.
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db,
                            "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864", NULL,
                            NULL, NULL);
    return code == SQLITE_OK ? 0 : store_fail(store, err);
}

static int open_checked(struct store *store, struct error *err)
{
    struct identity file;
    const struct file_system *place = shared_file_system(store->path);
    const char *shared = place ? place->name : NULL;
    if (place && place->deaf && store->mode == STORE_WRITE && hold_mark(store, shared, err))
        return -1;
    if (connect_file(store, "", err) || (shared && leave_log(store, shared, err)))
        return -1;
    if (read_identity(&file, store, err) &&
        (connect_unwritable(store) || read_identity(&file, store, err)))
        return -1;
    if (check_identity(store, file, err))
        return -1;
    if (store->mode == STORE_WRITE && (use_log(store, shared, err) || migration_apply(store, err)))
        return -1;
    return migration_verify(store, err);
}

int store_open(struct store **out, const char *path, enum store_mode mode, struct error *err)
{
    if (check_path(path, mode, err))
        return -1;
    struct store *store = xcalloc(1, sizeof(*store));
    store->path = xstrdup(path);
    store->mode = mode;
    if (open_checked(store, err)) {
        store_close(store);
        return -1;
    }
    sqlite3_exec(store->db, "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY", NULL, NULL,
                 NULL);
    *out = store;
    return 0;
}

int store_verify(const char *path, struct error *err)
{
    if (check_path(path, STORE_READ, err))
        return -1;
    struct store store = {.path = xstrdup(path), .mode = STORE_READ};
    const int status = open_checked(&store, err);
    sqlite3_close(store.db);
    free(store.path);
    return status;
}

int store_open_beside(struct store **out, const struct store *store, struct error *err)
{
    if (store->batch)
        return error_set(err, "store %s: what is not committed yet cannot be read beside",
                         store->path);
    return store_open(out, store->path, store->mode, err);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    store_cancel_batch(store);
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(store->statements[i]);
    sqlite3_close(store->db);
    if (store->runs_open)
        close(store->runs);
    release_mark(store);
    free(store->path);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

int transaction_begin(struct store *store, struct error *err)
{
    assert(store->mode == STORE_WRITE);
    if (store->mark && !store->batch && !mark_is_ours(store))
        return error_set(err,
                         "store %s: another machine writes it by now, for nothing was written here "
                         "for long; what was saved is kept: run again when it has ended",
                         store->path);
    // The batch is gone, so what is saved next would be kept without what was saved before.
    if (store->batch && sqlite3_get_autocommit(store->db))
        return error_set(err, "store %s: a fault undid what was saved together with this",
                         store->path);
    return statement_run(store, err, store->batch ? SQL_SAVEPOINT : SQL_BEGIN, NULL, 0);
}

int transaction_end(struct store *store, int status, struct error *err)
{
    struct error ignored;
    if (status == 0 && statement_run(store, err, store->batch ? SQL_RELEASE : SQL_COMMIT, NULL, 0))
        status = -1;
    // A full disk or a failed write may have ended the transaction already.
    if (status && !sqlite3_get_autocommit(store->db)) {
        if (store->batch) {
            statement_run(store, &ignored, SQL_UNDO, NULL, 0);
            statement_run(store, &ignored, SQL_RELEASE, NULL, 0);
        } else {
            statement_run(store, &ignored, SQL_ROLLBACK, NULL, 0);
        }
    }
    return status;
}

int store_begin_batch(struct store *store, struct error *err)
{
    assert(!store->batch);
    if (transaction_begin(store, err))
        return -1;
    store->batch = true;
    return 0;
}

int store_commit_batch(struct store *store, struct error *err)
{
    assert(store->batch);
    store->batch = false;
    return transaction_end(store, 0, err);
}

void store_cancel_batch(struct store *store)
{
    struct error ignored;
    if (store->batch) {
        store->batch = false;
        transaction_end(store, -1, &ignored);
    }
}

// ==== checking the file, and counting what it has ====
//
// Whether the file is intact, and what is in it.

static int count_all(struct store_counts *out, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_COUNT_ALL, NULL, 0);
    int status = statement_step(store, row, err);
    if (status < 0)
        return -1;
    *out = (struct store_counts){.runs = row_int(row, 0),
                                 .unfinished = row_int(row, 1),
                                 .commits = row_int(row, 2),
                                 .builds = row_int(row, 3),
                                 .series = row_int(row, 4),
                                 .measurements = row_int(row, 5),
                                 .samples_bytes = row_int(row, 6),
                                 .predictions = row_int(row, 7),
                                 .verdicts = row_int(row, 8),
                                 .profiles = row_int(row, 9),
                                 .epochs = row_int(row, 10)};
    sqlite3_reset(row);
    return 0;
}

int store_info(struct store_report *out, struct store *store, struct error *err)
{
    struct store_report report = {.version = migration_count()};
    struct stat info;
    if (count_all(&report.counts, store, err))
        return -1;
    if (stat(store->path, &info) == 0)
        report.bytes = info.st_size;
    *out = report;
    return 0;
}

// Adds a problem's text to the report, and frees the text.
static void note(struct store_report *report, char *text)
{
    if (report->problems++ == 0)
        text_copy(report->first, sizeof(report->first), text);
    free(text);
}

static void note_failure(struct store_report *report, struct store *store)
{
    note(report, xstrdup(sqlite3_errmsg(store->db)));
}

static int note_page(void *report, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    if (values[0] && strcmp(values[0], "ok") != 0)
        note(report, xstrdup(values[0]));
    return 0;
}

// Runs SQLite's checks. On a connection that cannot write, SQLite does not check a table's CHECKs,
// so a connection is used that could write but does not. If the file cannot be written, pages and
// indexes are still checked.
static void check_pages(struct store_report *report, struct store *store)
{
    sqlite3 *db = NULL;
    bool own = sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
               sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
               sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
               sqlite3_busy_timeout(db, STORE_WAIT_MS) == SQLITE_OK &&
               sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL) == SQLITE_OK;
    int code = own ? sqlite3_exec(db, "PRAGMA quick_check(1)", note_page, report, NULL) : 0;
    // A file or folder without write permission opens without an error and fails only here.
    own = own && code != SQLITE_READONLY && code != SQLITE_CANTOPEN;
    if (!own)
        code = sqlite3_exec(store->db, "PRAGMA quick_check(1)", note_page, report, NULL);
    if (code != SQLITE_OK)
        note(report, xstrdup(sqlite3_errmsg(own ? db : store->db)));
    sqlite3_close(db);
}

static void check_references(struct store_report *report, struct store *store)
{
    struct error ignored;
    sqlite3_stmt *row = statement_bind(store, SQL_FOREIGN_KEY_CHECK, NULL, 0);
    int status;
    while ((status = statement_step(store, row, &ignored)) > 0) {
        const char *table = (const char *)sqlite3_column_text(row, 0);
        const char *parent = (const char *)sqlite3_column_text(row, 2);
        note(report, xprintf("a row of %s refers to a row of %s that is not there",
                             table ? table : "?", parent ? parent : "?"));
    }
    if (status < 0)
        note_failure(report, store);
}

static void check_devices(struct store_report *report, struct store *store)
{
    struct error ignored;
    int64_t strays;
    if (statement_get(&strays, store, &ignored, SQL_STRAY_RESULTS, NULL, 0))
        note_failure(report, store);
    else if (strays)
        note(report, xprintf("%lld result%s of a device that the run was not on", (long long)strays,
                             strays == 1 ? " is" : "s are"));
}

static void check_samples(struct store_report *report, struct store *store)
{
    struct error why;
    sqlite3_stmt *row = statement_bind(store, SQL_ALL_SAMPLES, NULL, 0);
    int status;
    while ((status = statement_step(store, row, &why)) > 0) {
        struct arena arena = {0};
        struct sample *samples;
        size_t count;
        const void *bytes = sqlite3_column_blob(row, 1);
        size_t size = (size_t)sqlite3_column_bytes(row, 1);
        if (unpack_samples(&samples, &count, bytes, size, &arena, &why))
            note(report, xprintf("measurement %lld: %s", (long long)row_int(row, 0), why.text));
        else if ((int64_t)count != row_int(row, 2))
            note(report, xprintf("measurement %lld: %zu samples, not %lld",
                                 (long long)row_int(row, 0), count, (long long)row_int(row, 2)));
        arena_free(&arena);
    }
    if (status < 0)
        note_failure(report, store);
}

int store_check(struct store_report *out, struct store *store, struct error *err)
{
    struct store_report report = {.version = migration_count()};
    struct error ignored;
    check_pages(&report, store);
    // If pages are torn, the other checks would only report the same again.
    if (report.problems == 0) {
        check_references(&report, store);
        check_devices(&report, store);
        check_samples(&report, store);
    }
    if (report.problems == 0) {
        size_t problems = report.problems;
        if (store_info(&report, store, err))
            return -1;
        report.problems = problems;
    } else if (count_all(&report.counts, store, &ignored)) {
        memset(&report.counts, 0, sizeof(report.counts));
    }
    *out = report;
    return 0;
}

// ==== making a store smaller ====
//
// Makes a store smaller. When a row is deleted, SQLite looks for rows that refer to it; without an
// index that is a scan of the table. So references are switched off, the order of the steps keeps
// them right, and they are checked at the end.

// temp.doomed lists the runs concerned. When whole runs are removed, a run to which a kept run
// refers is taken off that list.
static const char *const prune_steps[] = {
    "DELETE FROM verdicts WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM predictions WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM results WHERE run_key IN (SELECT run_key FROM doomed)",
    // The deletion starts from the samples, because samples of old runs are mostly gone already.
    "DELETE FROM samples WHERE measurement_key IN (SELECT s.measurement_key FROM samples s "
    "CROSS JOIN measurements m ON m.measurement_key = s.measurement_key "
    "WHERE m.run_key IN (SELECT run_key FROM doomed))",
    "DELETE FROM measurements WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM studies WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM unbuilt WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM metrics WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM self_tests WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM run_devices WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM runs WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM judgement_changes",
    "DELETE FROM judgement_breaks",
    "DELETE FROM chart_points",
    "DELETE FROM judgements",
    "DELETE FROM run_accuracy WHERE run_key IN (SELECT run_key FROM doomed)",
    "DELETE FROM run_accuracy_known WHERE run_key IN (SELECT run_key FROM doomed)",
};
enum { SAMPLES_STEP = 3 }; // if only samples are removed, this is the only step

static int run_sql(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

static int choose(struct store *store, const struct prune_rule *rule, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    if (run_sql(store, "CREATE TEMP TABLE doomed (run_key INTEGER PRIMARY KEY)", err))
        return -1;
    int code = sqlite3_prepare_v2(store->db,
                                  "INSERT INTO doomed SELECT run_key FROM runs "
                                  "WHERE started_s < ? AND finished_s > 0",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, rule->before_s);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    int status = code == SQLITE_DONE ? 0 : store_fail(store, err);
    sqlite3_finalize(statement);
    return status;
}

// Takes runs off the list that a kept run refers to: a run may show measurements of an older one.
// Then the older one stays, and so do the runs that it refers to. Each kept run is looked at once,
// however long the chain is.
static int spare_referred(struct store *store, struct error *err)
{
    return run_sql(store,
                   "WITH RECURSIVE kept (run_key) AS (SELECT run_key FROM runs "
                   "WHERE run_key NOT IN (SELECT run_key FROM doomed) UNION "
                   "SELECT m.run_key FROM kept k CROSS JOIN results x ON x.run_key = k.run_key "
                   "AND x.reused = 1 CROSS JOIN measurements m "
                   "ON m.measurement_key IN (x.base_key, x.head_key)) "
                   "DELETE FROM doomed WHERE run_key IN (SELECT run_key FROM kept)",
                   err);
}

// The member that counts the rows of a step; NULL: they are not counted.
static int64_t *counter_of(struct store_counts *removed, const char *step)
{
    const struct {
        const char *begin;
        int64_t *counter;
    } counters[] = {
        {"DELETE FROM verdicts ", &removed->verdicts},
        {"DELETE FROM predictions ", &removed->predictions},
        {"DELETE FROM measurements ", &removed->measurements},
        {"DELETE FROM runs ", &removed->runs},
    };
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++) {
        if (strncmp(step, counters[i].begin, strlen(counters[i].begin)) == 0)
            return counters[i].counter;
    }
    return NULL;
}

static int delete_runs(struct store *store, struct store_counts *removed, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(prune_steps); i++) {
        int64_t *counter = counter_of(removed, prune_steps[i]);
        if (run_sql(store, prune_steps[i], err))
            return -1;
        if (counter)
            *counter = sqlite3_changes64(store->db);
    }
    sqlite3_stmt *row = statement_bind(store, SQL_FOREIGN_KEY_CHECK, NULL, 0);
    int status = statement_step(store, row, err);
    sqlite3_reset(row);
    return status > 0 ? store_damaged(store, "rows that refer to nothing", err) : status;
}

static int count_bytes(int64_t *out, struct store *store, struct error *err)
{
    return migration_pragma(out, store,
                            "SELECT ifnull(sum(length(s.packed)), 0) FROM samples s "
                            "CROSS JOIN measurements m ON m.measurement_key = s.measurement_key "
                            "WHERE m.run_key IN (SELECT run_key FROM doomed)",
                            err);
}

static int prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                 struct error *err)
{
    if (choose(store, rule, err) || (rule->runs && spare_referred(store, err)) ||
        count_bytes(&removed->samples_bytes, store, err))
        return -1;
    if (rule->runs)
        return delete_runs(store, removed, err);
    return run_sql(store, prune_steps[SAMPLES_STEP], err);
}

// Returns free pages to the disk if there are many. New runs are written to free pages. Returning
// them copies the whole file, and needs as much disk again.
static int give_back(struct store *store, struct error *err)
{
    int64_t unused, pages;
    if (migration_pragma(&unused, store, "PRAGMA freelist_count", err) ||
        migration_pragma(&pages, store, "PRAGMA page_count", err) ||
        (unused > pages / 4 && run_sql(store, "VACUUM", err)))
        return -1;
    return run_sql(store, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int store_prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                struct error *err)
{
    struct store_counts counts = {0};
    struct error ignored;
    assert(store->mode == STORE_WRITE && !store->batch);
    if (run_sql(store, "PRAGMA foreign_keys = OFF", err))
        return -1;
    int status = transaction_begin(store, err);
    if (status == 0) {
        status = prune(store, rule, &counts, err);
        bool keep = status == 0 && !rule->dry_run;
        int ended = transaction_end(store, keep ? 0 : -1, keep ? err : &ignored);
        status = keep ? ended : status;
    }
    sqlite3_exec(store->db, "DROP TABLE IF EXISTS temp.doomed; PRAGMA foreign_keys = ON", NULL,
                 NULL, NULL);
    if (status == 0 && !rule->dry_run)
        status = give_back(store, err);
    if (status == 0)
        *removed = counts;
    return status;
}
