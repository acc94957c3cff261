// SPDX-License-Identifier: Apache-2.0
//
// The commands predict and select as scripts use them: arguments in, text and exit code out.
#include "ci/settings/rows.h"
#include "model/result.h"
#include "tests/helpers/helper_command.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct command command_predict, command_select;

enum { WORDS = 16 };

// Runs a command on words separated by spaces; standard output comes back in *out (caller frees).
static int run(const struct command *command, const char *line, char **out)
{
    char *copy = xstrdup(line), *save = NULL;
    const char *words[WORDS] = {0};
    int count = 0;
    for (char *w = strtok_r(copy, " ", &save); w && count < WORDS - 1;
         w = strtok_r(NULL, " ", &save))
        words[count++] = w;
    const int code = helper_command(command, words, out);
    free(copy);
    return code;
}

// The contract: the same columns, then regime, predicted_us, band, band_95 and bound, good to 1e-9.
TEST(csv_in_gives_csv_out_with_five_more_columns)
{
    char *file = helper_file(""), *text;
    unlink(file); // a link: the data's own path may hold blanks, which `run` splits at
    assert_int_equal(symlink(TEST_DATA "/conformance_ws_persistent.csv", file), 0);
    char *line = xprintf("predict --model ws-persistent --gpu b200-1300 --csv %s", file);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    struct csv in = table_read("conformance_ws_persistent.csv"), out;
    struct error err;
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    assert_int_equal(out.columns, in.columns + 5);
    assert_int_equal(out.count, in.count);
    for (size_t row = 0; row < in.count; row++) {
        for (size_t c = 0; c < in.columns; c++)
            assert_string_equal(out.rows[row].fields[c], in.rows[row].fields[c]);
        assert_true(close_to(table_number(&out, row, "predicted_us"),
                             table_number(&in, row, "runtime_us_l2hit_0"), 1e-12));
        assert_true(table_has(&out, row, "bound"));
        assert_string_equal(table_text(&out, row, "regime"), "cold"); // it knows no other
    }
    csv_free(&in);
    csv_free(&out);
    free(text);
    free(line);
}

TEST(the_l2_knob_is_a_column_and_an_option)
{
    char *file = helper_file("cta_n,cta_m,k,n,m,cluster_n,cluster_m,out_dtype,in_dtype,sf_vec_size,"
                             "sf_dtype,l2_hit_rate,predicted_us\n"
                             "64,128,16384,4096,4096,1,2,fp32,e2m1,16,e8m0,0.4,stale\n");
    char *line = xprintf("predict --model=ws_persistent --gpu=B200-1300 --csv=%s", file), *text;
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    assert_non_null(strstr(text, ",228.6655144230769"));
    assert_null(strstr(text, "stale"));
    free(text);
    free(line);
}

static double predicted_us(const char *words)
{
    char *text;
    char *line = xprintf("predict --gpu h100-sxm --format csv %s", words);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    struct csv out;
    struct error err;
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    double us = table_number(&out, 0, "predicted_us");
    csv_free(&out);
    free(text);
    free(line);
    return us;
}

TEST(a_regime_is_of_the_text_an_option_or_a_column)
{
    const char *const shape = "256x7168x2048:bf16";
    char *option = xprintf("--regime dirty %s", shape), *text = xprintf("%s:dirty", shape);
    double usual = predicted_us(shape), dirty = predicted_us(text);
    assert_true(usual == predicted_us("256x7168x2048:bf16:stream")); // as a gate measures
    assert_true(usual < predicted_us("256x7168x2048:bf16:cold"));
    assert_true(predicted_us("--warm yes 256x7168x2048:bf16") ==
                predicted_us("--warm yes --regime cold 256x7168x2048:bf16"));
    assert_true(dirty > usual);
    assert_true(predicted_us(option) == dirty);
    char *file = helper_file("m,n,k,in_dtype,regime\n256,7168,2048,bf16,dirty\n");
    char *csv = xprintf("--regime warm --csv %s", file); // a row that says its own keeps it
    assert_true(predicted_us(csv) == dirty);
    free(csv);
    csv = xprintf("--warm yes --csv %s", file); // and what that says of its operands
    assert_true(predicted_us(csv) == dirty);
    free(option);
    free(text);
    free(csv);
}

