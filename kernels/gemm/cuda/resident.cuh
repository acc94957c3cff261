// SPDX-License-Identifier: Apache-2.0
//
// How many clusters of blocks this device can run at once, and launches in clusters.
#ifndef PLUMB_GEMM_RESIDENT_CUH
#define PLUMB_GEMM_RESIDENT_CUH

#include <cuda_runtime.h>

static inline int count_sms()
{
    int device = 0, sms = 132;
    if (cudaGetDevice(&device) == cudaSuccess)
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    return sms;
}

// The attributes of a launch whose blocks come in clusters; the grid is set elsewhere.
struct cluster_launch {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};

    cluster_launch(int threads, int cluster, int smem_bytes, void *stream)
    {
        attributes[0].id = cudaLaunchAttributeClusterDimension;
        attributes[0].val.clusterDim = {(unsigned)cluster, 1, 1};
        config.blockDim = dim3(threads);
        config.dynamicSmemBytes = smem_bytes;
        config.stream = (cudaStream_t)stream;
        config.attrs = attributes;
        config.numAttrs = cluster > 1;
    }
    cluster_launch(const cluster_launch &) = delete; // config has pointers into it
#ifndef MAY_BEGIN_EARLY
#define MAY_BEGIN_EARLY 1 // defined where a selector decides it for each launch
#endif
    void begin_early() // begins before the launch before it has ended; the kernel waits
                       // for that (ptx.cuh)
    {
        cudaLaunchAttribute &early = attributes[config.numAttrs++];
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = MAY_BEGIN_EARLY;
    }
};

static __global__ void fill_one_sm()
{
}

// The number of clusters with so many blocks that fit on the device, if each block fills its SM. A
// cluster lies within a GPC, and devices differ in which SMs of their GPCs they have: of two H200s
// with 132 SMs, one holds 28 clusters of four and the other 30. Returns `otherwise` if the driver
// does not answer.
static inline int count_clusters(int blocks, int otherwise)
{
    const int bytes = 200 << 10;
    int clusters = 0;
    cluster_launch launch(128, blocks, bytes, nullptr);
    launch.config.gridDim = dim3((unsigned)(count_sms() / blocks * blocks));
    if (cudaFuncSetAttribute(fill_one_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ||
        cudaFuncSetAttribute(fill_one_sm, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ||
        cudaOccupancyMaxActiveClusters(&clusters, fill_one_sm, &launch.config) || clusters < 1) {
        cudaGetLastError();
        return otherwise;
    }
    return clusters;
}

#endif
