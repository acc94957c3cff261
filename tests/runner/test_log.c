// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a long log: its beginning and its end.
#include "runner/child/log.h"
#include "runner/child/process.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

TEST(process_log_keeps_beginning_and_end)
{
    char *directory = helper_directory(), *log = xprintf("%s/log", directory);
    process_script("echo first; seq 1 20000; echo last >&2",
                   (struct process_plan){.log_path = log, .log_bytes = 4000});
    char *text = log_tail(log, 100000);
    assert_true(strlen(text) < 4100);
    assert_memory_equal(text, "first\n1\n2\n", 10);
    assert_non_null(strstr(text, "bytes dropped ...]\n"));
    assert_string_equal(text + strlen(text) - 11, "20000\nlast\n");
    free(text);
    free(log);
    helper_discard(directory);
    free(directory);
}

TEST(log_of_exactly_its_size_is_whole)
{
    char *directory = helper_directory(), *path = xprintf("%s/log", directory);
    for (size_t size = 70; size <= 130; size++) {
        struct log log;
        struct error err;
        assert_int_equal(log_open(&log, path, 100, &err), 0);
        for (size_t i = 0; i < size; i++) {
            char byte = (char)('!' + i % 90);
            log_write(&log, &byte, 1);
        }
        log_close(&log);
        char *text = log_tail(path, 1000);
        if (size <= 100)
            assert_int_equal(strlen(text), size);
        assert_int_equal(text[strlen(text) - 1], (char)('!' + (size - 1) % 90));
        free(text);
    }
    free(path);
    helper_discard(directory);
    free(directory);
}