TEST(a_launch_is_left_out_by_an_option_or_a_column)
{
    char *file = helper_file("m,n,k,in_dtype,launch,regime\n256,7168,2048,bf16,no,cold\n");
    char *csv = xprintf("--csv %s", file);
    double without = predicted_us("--launch no 256x7168x2048:bf16:cold");
    assert_true(predicted_us(csv) == without);
    double launch_us = predicted_us("256x7168x2048:bf16:cold") - without;
    assert_true(launch_us > 2.7 && launch_us < 2.8);
    free(csv);
}

// This project's kernels begin under the launch before, and of a sweep's rows all are but
// cuBLASLt's; others say it.
TEST(what_begins_early_is_a_sweeps_or_says_so)
{
    const char *const files[] = {
        helper_file("in_type,m,n,k,kernel,us,ghz,regime\n"
                    "2,512,512,1024,bf16-128x128-w2x1-c1x1-s6-e2-m8-coop,9,1.8,stream\n"),
        helper_file("in_type,m,n,k,kernel,us,ghz,regime,early\n"
                    "2,512,512,1024,bf16-128x128-w2x1-c1x1-s6-e2-m8-coop,9,1.8,stream,no\n"),
        helper_file("in_type,m,n,k,kernel,us,ghz,regime\n2,512,512,1024,cublaslt,9,1.8,stream\n"),
        helper_file("in_type,m,n,k,kernel,us,ghz,regime,early\n"
                    "2,512,512,1024,cublaslt,9,1.8,stream,yes\n")};
    double us[ARRAY_COUNT(files)];
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        char *words = xprintf("--csv=%s", files[i]);
        us[i] = predicted_us(words);
        free(words);
    }
    assert_true(us[1] - us[0] > 0.9 && us[2] - us[3] > 0.3);
}

// Seed 0: a list of sizes over tiles and clusters, with a type, in one command.
TEST(a_list_is_swept_over_tiles_and_clusters_with_a_type)
{
    char *file = helper_file("m,n,k\n4096,4096,16384\n4096,7168,257\n"), *text;
    char *line = xprintf("predict --model=ws-persistent --gpu=b200-1300 --sweep --dtype="
                         "e2m1-fp32:e8m0/16 --csv %s",
                         file);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    struct csv out;
    struct error err;
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    assert_int_equal(out.count, 2 * 4 * 3);
    bool seen = false;
    for (size_t i = 0; i < out.count; i++) {
        if (table_number(&out, i, "k") == 16384 && table_number(&out, i, "cta_m") == 128 &&
            table_number(&out, i, "cta_n") == 64 && table_number(&out, i, "cluster_m") == 2 &&
            table_number(&out, i, "cluster_n") == 1)
            seen = close_to(table_number(&out, i, "predicted_us"), 376.1631394230769, 1e-9);
    }
    assert_true(seen); // the document's own example
    static const char *const document[] = {
        "in_dtype", "acc_dtype", "out_dtype", "sf_dtype", "sf_vec_size", "a_major",   "b_major",
        "c_major",  "mma_m",     "mma_n",     "cta_m",    "cta_n",       "cluster_m", "cluster_n",
        "m",        "n",         "k"};
    for (size_t i = 0; i < ARRAY_COUNT(document); i++)
        assert_true(table_text(&out, 0, document[i])[0] != '\0');
    csv_free(&out);
    free(text);
    free(line);
}

// Rows of a sweep, and those of them with tiles of 64 rows.
static size_t swept(const char *words, size_t *of_64_rows)
{
    char *line = xprintf("predict --gpu=b200 --sweep --format=csv %s", words), *text;
    struct csv out;
    struct error err;
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    const size_t count = out.count;
    *of_64_rows = 0;
    for (size_t i = 0; i < count; i++)
        *of_64_rows += table_number(&out, i, "cta_m") == 64;
    csv_free(&out);
    free(text);
    free(line);
    return count;
}

