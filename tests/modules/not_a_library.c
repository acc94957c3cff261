// SPDX-License-Identifier: Apache-2.0
//
// A shared library that is no kernel library: it loads, but exports no plumb_library().
int nothing(void);

int nothing(void)
{
    return 0;
}
