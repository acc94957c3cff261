// SPDX-License-Identifier: Apache-2.0
//
// NVTX ranges, of the default domain and of others: NVTX loads the library that
// NVTX_INJECTION64_PATH names and gives it tables of what a program's calls do.
#include "kernels/capture/capture.h"

#include <nvtx3/nvToolsExt.h>

static int pushed(const char *message)
{
    range_pushed(message ? message : "");
    return 0;
}

static int popped(void)
{
    range_popped();
    return 0;
}

// A registered string is the copy that string_registered() made of it.
static const char *message_of(const nvtxEventAttributes_t *event)
{
    if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII)
        return event->message.ascii;
    return event && event->messageType == NVTX_MESSAGE_TYPE_REGISTERED && event->message.registered
               ? (const char *)event->message.registered
               : "";
}

static nvtxStringHandle_t string_registered(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)xstrdup(text ? text : "");
}

static int event_pushed(const nvtxEventAttributes_t *event)
{
    return pushed(message_of(event));
}

static int domain_pushed(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain;
    return pushed(message_of(event));
}

static int domain_popped(nvtxDomainHandle_t domain)
{
    (void)domain;
    return popped();
}

static void set(NvtxFunctionTable table, unsigned count, unsigned which, NvtxFunctionPointer to)
{
    if (which < count && table[which])
        *table[which] = to;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned count;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count)) {
        set(table, count, NVTX_CBID_CORE_RangePushEx, (NvtxFunctionPointer)event_pushed);
        set(table, count, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)pushed);
        set(table, count, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)popped);
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count)) {
        set(table, count, NVTX_CBID_CORE2_DomainRangePushEx, (NvtxFunctionPointer)domain_pushed);
        set(table, count, NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)domain_popped);
        set(table, count, NVTX_CBID_CORE2_DomainRegisterStringA,
            (NvtxFunctionPointer)string_registered);
    }
    return 1;
}