// Block scales that tensor cores apply themselves want 128 rows, as seed 0 says; those that warps
// apply, and tiles that somebody names, are left as they are.
TEST(a_bare_sweep_of_block_scaled_types_has_tiles_of_128_rows_only)
{
    char *list = helper_file("m,n,k,in_dtype,out_dtype,sf_dtype,sf_vec_size\n"
                             "4096,4096,4096,e2m1,fp32,e8m0,16\n512,512,512,fp16,fp32,,\n");
    char *problems = helper_file("problem\n512x512x512:nvfp4\n512x512x512:bf16\n");
    const struct {
        const char *words, *file;
        size_t count, of_64_rows;
    } sweeps[] = {
        {"4096x4096x4096:bf16", NULL, 24, 12},
        {"4096x4096x4096:nvfp4", NULL, 12, 0},
        {"4096x4096x4096:nvfp4 512x512x512:bf16", NULL, 36, 12},
        {"4096x4096x4096:e4m3-bf16:e8m0/32", NULL, 12, 0},
        {"4096x4096x4096:e4m3-bf16:tn:fp32/1x128/128x128/columns", NULL, 24, 12},
        {"--tile=64x64 4096x4096x4096:nvfp4", NULL, 3, 3},
        {"--csv ", list, 36, 12},
        {"--csv ", problems, 36, 12},
    };
    for (size_t i = 0; i < ARRAY_COUNT(sweeps); i++) {
        size_t of_64_rows;
        char *words = xprintf("%s%s", sweeps[i].words, sweeps[i].file ? sweeps[i].file : "");
        assert_int_equal(swept(words, &of_64_rows), sweeps[i].count);
        assert_int_equal(of_64_rows, sweeps[i].of_64_rows);
        free(words);
    }
}

// NVFP4 has scales of E4M3 and gives BF16 here wherever it is named, as its makers define it. Seed
// 0's kernels of that name had scales of E8M0 and gave FP32.
TEST(nvfp4_means_the_same_in_a_list_as_in_a_problem)
{
    char *file = helper_file("m,n,k\n4096,4096,16384\n");
    static const char *const types[] = {"nvfp4", "e2m1-bf16:e4m3/16", "e2m1-fp32:e8m0/16"};
    double us[ARRAY_COUNT(types)];
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        char *list = xprintf("--model=ws-persistent --gpu=b200-1300 --tile=128x64 --cluster=2x1 "
                             "--dtype=%s --csv=%s",
                             types[i], file);
        us[i] = predicted_us(list);
        free(list);
    }
    assert_true(us[0] == us[1] && us[0] < us[2]);
    assert_true(close_to(us[2], 376.1631394230769, 1e-9)); // the document's
    assert_true(us[0] == predicted_us("--model=ws-persistent --gpu=b200-1300 --tile=128x64 "
                                      "--cluster=2x1 4096x4096x16384:nvfp4"));
}

// Seed 0's columns for what layout says, read and written.
TEST(how_operands_lie_is_said_by_their_majors)
{
    static const char *const majors[][3] = {
        {"k", "k", "tn"}, {"k", "n", "nn"}, {"m", "n", "nt"}, {"m", "k", "tt"}};
    for (size_t i = 0; i < ARRAY_COUNT(majors); i++) {
        char *rows = xprintf("m,n,k,in_dtype,a_major,b_major\n512,512,512,e4m3,%s,%s\n",
                             majors[i][0], majors[i][1]);
        char *file = helper_file(rows), *csv = xprintf("--csv %s", file);
        char *words = xprintf("512x512x512:e4m3:%s", majors[i][2]);
        assert_true(predicted_us(csv) == predicted_us(words));
        file = helper_file("m,n,k\n512,512,512\n");
        char *list = xprintf("--dtype e4m3:%s --csv %s", majors[i][2], file);
        assert_true(predicted_us(list) == predicted_us(words));
        assert_true(i == 0 || predicted_us(words) > predicted_us("512x512x512:e4m3:tn"));
        free(list);
        free(rows);
        free(csv);
        free(words);
    }
}

// More rows than one block has are predicted by threads, each as it is alone, in their order.
TEST(many_rows_are_predicted_as_each_alone)
{
    struct buffer list = {0};
    buffer_puts(&list, "m,n,k,in_dtype\n");
    for (int i = 0; i < 9000; i++)
        buffer_printf(&list, "%d,4096,1024,bf16\n", 1 + i % 3000);
    char *file = helper_file(list.bytes), *text;
    char *line = xprintf("predict --gpu h100-sxm --csv %s", file);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    struct csv out;
    struct error err;
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    assert_int_equal(out.count, 9000);
    for (size_t i = 0; i < out.count; i++) {
        assert_int_equal((int)table_number(&out, i, "m"), 1 + (int)i % 3000);
        assert_string_equal(table_text(&out, i, "predicted_us"),
                            table_text(&out, i % 3000, "predicted_us"));
    }
    csv_free(&out);
    free(text);
    free(line);
    buffer_free(&list);
}

