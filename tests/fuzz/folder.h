// SPDX-License-Identifier: Apache-2.0
//
// A folder for what a fuzz target must have as files: in memory where there is such a file system,
// because a store waits for its disk at each transaction. It is gone when the program ends.
#ifndef PLUMB_TESTS_FUZZ_FOLDER_H
#define PLUMB_TESTS_FUZZ_FOLDER_H

// The path of a file in it; static, as often as wanted. The folder is made at the first call.
const char *fuzz_path(const char *name);

#endif
