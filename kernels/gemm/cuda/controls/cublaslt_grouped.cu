// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// Grouped GEMM as cuBLASLt before 13.4 can do it: a product for each group, by the best of the
// heuristics' algorithms for its size. All launches are in a CUDA graph, one after the other or in
// 2, 4 or 8 parallel branches; prepare() times these and takes the fastest. A library's single
// products need the number of rows of each group on the host. It is read once, in prepare(), and no
// timed launch has to do so; that is an advantage which users of the library do not have.
//
// A graph holds addresses, so there is one graph for each of the last few sets of addresses. The
// note names the library's version, the number of branches, and which of the heuristics' answers
// each group takes.
#include "cublaslt.cuh"
#include "graphs.cuh"

constexpr int control_groups_most = 256;

struct known_groups {
    struct plumb_form form;
    int32_t first[control_groups_most], rows[control_groups_most];
};

static int read_groups(struct known_groups *out, const struct plumb_form_args *args)
{
    const size_t bytes = static_cast<size_t>(args->form.groups) * sizeof(int32_t);
    out->form = args->form;
    const int code = cudaMemcpy(out->first, args->group_first, bytes, cudaMemcpyDeviceToHost);
    return code ? code : cudaMemcpy(out->rows, args->group_rows, bytes, cudaMemcpyDeviceToHost);
}

// True for groups of layout TN, alpha 1, no gaps between rows, and nothing fused.
static int known_groups_form(const struct plumb_form *f)
{
    const struct plumb_problem *p = &f->problem;
    return f->grouping != PLUMB_NO_GROUPS && f->groups <= control_groups_most &&
           f->number_count == 0 && f->alpha == 1 && f->beta == 0 && f->lda == p->k &&
           f->ldb == p->k && f->ldc == p->n && p->out_type == PLUMB_BF16 && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == PLUMB_NO_EPILOGUE && f->rows <= INT32_MAX &&
           p->n <= INT32_MAX && p->k <= INT32_MAX;
}

static int supports_bf16_groups(const struct plumb_form *f)
{
    return known_groups_form(f) && f->scale_vector == 0 && f->problem.in_type == PLUMB_BF16;
}

// ---- Block scales of groups as cuBLASLt takes them: one FP32 for each row of A and 128 of K, and
// one for each 128 x 128 of B. Those of B lie as the library needs them. For A, it needs the
// scales of one product as [k / 128][rows], with rows a multiple of 4; but the scales of all
// groups lie together, or those of a matrix with more rows than are used. So a kernel gathers them
// first, and its time counts as the control's. Rows that are added to make a multiple of 4 are
// multiplied, and hold zeros.

constexpr int scales_each = 128; // elements along K, and rows of B

static inline int fill_up(int64_t count, int to)
{
    return static_cast<int>((count + to - 1) / to * to);
}

static inline int64_t scale_blocks(const struct plumb_form *f)
{
    return (f->problem.k + scales_each - 1) / scales_each;
}

static int supports_scaled_groups(const struct plumb_form *f)
{
    const struct plumb_problem *p = &f->problem;
    return known_groups_form(f) && p->in_type == PLUMB_E4M3 && p->n % 16 == 0 && p->k % 16 == 0 &&
           f->scale_type == PLUMB_FP32 && f->scale_vector == scales_each && f->scale_rows_a == 1 &&
           f->scale_rows_b == scales_each && f->scale_layout == PLUMB_SCALES_COLUMNS &&
           (f->grouping == PLUMB_CONTIGUOUS || p->m % 4 == 0);
}

// The gathered scales of A. Those of group g's block b begin at (sum of the rows of the groups
// before + b / blocks * rows of g).
static size_t gathered_bytes(const struct plumb_form *f)
{
    return f->scale_vector ? static_cast<size_t>(scale_blocks(f) * (f->rows + 4 * f->groups)) * 4
                           : 0;
}

struct gathering {
    int32_t first[control_groups_most], rows[control_groups_most]; // number of rows, rounded up
    int64_t matrix_rows, blocks; // rows and blocks of one matrix A
};

static __global__ void gather_scales(float *out, const float *in,
                                     const __grid_constant__ struct gathering of)
{
    const int g = static_cast<int>(blockIdx.y);
    int64_t before = 0;
    for (int i = 0; i < g; i++)
        before += of.rows[i];
    const int64_t matrix = of.first[g] / of.matrix_rows, row = of.first[g] % of.matrix_rows;
    const int64_t count = of.rows[g] * of.blocks;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < count;
         i += gridDim.x * static_cast<int64_t>(blockDim.x))
        out[before * of.blocks + i] =
            in[(matrix * of.blocks + i / of.rows[g]) * of.matrix_rows + row + i % of.rows[g]];
}