TEST(a_table_has_no_empty_columns)
{
    char *text;
    assert_int_equal(run(&command_predict, "predict --gpu h100-sxm 64x4096x1024:bf16", &text),
                     CONCLUDE_OK);
    assert_null(strstr(text, "cta_m"));
    assert_non_null(strstr(text, "predicted_us"));
    assert_non_null(strstr(text, "band_95"));
    free(text);
    // a model without bands, and no measured times
    assert_int_equal(run(&command_predict,
                         "predict --gpu h100-sxm --model sol --parts 64x4096x1024:bf16", &text),
                     CONCLUDE_OK);
    assert_null(strstr(text, "band"));
    assert_null(strstr(text, "ratio"));
    assert_non_null(strstr(text, "waves"));
    free(text);
}

TEST(what_multiplies_is_a_column)
{
    char *file = helper_file("m,n,k,in_dtype,cta_m,cta_n,threads,registers,multiply\n"
                             "4096,4096,4096,tf32,128,128,128,180,2\n"
                             "4096,4096,4096,tf32,128,128,128,180,3\n");
    char *line = xprintf("predict --model hopper --gpu h200-sxm --csv %s", file), *text, *name;
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    name = helper_file(text);
    struct csv out;
    struct error err;
    if (rows_open(&out, name, &err))
        fail_msg("%s", err.text);
    assert_true(table_number(&out, 0, "predicted_us") > 2 * table_number(&out, 1, "predicted_us"));
    csv_free(&out);
    free(text);
    free(line);
}

TEST(a_dual_gemm_is_predicted_from_words_and_from_a_column)
{
    char *file = helper_file("m,n,k,in_dtype,epilogue\n512,4096,7168,bf16,dual-silu\n"
                             "512,4096,7168,bf16,none\n512,4096,7168,bf16,\n");
    char *line = xprintf("predict --csv %s", file), *text, *name;
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    name = helper_file(text);
    free(text);
    struct csv out;
    struct error err;
    if (rows_open(&out, name, &err))
        fail_msg("%s", err.text);
    const double dual = table_number(&out, 0, "predicted_us"),
                 plain = table_number(&out, 1, "predicted_us");
    assert_true(dual > 1.5 * plain && dual < 2 * plain);
    assert_true(table_number(&out, 2, "predicted_us") == plain);
    csv_free(&out);
    assert_int_equal(
        run(&command_predict, "predict --format=csv 512x4096x7168:bf16:dual-silu", &text),
        CONCLUDE_OK);
    assert_non_null(strstr(text, ",dual-silu,"));
    free(text);
    free(line);
}

TEST(what_is_no_gemm_is_infeasible_and_a_form_is_read_from_its_text)
{
    char *text;
    assert_int_equal(run(&command_predict, "predict --format=csv S=4096,H=128:bf16", &text),
                     CONCLUDE_OK);
    assert_non_null(strstr(text, "\"H=128,S=4096:bf16-bf16\",stream,,,,infeasible: no model"));
    free(text);
    char *file = helper_file("problem\n8192x4096x7168:fp8:contiguous4/30\n\"S=1,H=2\"\n");
    char *line = xprintf("predict --model sol --csv %s", file);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    assert_non_null(strstr(text, "8192x4096x7168:fp8:contiguous4/30,"));
    assert_non_null(strstr(text, ",infeasible: no model"));
    free(text);
    free(line);
}

TEST(an_infeasible_row_says_why_and_has_no_time)
{
    char *file =
        helper_file("m,n,k,in_dtype,cta_m,cta_n\n64,64,64,fp16,64,64\n64,64,64,fp16,4096,64\n");
    char *line = xprintf("predict --model ws-persistent --gpu b200-1300 --csv %s", file), *text;
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    assert_non_null(strstr(text, "64,64,64,fp16,4096,64,cold,,,,infeasible: "));
    free(text);
    free(line);
}

