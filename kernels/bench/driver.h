// SPDX-License-Identifier: Apache-2.0
//
// Loading libraries on a machine without the CUDA driver, to list their kernels.
#ifndef PLUMB_DRIVER_H
#define PLUMB_DRIVER_H

// A library that is linked with -lcuda needs libcuda.so.1, which comes with the driver. Where the
// driver is not installed this loads a stand-in of that name (stand_in/libcuda.c), for the
// rest of the process. Only for a process that launches nothing. When it fails nothing is loaded,
// and libraries that need the driver are refused by the loader, which names it.
void driver_stand_in(void);

#endif
