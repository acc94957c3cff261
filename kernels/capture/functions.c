// SPDX-License-Identifier: Apache-2.0
//
// Keeps device functions by their handles, with the loaded image that each comes from. The driver
// reports an image during the call that loads it: of a module, of a library, or here, where a
// function is loaded that its runtime would load at its first launch. An image that is reported
// meanwhile belongs to that handle. For any other function the image is found by name; if different
// images have that name, it has none.
#include "kernels/capture/capture.h"

#include <stdlib.h>
#include <string.h>

static struct record_image *images;
static size_t image_count, image_room;
static int32_t loaded_now = -1; // the last image reported while a function is being loaded
static struct came_from {
    const void *handle; // of a module or a library
    int32_t image;
} * origins;
static size_t origin_count, origin_room;

void image_loaded(const char *bytes, size_t size)
{
    images = xgrow(images, image_count, &image_room, sizeof(*images));
    unsigned char *copy = xcalloc(size ? size : 1, 1);
    memcpy(copy, bytes, size);
    loaded_now = (int32_t)image_count;
    images[image_count++] = (struct record_image){copy, size};
}

size_t images_loaded(void)
{
    return image_count;
}

void image_is_of(const void *handle, size_t before)
{
    if (image_count != before + 1)
        return; // there is no image, or there are those of several calls at the same time
    origins = xgrow(origins, origin_count, &origin_room, sizeof(*origins));
    origins[origin_count++] = (struct came_from){handle, (int32_t)before};
}

// Finds the last image with this handle, because a handle is reused when its module is gone.
static int32_t image_by_origin(const void *handle)
{
    for (size_t i = origin_count; handle && i-- > 0;) {
        if (origins[i].handle == handle)
            return origins[i].image;
    }
    return -1;
}

const struct record_image *image_at(int32_t index)
{
    return &images[index];
}

static bool has_text(const struct record_image *image, const char *text, size_t size)
{
    return memmem(image->bytes, image->size, text, size) != NULL;
}

// Finds an image by the name of a section: that of the function's machine code.
static int32_t image_by_name(const char *name)
{
    char *section = xprintf(".text.%s", name);
    const size_t size = strlen(section) + 1;
    int32_t found = -1;
    for (size_t i = 0; i < image_count && found >= -1; i++) {
        if (!has_text(&images[i], section, size))
            continue;
        const bool same = found >= 0 && images[found].size == images[i].size &&
                          memcmp(images[found].bytes, images[i].bytes, images[i].size) == 0;
        found = found < 0 || same ? (int32_t)i : -2;
    }
    free(section);
    return found;
}

static void find_parameters(struct function *f)
{
    size_t offset, bytes;
    size_t room = 0;
    while (driver->cuFuncGetParamInfo(f->handle, f->parameter_count, &offset, &bytes) ==
           CUDA_SUCCESS) {
        f->parameters = xgrow(f->parameters, f->parameter_count, &room, sizeof(*f->parameters));
        f->parameters[f->parameter_count++] =
            (struct record_parameter){(uint32_t)offset, (uint32_t)bytes};
        if (offset + bytes > PARAMETERS_BYTES_MAX) {
            f->refused = "it has more bytes of parameters than CUDA allows";
            return;
        }
        f->parameter_bytes = (uint32_t)(offset + bytes);
    }
}

static int attribute(const struct function *f, CUfunction_attribute which)
{
    int value = 0;
    driver->cuFuncGetAttribute(&value, which, f->handle);
    return value;
}

static void describe(struct function *f)
{
    // Functions that launch from device code, of the first and of the second version.
    static const char launches[] = "cudaLaunchDevice", launches_2[] = "cudaCDP2LaunchDevice";
    f->registers = attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS);
    f->shared_bytes = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    f->local_bytes = attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    find_parameters(f);
    if (f->image < 0)
        f->refused = f->image == -2 ? "several images that differ have a function of this name"
                                    : "the driver told of no image that has it";
    else if (has_text(&images[f->image], launches, sizeof(launches) - 1) ||
             has_text(&images[f->image], launches_2, sizeof(launches_2) - 1))
        f->refused = "its image launches kernels from the device";
}

static int32_t find_image(const struct function *f, CUfunction handle)
{
    CUmodule module = NULL;
    CUlibrary library = NULL;
    if (loaded_now >= 0)
        return loaded_now;
    if (driver->cuFuncGetModule(&module, f->handle) != CUDA_SUCCESS)
        module = NULL;
    if (f->handle != handle &&
        driver->cuKernelGetLibrary(&library, (CUkernel)handle) != CUDA_SUCCESS)
        library = NULL;
    const int32_t of_module = image_by_origin(module);
    const int32_t of_library = image_by_origin(library);
    return of_module >= 0 ? of_module : of_library >= 0 ? of_library : image_by_name(f->name);
}

// The functions that launches have given so far, by what they gave. Handles of one function share
// its entry: a launch may give a CUkernel and a graph's node its CUfunction, and each context that
// loads an image has a handle of its own.
static struct known {
    CUfunction given;
    const struct function *function;
} * known;
static size_t known_count, known_room;

static bool is_same_image(int32_t a, int32_t b)
{
    return a == b || (images[a].size == images[b].size &&
                      memcmp(images[a].bytes, images[b].bytes, images[a].size) == 0);
}

// Finds a known function that is this one: the driver has one handle for both, or they have the
// same name in the same code.
static const struct function *known_as(const struct function *f)
{
    for (size_t i = 0; i < known_count; i++) {
        const struct function *other = known[i].function;
        if (strcmp(other->name, f->name) == 0 &&
            (other->handle == f->handle ||
             (other->image >= 0 && f->image >= 0 && is_same_image(other->image, f->image))))
            return other;
    }
    return NULL;
}

static const struct function *make(CUfunction handle)
{
    struct function f = {.handle = handle, .image = -1};
    CUfunctionLoadingState state;
    loaded_now = -1;
    if (driver->cuFuncGetName(&f.name, handle) != CUDA_SUCCESS &&
        (driver->cuKernelGetFunction(&f.handle, (CUkernel)handle) != CUDA_SUCCESS ||
         driver->cuFuncGetName(&f.name, f.handle) != CUDA_SUCCESS))
        return NULL;
    if (driver->cuFuncIsLoaded(&state, f.handle) == CUDA_SUCCESS &&
        state == CU_FUNCTION_LOADING_STATE_UNLOADED)
        driver->cuFuncLoad(f.handle);
    f.image = find_image(&f, handle);
    const struct function *same = known_as(&f);
    if (same)
        return same;
    f.name = xstrdup(f.name);
    describe(&f);
    struct function *kept = xcalloc(1, sizeof(*kept));
    *kept = f;
    return kept;
}

const struct function *function_of(CUfunction handle)
{
    static size_t last;
    if (known_count && known[last].given == handle)
        return known[last].function;
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].given == handle)
            return known[last = i].function;
    }
    const struct function *function = make(handle);
    if (!function)
        return NULL;
    known = xgrow(known, known_count, &known_room, sizeof(*known));
    known[last = known_count] = (struct known){handle, function};
    return known[known_count++].function;
}