// in_dtyp is one letter from in_dtype, and two from in_type.
TEST(a_misspelt_column_is_told_the_nearest_name)
{
    char *file = helper_file("m,n,k,in_dtyp\n1,2,3,fp16\n");
    struct csv csv;
    struct error err;
    assert_int_equal(rows_open(&csv, file, &err), 0);
    assert_int_equal(rows_refuse_misspelt(&csv, file, &err), -1);
    assert_non_null(strstr(err.text, "column 'in_dtyp' would not be read; name it 'in_dtype'"));
    csv_free(&csv);
}

TEST(bad_input_ends_with_4_and_prints_no_rows)
{
    static const char *const bad[] = {
        "m,n,k\n1,2,3\n",
        "m,n,k,in_dtype\n0,2,3,fp16\n",
        "m,n,k,in_dtype\n1,2,3,fp16\n-1,2,3,fp16\n",
        "m,n,k,in_dtype\n2147483648,2,3,fp16\n",
        "m,n,k,in_dtype\n1e3,2,3,fp16\n",
        "m,n,k,in_dtype\n1,2,3,fp17\n",
        "m,n,k,in_dtype,cta_m\n1,2,3,fp16,-64\n",
        "m,n,k,in_dtype,sf_vec_size\n1,2,3,e2m1,16\n",
        "m,n,k,in_dtype,l2_hit_rate\n1,2,3,fp16,nan\n",
        "m,n,k,in_dtype,multiply\n1,2,3,fp16,4\n",
        "m,n,k,in_dtype,a_major\n1,2,3,fp16,n\n",
        "m,n,k,in_dtype,b_major\n1,2,3,fp16,m\n",
        "m,n,k,in_dtype,c_major\n1,2,3,fp16,m\n",
        "m,n,k,in_dtype,acc_dtype\n1,2,3,fp16,fp16\n",
        "m,n,k,in_dtype,l2_hit_rate\n1,2,3,fp16,1.5\n",
        "m,n,k,in_dtype,clusterm\n1,2,3,fp16,2\n", // misspelt
        "m,n,k,in_dtype,Threads\n1,2,3,fp16,256\n",
        "m,n,k,in_dtype,regime\n1,2,3,fp16,hot\n",
        "m,n,k,in_dtype,launch\n1,2,3,fp16,maybe\n",
        "m,n,k,in_dtype,warm\n1,2,3,fp16,hot\n",
        "m,n,k,in_dtype,early\n1,2,3,fp16,soon\n",
        "m,n,k,in_dtype,regime,warm\n1,2,3,fp16,dirty,yes\n",
        "m,n,k,in_dtype,regime,warm\n1,2,3,fp16,activations,no\n",
        "m,n,k,in_dtype,clock_mhz\n1,2,3,fp16,100001\n",
        "m,n,k,in_dtype,clock_mhz\n1,2,3,fp16,-1\n",
        "m,n,k,in_dtype,clock_mhz\n1,2,3,fp16,1e-300\n", // its time would be infinite
        "m,n,k,in_dtype,clock_mhz\n1,2,3,fp16,inf\n",
        "m,n,k,in_dtype,measured_us\n1,2,3,fp16,1e16\n",
        "m,n,k,in_dtype,measured_us\n1,2,3,fp16,1e-320\n",
        "problem,regime\n1x2x3:fp16:stream,warm\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char *file = helper_file(bad[i]), *text;
        char *line = xprintf("predict --model ws-persistent --gpu b200-1300 --csv %s", file);
        assert_int_equal(run(&command_predict, line, &text), CONCLUDE_FAILED);
        assert_string_equal(text, "");
        free(text);
        free(line);
    }
    static const char *const lines[] = {
        "predict --model nothing 64x64x64",
        "predict --gpu nothing 64x64x64",
        "predict --csv /nonexistent/file.csv",
        "predict --model sol 64x64",
        "predict --model sol 64x64x64 --trace /tmp/x",
        "select --model nothing 64x64x64",
    };
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        char *text;
        const struct command *c = lines[i][0] == 's' ? &command_select : &command_predict;
        assert_int_equal(run(c, lines[i], &text), CONCLUDE_FAILED);
        free(text);
    }
}