static int gather(float *out, const struct known_groups *groups, const struct plumb_form_args *args,
                  cudaStream_t stream)
{
    const struct plumb_form *f = &args->form;
    struct gathering of = {};
    of.matrix_rows = f->grouping == PLUMB_MASKED ? f->problem.m : f->rows;
    of.blocks = scale_blocks(f);
    for (int g = 0; g < f->groups; g++) {
        of.first[g] = groups->first[g];
        of.rows[g] = fill_up(groups->rows[g], 4);
    }
    const dim3 blocks(16, static_cast<unsigned>(f->groups));
    gather_scales<<<blocks, 256, 0, stream>>>(out, static_cast<const float *>(args->block_scales_a),
                                              of);
    return cudaGetLastError();
}

constexpr int branches_most = 8, rounds = 3;
using graph_keeper = kept_graphs<struct plumb_form_args>;

static struct {
    cublasLtHandle_t handle;
    cudaStream_t streams[branches_most]; // of all branches but the first, which uses
                                         // the caller's stream
    cudaEvent_t events[branches_most];
    struct known_groups groups;
    struct library_call choices[control_groups_most]; // by group; equal groups share the choice of
                                                      // the first of them
    int chosen[control_groups_most]; // index of that one, or -1 if the group has no rows
    int branches;
    graph_keeper graphs;
} state;

static bool is_scaled(const struct plumb_form_args *args)
{
    return args->form.scale_vector > 0;
}

static float *gathered(const struct plumb_form_args *args)
{
    return reinterpret_cast<float *>(static_cast<char *>(args->args.workspace) +
                                     branches_most * cublaslt_workspace_bytes);
}

// The arguments of group g's product, with the workspace of a branch.
static struct plumb_args product(const struct plumb_form_args *args, int g, int branch)
{
    const struct plumb_problem *p = &args->form.problem;
    struct plumb_args one = args->args;
    const int64_t first = state.groups.first[g], in_bytes = is_scaled(args) ? 1 : 2;
    one.problem = *p;
    one.problem.m = is_scaled(args) ? fill_up(state.groups.rows[g], 4) : state.groups.rows[g];
    one.a = static_cast<const char *>(args->args.a) + first * p->k * in_bytes;
    one.b = static_cast<const char *>(args->args.b) + g * p->n * p->k * in_bytes;
    one.c = static_cast<char *>(args->args.c) + first * p->n * 2;
    one.workspace = static_cast<char *>(args->args.workspace) +
                    static_cast<size_t>(branch) * cublaslt_workspace_bytes;
    one.workspace_bytes = cublaslt_workspace_bytes;
    return one;
}

// Tells the operation where group g's block scales lie, if it has any.
static int set_group_scales(struct library_call *c, int g, const struct plumb_form_args *args)
{
    const struct plumb_form *f = &args->form;
    const int64_t blocks = is_scaled(args) ? scale_blocks(f) : 0;
    int64_t before = 0;
    if (!is_scaled(args))
        return 0;
    for (int i = 0; i < g; i++)
        before += fill_up(state.groups.rows[i], 4);
    const int64_t of_matrix = (f->problem.n + scales_each - 1) / scales_each * fill_up(blocks, 4);
    return set_block_scales(c, gathered(args) + before * blocks,
                            static_cast<const float *>(args->block_scales_b) + g * of_matrix);
}

static int queue(const struct plumb_form_args *args, int branches, cudaStream_t stream)
{
    struct cublaslt_state library = {};
    library.handle = state.handle;
    int code = is_scaled(args) ? gather(gathered(args), &state.groups, args, stream) : 0;
    if (!code && branches > 1)
        code = cudaEventRecord(state.events[0], stream);
    for (int b = 1; !code && b < branches; b++)
        code = cudaStreamWaitEvent(state.streams[b], state.events[0]);
    for (int g = 0, count = 0; !code && g < args->form.groups; g++) {
        if (state.chosen[g] < 0)
            continue;
        const int branch = count++ % branches;
        const struct plumb_args one = product(args, g, branch);
        struct library_call *c = &state.choices[state.chosen[g]];
        code = set_group_scales(c, g, args);
        if (!code)
            code = run(&library, c, &one, branch ? state.streams[branch] : stream);
    }
    for (int b = 1; !code && b < branches; b++) {
        code = cudaEventRecord(state.events[b], state.streams[b]);
        if (!code)
            code = cudaStreamWaitEvent(stream, state.events[b]);
    }
    return code;
}

// ---- preparing ----

static int make_streams()
{
    int code = state.handle ? 0 : static_cast<int>(cublasLtCreate(&state.handle));
    for (int b = 0; !code && b < branches_most; b++) {
        if (b > 0 && !state.streams[b])
            code = cudaStreamCreateWithFlags(&state.streams[b], cudaStreamNonBlocking);
        if (!code && !state.events[b])
            code = cudaEventCreateWithFlags(&state.events[b], cudaEventDisableTiming);
    }
    return code;
}

static int forget()
{
    for (struct library_call &choice : state.choices)
        free_choice(&choice);
    return state.graphs.begin();
}

