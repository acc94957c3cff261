// SPDX-License-Identifier: Apache-2.0
//
// The record's file, versions 3 and 4. Lines as in model/wire.h (a name, then key=value fields,
// separated by TAB), in this order, then the images' bytes one after the other. A line that begins
// with dots goes on with the one above it.
//
//     record version=3 kernel=NAME problem=TEXT workspace=BYTES note=TEXT
//     image size=BYTES                               any number
//     content bytes=N before=FILE after=FILE         since version 4; the n-th is of capturedN
//     launch function=NAME                           any number of launches
//     ... grid_x= grid_y= grid_z= block_x= block_y= block_z= cluster_x= cluster_y= cluster_z=
//     ... shared= cooperative=0|1 programmatic=0|1 carveout=-1..100 [image=N]
//     memset value= element= width= height= pitch=   is a launch too
//     parameter offset=N bytes=HEX                   of the launch above, by their offsets
//     address at=N buffer=BUFFER offset=N            8 bytes within a parameter above, by `at`
//     tensormap at=N buffer=BUFFER offset=N          128 bytes within a parameter above, by `at`
//     ... type=NAME dims=N,N strides=N box=N,N elements=N,N interleave= swizzle= promote= nan=0|1
//     end
//
// BUFFER is a, b, c, scale_a, scale_b, workspace, or since version 3 block_scales_a,
// block_scales_b, bias, group_first, group_rows. An offset is in bytes from where the buffer
// begins; how long each buffer is follows from the problem, and whoever launches holds them to it.
// Version 4 has captured0, captured1, ... besides, and an image for each launch, counted from 1.
// Version 3 is version 4 without captures, version 2 is version 3 without those buffers and their
// problems, version 1 is version 2 without tensormaps. Both are read; what they cannot hold is
// refused.
//
// A record without a launch, with addresses outside of its parameters or over each other, or with
// bytes after its images is refused. So is one of a later version.
#include "model/record/record_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct buffer *out, struct wire_line *line)
{
    buffer_puts(out, wire_end(line));
}

static const char axes[] = {'x', 'y', 'z'};

static void add_three(struct wire_line *line, const char *what, const uint32_t three[3])
{
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%s_%c", what, axes[i]);
        wire_add_int(line, key, three[i]);
    }
}

static void print_parameters(struct buffer *out, const struct record_launch *launch)
{
    static const char digits[] = "0123456789abcdef";
    struct wire_line line;
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        const struct record_parameter *parameter = &launch->parameters[p];
        char *hex = xcalloc(2 * (size_t)parameter->bytes + 1, 1);
        for (uint32_t i = 0; i < parameter->bytes; i++) {
            const unsigned char byte = launch->bytes[parameter->offset + i];
            hex[2 * i] = digits[byte >> 4];
            hex[2 * i + 1] = digits[byte & 15];
        }
        wire_begin(&line, "parameter");
        wire_add_int(&line, "offset", parameter->offset);
        wire_add_text(&line, "bytes", hex);
        put(out, &line);
        free(hex);
    }
    for (uint32_t i = 0; i < launch->address_count; i++) {
        wire_begin(&line, "address");
        wire_add_int(&line, "at", launch->addresses[i].at);
        wire_add_text(&line, "buffer", record_buffer_name(launch->addresses[i].buffer));
        wire_add_int(&line, "offset", (int64_t)launch->addresses[i].offset);
        put(out, &line);
    }
    for (uint32_t i = 0; i < launch->map_count; i++) {
        wire_begin(&line, "tensormap");
        record_map_print(&line, &launch->maps[i]);
        put(out, &line);
    }
}

static void print_launch(struct buffer *out, const struct record_launch *launch)
{
    struct wire_line line;
    if (launch->kind == RECORD_MEMSET) {
        wire_begin(&line, "memset");
        wire_add_int(&line, "value", launch->value);
        wire_add_int(&line, "element", launch->element_bytes);
        wire_add_int(&line, "width", (int64_t)launch->width);
        wire_add_int(&line, "height", (int64_t)launch->height);
        wire_add_int(&line, "pitch", (int64_t)launch->pitch_bytes);
    } else {
        wire_begin(&line, "launch");
        wire_add_text(&line, "function", launch->function);
        add_three(&line, "grid", launch->grid);
        add_three(&line, "block", launch->block);
        add_three(&line, "cluster", launch->cluster);
        wire_add_int(&line, "shared", launch->shared_bytes);
        wire_add_int(&line, "cooperative", launch->cooperative);
        wire_add_int(&line, "programmatic", launch->programmatic);
        wire_add_int(&line, "carveout", launch->carveout);
        if (launch->image)
            wire_add_int(&line, "image", launch->image);
    }
    put(out, &line);
    print_parameters(out, launch);
}

static void print_content(struct buffer *out, const struct record_content *content)
{
    struct wire_line line;
    wire_begin(&line, "content");
    wire_add_int(&line, "bytes", (int64_t)content->bytes);
    wire_add_text(&line, "before", content->before);
    wire_add_text(&line, "after", content->after ? content->after : "");
    put(out, &line);
}

void record_print(struct buffer *out, const struct record *record)
{
    struct wire_line line;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &record->problem);
    wire_begin(&line, "record");
    wire_add_int(&line, "version",
                 record->content_count ? RECORD_CAPTURES_SINCE : RECORD_CAPTURES_SINCE - 1);
    wire_add_text(&line, "kernel", record->kernel);
    wire_add_text(&line, "problem", problem);
    wire_add_int(&line, "workspace", (int64_t)record->workspace_bytes);
    wire_add_text(&line, "note", record->note);
    put(out, &line);
    for (size_t i = 0; i < record->image_count; i++) {
        wire_begin(&line, "image");
        wire_add_int(&line, "size", (int64_t)record->images[i].size);
        put(out, &line);
    }
    for (size_t i = 0; i < record->content_count; i++)
        print_content(out, &record->contents[i]);
    for (size_t i = 0; i < record->launch_count; i++)
        print_launch(out, &record->launches[i]);
    wire_begin(&line, "end");
    put(out, &line);
    for (size_t i = 0; i < record->image_count; i++)
        buffer_add(out, (const char *)record->images[i].bytes, record->images[i].size);
}