TEST(explanation_shows_the_seeds_breakdown)
{
    char *file = helper_file("m,n,k,in_dtype,out_dtype,sf_dtype,sf_vec_size,cta_m,cta_n,cluster_m,"
                             "cluster_n,measured_us\n4096,7168,257,fp8,fp8,,0,64,256,2,1,"
                             "35.63520014286041\n"),
         *text;
    char *line = xprintf("predict --model ws-persistent --gpu b200-1300 --explain --csv %s", file);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    static const char *const expected[] = {
        "MNK 4096 7168 257\nCTA (64 256)\nCLUSTER (2 1)\nRATIO: 0.57948536391",
        "PROLOGUE\n    Overhead: 6.15384615384615", "Limiter: EPILOG\n        DMA: 0.89146875\n",
        "    Last Wave\n        DMA: 0.096375\n"};
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++)
        assert_non_null(strstr(text, expected[i]));
    free(text);
    free(line);
}

// Types, a second product, block scales and groups are not in m, n and k.
TEST(explanation_names_the_whole_problem)
{
    static const char *const problems[] = {"512x4096x7168:bf16-bf16:tn:dual-silu",
                                           "4096x7168x2048:e4m3-bf16:tn:fp32/1x128/128x128/columns",
                                           "8192x2048x2048:bf16-bf16:tn:contiguous32/zipf"};
    for (size_t i = 0; i < ARRAY_COUNT(problems); i++) {
        char *line = xprintf("predict --explain %s", problems[i]), *text;
        char *expected = xprintf("\nPROBLEM %s:stream\n", problems[i]);
        assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
        assert_non_null(strstr(text, expected));
        free(text);
        free(expected);
        free(line);
    }
}

TEST(every_model_takes_words_and_writes_json)
{
    for (size_t i = 0; i < model_count; i++) {
        char *line =
                 xprintf("predict --model %s --format json 4096x4096x4096:bf16", models[i]->name),
             *text;
        assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
        assert_true(helper_json_is_valid(text));
        assert_null(strstr(text, "infeasible"));
        free(text);
        free(line);
    }
}

// Every problem with every tile and cluster; parts add up to the prediction.
TEST(a_sweep_covers_all_combinations_and_its_parts_add_up)
{
    char *text;
    assert_int_equal(run(&command_predict,
                         "predict --sweep --tile 64x64,128x256x64 --cluster 1x1,2x1 --parts "
                         "--format csv 4096x4096x4096:BF16 512x4096x7168:fp8",
                         &text),
                     CONCLUDE_OK);
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text, strlen(text), "sweep", &err), 0);
    assert_int_equal(csv.count, 2 * 2 * 2);
    static const char *const parts[] = {"fixed_us", "first_load_us", "main_loop_us", "epilogue_us"};
    for (size_t i = 0; i < csv.count; i++) {
        double sum = 0, part, all = 0;
        for (size_t j = 0; j < ARRAY_COUNT(parts); j++) {
            assert_int_equal(parse_double(&part, csv.rows[i].fields[csv_column(&csv, parts[j])]),
                             0);
            sum += part;
        }
        const char *predicted = csv.rows[i].fields[csv_column(&csv, "predicted_us")];
        assert_int_equal(parse_double(&all, predicted), 0);
        assert_true(all > 0 && sum > all * (1 - 1e-9) && sum < all * (1 + 1e-9));
    }
    csv_free(&csv);
    free(text);
    static const char *const refused[] = {"64x64,,1x1",  "64x",     "x64",    "64",
                                          "64x64x64x64", "0x4",     "64x64,", "-1x4",
                                          "64x 64",      "70000x2", ""};
    struct sides_list list;
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_int_equal(sides_parse(&list, refused[i], true), -1);
    assert_int_equal(sides_parse(&list, "2x2x2", false), -1);
    assert_int_equal(sides_parse(&list, "128x256x64,64x64", true), 0);
    assert_true(list.count == 2 && list.items[0].k == 64 && list.items[1].k == 0);
}

