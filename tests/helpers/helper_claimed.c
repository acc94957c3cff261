// SPDX-License-Identifier: Apache-2.0
//
// Writes an object that has a header and nothing behind it.
#include "tests/helpers/helper_claimed.h"

#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void helper_claim(const char *directory, uint64_t bytes)
{
    // A stored block of zlib's that holds an object's header, and its Adler-32.
    unsigned char stream[64] = {0x78, 0x01, 0x01};
    const int length = snprintf((char *)stream + 7, 32, "blob %llu", (unsigned long long)bytes) + 1;
    stream[3] = (unsigned char)length;
    stream[5] = (unsigned char)~length;
    stream[6] = 0xff;
    uint32_t low = 1, high = 0;
    for (int i = 0; i < length; i++) {
        low = (low + stream[7 + i]) % 65521;
        high = (high + low) % 65521;
    }
    const unsigned char sum[] = {(unsigned char)(high >> 8), (unsigned char)high,
                                 (unsigned char)(low >> 8), (unsigned char)low};
    memcpy(stream + 7 + length, sum, sizeof(sum));
    char *folder = xprintf("%s/.git/objects/ab", directory);
    char *path = xprintf("%s/%038d", folder, 0);
    assert_true(mkdir(folder, 0777) == 0 || errno == EEXIST);
    helper_write(path, stream, 7 + (size_t)length + sizeof(sum));
    free(path);
    free(folder);
}
