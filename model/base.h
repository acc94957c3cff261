// SPDX-License-Identifier: Apache-2.0
//
// What every room uses: an error text, memory that does not fail, an arena, numbers as text, and
// intervals.
//
// Errors: a function that can fail returns 0 or -1 and takes `struct error *err` last. The text is
// written once, where the failure happened, as one line that says what, where and what to do;
// callers pass it on unchanged. On failure `out` parameters are untouched. A kernel that is slow,
// wrong or does not build is data (a verdict), never an error. Misuse of a function is an assert.
// Out of memory ends the program: a batch tool has nothing better to do.
#ifndef PLUMB_BASE_H
#define PLUMB_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__GNUC__)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

struct error {
    char text[1024]; // one line, no newline at the end
};

// Writes the text and returns -1, so that `return error_set(err, ...)` is the whole failure path.
int error_set(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// Says why a file could not be written: the text of strerror() for the errno, and if a limit of
// this process was the reason, how to raise it.
const char *write_failure(int number);

// Ends the program, plumb or bench, with exit code 4, because memory ran out. No incomplete output
// is used as an answer.
void out_of_memory(void) __attribute__((noreturn));
// Returns zeroed memory, never NULL. The caller frees it with free().
void *xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));

void *xrealloc(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));

// Makes room for one more item behind the `used` ones. Returns `memory` as it is, or a copy that is
// twice as large when it is full; *room is the number of items that fit. A list begins as NULL with
// a *room of 0.
void *xgrow(void *memory, size_t used, size_t *room, size_t size) __attribute__((returns_nonnull));

char *xstrdup(const char *text) __attribute__((returns_nonnull));

char *xprintf(const char *format, ...) PRINTF_LIKE(1, 2);

// Makes the C library keep freed memory for later allocations. A pass over hundreds of series
// allocates and frees the same megabytes for each. Memory returned to the system must be cleared by
// it each time, which took half of the time of computing levels. Called by main(); does nothing
// where the C library has no such option.
void memory_stays(void);

// Copies at most `size` bytes and always ends with NUL; returns false when `text` did not fit.
bool text_copy(char *out, size_t size, const char *text);

// Compares doubles for qsort, in ascending order. None of them may be NaN.
int rising_doubles(const void *left, const void *right);

// Chooses the word for a count: plural(1, "commit", "commits") is "commit".
const char *plural(uint64_t count, const char *one, const char *many);

// An arena owns many small allocations that live and die together (the strings of one run).
// A zeroed struct is an empty arena.
struct arena_block;

struct arena {
    struct arena_block *blocks;
};

// Returns zeroed memory, aligned for any type; the arena owns it.
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull));

// Copies `size` bytes into the arena; `bytes` may be NULL when `size` is 0.
void *arena_copy(struct arena *arena, const void *bytes, size_t size)
    __attribute__((returns_nonnull));

char *arena_strdup(struct arena *arena, const char *text); // NULL stays NULL

char *arena_strndup(struct arena *arena, const char *text, size_t length);

char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

// Moves everything that `from` owns to `arena`, and leaves `from` empty.
void arena_adopt(struct arena *arena, struct arena *from);

// Frees everything at once and leaves the arena empty.
void arena_free(struct arena *arena);

// Parse a number that is the whole text. They return -1 for trailing text, overflow, NaN and
// infinity.
int parse_int64(int64_t *out, const char *text);

int parse_double(double *out, const char *text);

// ---- places by id ----

// An index of an array of things that have ids: it finds a thing's place by its id. The ids are
// borrowed.
struct id_index {
    struct id_place *items; // sorted by id
    size_t count;
};

// Makes an index in the arena. `ids` points to the id of the first thing, a char array in a struct
// of `stride` bytes.
struct id_index id_index(const char *ids, size_t stride, size_t count, struct arena *arena);
// Returns the place of the thing with this id; SIZE_MAX: there is none.
size_t id_find(const struct id_index *index, const char *id);

// ---- text ----
//
// Numbers written as text, the check of UTF-8, and a hash. model/buffer.h joins texts.

enum { NUMBER_TEXT = 32 };
// Writes a double with 15, 16 or 17 digits, the fewest that read back as the same double: 15 are
// enough for most decimal input, 17 for every double. NaN and infinities are written as printf
// writes them.
void number_text(char out[NUMBER_TEXT], double value);

// Writes a time for people, such as "31.35 us" for 31350 ns: with four significant digits, all
// digits before the point, and no exponent.
void time_text(char out[NUMBER_TEXT], double time_ns);

// Returns the length of the well-formed UTF-8 sequence at `text` (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF), or 0 if there is none within `left` bytes. *character
// becomes its character; `character` may be NULL. NUL and control bytes are characters of length 1.
size_t utf8_length(uint32_t *character, const char *text, size_t left);

// A hash for names and stamps: FNV-1a with 64 bits, started with HASH_START, the same on every
// machine. It is no protection against somebody who wants two texts to have one hash.
#define HASH_START 0xcbf29ce484222325u

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length);

// Adds a text with its NUL to a hash, so that "ab","c" differs from "a","bc". NULL counts as "".
uint64_t hash_text(uint64_t hash, const char *text);

// ---- intervals ----
//
// The confidence of every interval that is shown or exported, and of every bound on a rate.
#define CONFIDENCE 0.95

// A figure with its interval. A comment at each member of this type says which figure it is,
// and its unit.
struct interval {
    double value; // the estimate; NaN: there is none
    double low, high;
};

// Nothing is known: the value is NaN, the interval goes from -infinity to infinity.
extern const struct interval interval_unknown;

// No interval should be shown: value and ends are NaN.
extern const struct interval interval_none;

struct interval interval_about(double value, double half_width);

// Turns a log ratio and its interval into a relative change: exp(x) - 1 for each of the three.
struct interval interval_relative(struct interval log_ratio);

#endif