TEST(select_prints_the_published_choices)
{
    struct csv t = table_read("conformance_origami_select.csv");
    for (size_t row = 0; row < t.count; row++) {
        char *line = xprintf("select --model origami --gpu rtx4090 %sx%sx%s:FP16",
                             table_text(&t, row, "m"), table_text(&t, row, "n"),
                             table_text(&t, row, "k")),
             *text;
        char *expected = xprintf(" tile %sx%sx%s group %s ", table_text(&t, row, "block_0"),
                                 table_text(&t, row, "block_1"), table_text(&t, row, "block_2"),
                                 table_text(&t, row, "group_size_m"));
        assert_int_equal(run(&command_select, line, &text), CONCLUDE_OK);
        assert_non_null(strstr(text, expected));
        free(text);
        free(expected);
        free(line);
    }
    csv_free(&t);
}

static void words_are_in_help(const struct prediction *p)
{
    const char *help = command_predict.doc;
    if (p->feasible && !strstr(help, bound_name(p->bound)))
        fail_msg("--help does not say %s", bound_name(p->bound));
    for (size_t i = 0; p->feasible && i < p->part_count; i++) {
        if (!strstr(help, p->parts[i].name))
            fail_msg("--help does not say %s", p->parts[i].name);
    }
}

TEST(every_word_of_a_prediction_is_in_help)
{
    static const char *const problems[] = {"4096x4096x4096:bf16", "16x64x65536:bf16",
                                           "512x512x512:e4m3:nn", "256x3072x4096:nvfp4:dual-silu",
                                           "4096x8192x64:fp32",   "128x128x8192:tf32"};
    static const struct traits traits[] = {
        {0}, {.tile_m = 64, .tile_n = 128, .tile_k = 32, .split_k = SPLIT_SPREAD}};
    size_t seen = 0;
    for (size_t i = 0; i < model_count * ARRAY_COUNT(problems) * ARRAY_COUNT(traits); i++) {
        struct problem p;
        struct error err;
        const size_t at = i / model_count;
        assert_int_equal(problem_parse(&p, problems[at % ARRAY_COUNT(problems)], &err), 0);
        for (size_t g = 0; g < gpu_count; g++) {
            const struct predict_input in = {
                .gpu = gpus[g], .problem = &p, .traits = &traits[at / ARRAY_COUNT(problems)]};
            const struct prediction out = models[i % model_count]->predict(&in);
            words_are_in_help(&out);
            seen += out.feasible ? out.part_count : 0;
        }
    }
    assert_true(seen > 300);
}

// The document's best kernel on a B200, by the tile that it has: its times gave the model nothing.
TEST(seed_4s_times_are_met_on_a_b200)
{
    char *csv = helper_file(""), *text;
    unlink(csv);
    assert_int_equal(symlink(TEST_SOURCE "/baselines/recorded/b200/v2.csv", csv), 0);
    char *line = xprintf("predict --gpu b200 --parts --csv %s", csv);
    assert_int_equal(run(&command_predict, line, &text), CONCLUDE_OK);
    struct csv out, document = table_read("conformance_dual_gemm_floor.csv");
    struct error err;
    assert_int_equal(csv_parse(&out, text, strlen(text), "out", &err), 0);
    assert_int_equal(out.count, document.count);
    for (size_t i = 0; i < out.count; i++) {
        assert_true(table_number(&out, i, "measured_us") ==
                    table_number(&document, i, "measured_us"));
        const double ratio = table_number(&out, i, "ratio");
        assert_true(ratio > 0.85 && ratio < 1.15);
    }
    csv_free(&out);
    csv_free(&document);
    free(text);
    unlink(csv);
    free(line);
}

// A table may have several: plumb's own name comes before a sweep's, and that before seed 0's.
TEST(measured_times_stand_in_the_first_column_that_is_known)
{
    static const char *const headers[][2] = {
        {"m,us,measured_us,runtime_us\n1,2,3,4\n", "measured_us"},
        {"m,runtime_us,us\n1,2,3\n", "us"},
        {"runtime_us,m\n1,2\n", "runtime_us"},
        {"m,n,time_us\n1,2,3\n", ""}};
    for (size_t i = 0; i < ARRAY_COUNT(headers); i++) {
        struct csv csv;
        struct error err;
        const char *text = headers[i][0];
        assert_int_equal(csv_parse(&csv, text, strlen(text), "t", &err), 0);
        const char *column = rows_time_column(&csv);
        assert_string_equal(column ? column : "", headers[i][1]);
        csv_free(&csv);
    }
}
