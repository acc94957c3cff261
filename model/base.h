// SPDX-License-Identifier: Apache-2.0
//
// The ground every room stands on: one error text, memory that does not fail, an
// arena, numbers as text, and intervals.
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

// Why a file was not written: what strerror() says of the errno, and of a limit of this process
// what raises it.
const char *write_failure(int number);

// Ends the program, plumb or bench, with exit code 4: the machine failed, and nothing was done. No
// answer is made of half a text.
void out_of_memory(void) __attribute__((noreturn));
// Zeroed memory; never NULL. The caller frees with free().
void *xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));

void *xrealloc(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));

// Room for one item more than the `used` ones: `memory` as it is, or twice *room of it when it is
// full. A list begins as NULL with a *room of 0.
void *xgrow(void *memory, size_t used, size_t *room, size_t size) __attribute__((returns_nonnull));

char *xstrdup(const char *text) __attribute__((returns_nonnull));

char *xprintf(const char *format, ...) PRINTF_LIKE(1, 2);

// Keeps memory that is freed for the program's next needs. A pass over hundreds of series takes and
// frees the same megabytes for each; memory that is given back is made new by the system each time,
// which was half of a levelling's time. For main(); does nothing where the C library has no such
// choice.
void memory_stays(void);

// Bounded copy that always ends with NUL; returns false when `text` did not fit.
bool text_copy(char *out, size_t size, const char *text);

// Doubles from small to large, for qsort. None of them may be NaN.
int rising_doubles(const void *left, const void *right);

// The word that stands beside a count: plural(1, "commit", "commits") is "commit".
const char *plural(uint64_t count, const char *one, const char *many);

// An arena owns many small allocations that live and die together (the strings of one run).
// A zeroed struct is an empty arena.
struct arena_block;

struct arena {
    struct arena_block *blocks;
};

// Zeroed, aligned for any type, owned by the arena.
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull));

// A copy of so many bytes; `bytes` may be NULL when there are none.
void *arena_copy(struct arena *arena, const void *bytes, size_t size)
    __attribute__((returns_nonnull));

char *arena_strdup(struct arena *arena, const char *text); // NULL stays NULL

char *arena_strndup(struct arena *arena, const char *text, size_t length);

char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

// Moves all that `from` owns to `arena`; `from` is empty then.
void arena_adopt(struct arena *arena, struct arena *from);

// Frees everything at once and leaves the arena empty.
void arena_free(struct arena *arena);

// Whole-string number parsing: rejects trailing text, overflow, NaN and infinity. -1 on refusal.
int parse_int64(int64_t *out, const char *text);

int parse_double(double *out, const char *text);

// ---- places by id ----

// Where things with an id stand in an array of them; ids are borrowed.
struct id_index {
    struct id_place *items; // by id
    size_t count;
};

// `ids`: the first one's, a char array that lies in a struct of `stride` bytes. In the arena.
struct id_index id_index(const char *ids, size_t stride, size_t count, struct arena *arena);
// The place of the thing with this id; SIZE_MAX: there is none.
size_t id_find(const struct id_index *index, const char *id);

// ---- text ----
//
// How a number is written, what is well-formed UTF-8, and a hash. model/buffer.h puts text
// together.

enum { NUMBER_TEXT = 32 };
// The shortest of 15, 16 and 17 digits that reads back to the same double: 15 are enough for most
// decimal input, 17 for every double. NaN and infinities as printf writes them.
void number_text(char out[NUMBER_TEXT], double value);

// "31.35 us" of 31350 ns: four digits that count, and all of them before the point; no exponent.
void time_text(char out[NUMBER_TEXT], double time_ns);

// Length of the well-formed UTF-8 sequence at `text` (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF) and its character, which may be NULL; 0 if there is none within `left`
// bytes. NUL and control bytes are characters of length 1.
size_t utf8_length(uint32_t *character, const char *text, size_t left);

// FNV-1a, 64 bits, begun with HASH_START: the same on every machine, for names and stamps; no
// protection against anyone who wants two things to be one.
#define HASH_START 0xcbf29ce484222325u

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length);

// Adds a text with its NUL, so that "ab","c" is not "a","bc". NULL counts as "".
uint64_t hash_text(uint64_t hash, const char *text);

// ---- intervals ----
//
// The confidence of every interval that is shown or exported, and of every bound on a rate.
#define CONFIDENCE 0.95

// A figure with the interval that it lies in. Whoever holds one says what it is of, and in which
// unit.
struct interval {
    double value; // the estimate; NaN: there is none
    double low, high;
};

// Nothing is known: NaN between -infinity and infinity.
extern const struct interval interval_unknown;

// No interval is to be shown: all NaN.
extern const struct interval interval_none;

struct interval interval_about(double value, double half_width);

// A log ratio and its interval as a relative change: exp(x) - 1 of each.
struct interval interval_relative(struct interval log_ratio);

#endif