// Chooses group g's algorithm: answer number `wanted` of the heuristics, or the fastest if
// that is -1.
static int choose_for(int *index, int g, int wanted, const struct plumb_form_args *args,
                      cudaStream_t stream)
{
    cublasLtMatmulHeuristicResult_t results[algorithms_max];
    const struct plumb_args one = product(args, g, 0);
    struct library_call *c = &state.choices[g];
    struct cublaslt_state library = {};
    int count = 0;
    library.handle = state.handle;
    c->problem = one.problem;
    int code = make_operation(c, false);
    if (!code)
        code = set_group_scales(c, g, args);
    if (!code)
        code = ask_heuristics(results, &count, algorithms_max, &library, c, &one);
    if (code)
        return code;
    if (wanted < 0)
        return choose_of(index, &library, c, results, count, &one, stream);
    if (wanted >= count)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *index = wanted;
    c->algorithm = results[wanted].algo;
    return 0;
}

// The first group with the same number of rows, which may be g itself; -1 if g has no rows.
static int alike(int g)
{
    if (state.groups.rows[g] == 0)
        return -1;
    for (int i = 0; i < g; i++) {
        if (state.groups.rows[i] == state.groups.rows[g])
            return i;
    }
    return g;
}

// Times one graph: the least of some cold times, in ms.
static int time_graph(float *least_ms, const struct plumb_form_args *args, int branches,
                      cudaStream_t stream)
{
    graph_keeper::entry entry = {};
    cudaEvent_t start = nullptr, stop = nullptr;
    int code = state.graphs.record(&entry, args,
                                   [=](cudaStream_t to) { return queue(args, branches, to); });
    *least_ms = 1e30f;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int round = 0; !code && round <= rounds; round++) {
        float ms = 0;
        cudaMemsetAsync(args->args.workspace, 0, args->args.workspace_bytes, stream);
        cudaEventRecord(start, stream);
        code = cudaGraphLaunch(entry.graph, stream);
        cudaEventRecord(stop, stream);
        if (!code)
            code = cudaEventSynchronize(stop);
        if (!code)
            code = cudaEventElapsedTime(&ms, start, stop);
        if (!code && round > 0 && ms < *least_ms)
            *least_ms = ms;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    if (entry.graph)
        cudaGraphExecDestroy(entry.graph);
    return code;
}

static int choose_branches(const struct plumb_form_args *args, cudaStream_t stream)
{
    float best_ms = 1e30f;
    for (int branches = 1; branches <= branches_most; branches *= 2) {
        float ms;
        const int code = time_graph(&ms, args, branches, stream);
        if (code)
            return code;
        if (ms < best_ms) {
            best_ms = ms;
            state.branches = branches;
        }
    }
    return 0;
}

static void add_number(char *note, size_t size, const char *form, long value)
{
    const size_t used = strlen(note);
    snprintf(note + used, size - used, form, value);
}

static int prepare(const struct plumb_form_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    const char *at = pin;
    int code = make_streams();
    long version = 0, branches = 0;
    if (!code)
        code = forget();
    if (!code)
        code = read_groups(&state.groups, args);
    if (!code && is_scaled(args))
        code = gather(gathered(args), &state.groups, args, on);
    if (!code && pin) {
        int used = 0;
        if (sscanf(pin, "cublaslt %ld branches %ld algorithms%n", &version, &branches, &used) !=
                2 ||
            version != static_cast<long>(cublasLtGetVersion()) || branches < 1 ||
            branches > branches_most)
            return -1;
        at = pin + used;
        state.branches = static_cast<int>(branches);
    }
    char list[8 * control_groups_most] = "";
    for (int g = 0; !code && g < args->form.groups; g++) {
        state.chosen[g] = alike(g);
        if (state.chosen[g] != g)
            continue;
        int index = 0;
        long wanted = -1;
        char *end = nullptr;
        if (pin) {
            wanted = strtol(at, &end, 10);
            if (end == at)
                return -1;
            at = end;
        }
        code = choose_for(&index, g, static_cast<int>(wanted), args, on);
        add_number(list, sizeof(list), " %ld", index);
    }
    if (!code && !pin)
        code = choose_branches(args, on);
    if (code)
        return code;
    snprintf(note, note_size, "cublaslt %zu branches %d algorithms%s", cublasLtGetVersion(),
             state.branches, list);
    return 0;
}

// ---- launching ----

static int launch(const struct plumb_form_args *args, void *stream)
{
    if (memcmp(&state.groups.form, &args->form, sizeof(args->form)) != 0)
        return cudaErrorInvalidValue;
    return state.graphs.launch(args, stream,
                               [=](cudaStream_t to) { return queue(args, state.branches, to); });
}

static int supports(const struct plumb_form *f)
{
    return supports_bf16_groups(f) || supports_scaled_groups(f);
}

static size_t workspace(const struct plumb_form *f)
{
    return branches_most * cublaslt_workspace_bytes + gathered_bytes(f);
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = "cublaslt_grouped",
               .summary = "a product of cuBLASLt for each group, in a graph",
               .traits = {.out_type = PLUMB_BF16, .acc_type = PLUMB_FP32}},
    .supports = supports,
    .workspace = workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
