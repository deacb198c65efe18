/* Benchmark of compressors on given vectors: one loop over kinds of work, done and timed by the
 * processors' or the GPU's side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/compressors.h"
#include "calibrate/measure/gpu_timer.h"
#include "calibrate/measure/timing.h"
#include "kernels/codes.h"
#include "kernels/gpu.h"
#include "kernels/low_rank.h"

static const double longest_warm_up_s = 10;

/* The kinds of work that each repeat times. */
enum kind { COPY, READ, SELECT, COMPRESS, KINDS };

struct run {
    const struct gw_bench *bench;
    struct gw_arena arena;
    const struct gw_compressor *compressor;
    struct gw_task task;    /* selects from u */
    float *u, *residual;    /* [elements], of the side */
    const float *gradient;  /* [elements], of the side */
    double topk_energy;     /* of the exact top-k, by the CPU */
    enum kind kind;         /* of the next work */
    double took_s;          /* of the last work, on a GPU */
    double *seconds[KINDS]; /* [repeats], of one compressor */
    double *all_s[2];       /* [compressors * repeats], of COPY and READ */
    struct gw_selecting selecting;
    struct gw_selection found; /* the last selection, on the host; of the memory */
    struct gw_device *device;  /* NULL: processors */
    struct gw_gpu_timer timer; /* on a GPU */
    float *start;              /* GPU: u - gradient, so that their sum is u, up to rounding */
};

static size_t count_compressors(const struct gw_bench *bench) {
    size_t count = 0;
    while (bench->compressors[count] != NULL) {
        count++;
    }
    return count;
}

/* ---- work ---------------------------------------------------------------------------------- */

static enum gw_status do_work(struct run *run, struct gw_error *error) {
    const struct gw_memory *memory = &run->selecting.memory;
    struct gw_task task = run->task;
    size_t n = task.n;
    volatile float sum = 0;
    switch (run->kind) {
    case COPY:
        return memory->does->copy(memory, run->residual, run->u, n * sizeof *run->u, error);
    case READ:
        if (run->device != NULL) {
            return gw_gpu_read_pass(run->u, n, run->timer.stream, run->timer.sum, error);
        }
        sum = gw_read_pass(run->u, n);
        (void)sum;
        return GW_OK;
    default:
        if (run->kind == COMPRESS) { /* adds the gradient to the residual first */
            task.u = run->residual;
            task.gradient = run->gradient;
        }
        return gw_selecting_compress(&run->selecting, run->compressor, &task, run->kind == COMPRESS,
                                     error);
    }
}

static enum gw_status work(void *context, struct gw_error *error) {
    struct run *run = context;
    bool on_gpu = run->device != NULL;
    GW_TRY(on_gpu ? gw_gpu_timer_start(&run->timer, error) : GW_OK);
    GW_TRY(do_work(run, error));
    return on_gpu ? gw_gpu_timer_stop(&run->timer, &run->took_s, error) : GW_OK;
}

static double took_s(void *context) {
    const struct run *run = context;
    return run->took_s;
}

static enum gw_status time_work(struct run *run, enum kind kind, double *seconds,
                                struct gw_error *error) {
    const struct gw_subject subject = {
        .run = work, .took_s = run->device == NULL ? NULL : took_s, .context = run};
    const struct gw_repeats once = {.fewest = 1, .most = 1};
    size_t count = 0;
    run->kind = kind;
    return gw_time_alone(&gw_machine_clock, &subject, once, seconds, &count, error);
}

/* On processors a selection is timed after a pass over u, and so is the pass, so that caches are
 * equally warm for both. The selection from u is last, and is the one that is judged. */
static enum gw_status repeat_once(struct run *run, size_t i, struct gw_error *error) {
    if (run->device != NULL) {
        GW_TRY(time_work(run, COPY, &run->seconds[COPY][i], error));
        GW_TRY(time_work(run, READ, &run->seconds[READ][i], error));
    }
    /* The residual becomes such that with the gradient it is u. */
    if (run->device != NULL) {
        GW_TRY(gw_device_copy(run->timer.stream, run->residual, run->start,
                              run->task.n * sizeof *run->start, error));
    }
    for (size_t j = 0; run->device == NULL && j < run->task.n; j++) {
        run->residual[j] = run->u[j] - run->gradient[j];
    }
    GW_TRY(time_work(run, COMPRESS, &run->seconds[COMPRESS][i], error));
    if (run->device == NULL) {
        GW_TRY(time_work(run, READ, &run->seconds[READ][i], error));
        GW_TRY(time_work(run, READ, &run->seconds[READ][i], error));
    }
    return time_work(run, SELECT, &run->seconds[SELECT][i], error);
}

/* ---- quality of selections ------------------------------------------------------------------ */

/* The sum of squares of a selection. */
static double selection_energy(const struct gw_selection *found) {
    double sum = 0;
    for (size_t i = 0; i < found->count; i++) {
        double value = found->entries[i].value;
        sum += value * value;
    }
    return sum;
}

/* Finds the last selection, and copies it from a GPU to the host. */
static enum gw_status fetch_selection(struct run *run, struct gw_error *error) {
    struct gw_device_stream *stream = run->timer.stream;
    size_t count = 0;
    if (run->device == NULL) {
        run->found = run->selecting.memory.selection;
        return GW_OK;
    }
    GW_TRY(gw_gpu_selection_finish(&run->selecting.on_gpu, stream, &count, error));
    GW_TRY(gw_selection_reserve(&run->selecting.memory.selection, count, error));
    run->found = run->selecting.memory.selection;
    run->found.count = count;
    GW_TRY(gw_device_copy(stream, run->found.entries, run->selecting.on_gpu.entries,
                          count * sizeof *run->found.entries, error));
    return gw_device_stream_finish(stream, error);
}

/* The share of the energy of u that its codes keep: 1 - ||u - decoded||^2 / ||u||^2. */
static enum gw_status find_kept_energy(struct run *run, double *share, struct gw_error *error) {
    struct gw_memory *memory = &run->selecting.memory;
    size_t n = run->task.n;
    const struct gw_codes codes = {.compressor = run->compressor,
                                   .payloads = 1,
                                   .elements = n,
                                   .bytes = run->selecting.codes.memory};
    struct gw_buffer copies[2] = {{0}};
    void *read[2] = {NULL};
    double whole = 0;
    double lost = 0;
    enum gw_status status = memory->does->decode(memory, &codes, n, 1, false, run->residual, error);
    for (size_t i = 0; i < 2 && status == GW_OK; i++) {
        status = memory->does->read(memory, i == 0 ? run->u : run->residual, n * sizeof *run->u,
                                    &copies[i], &read[i], error);
    }
    for (size_t i = 0; i < n && status == GW_OK; i++) {
        double value = ((const float *)read[0])[i];
        double rest = value - (double)((const float *)read[1])[i];
        whole += value * value;
        lost += rest * rest;
    }
    *share = whole > 0 ? 1 - lost / whole : 1;
    gw_buffer_free(&copies[0]);
    gw_buffer_free(&copies[1]);
    return status;
}

/* The same of factors p with orthonormal columns and q: p q^T has the energy of q. */
static enum gw_status find_energy_of_factors(struct run *run, double *share,
                                             struct gw_error *error) {
    const struct gw_memory *memory = &run->selecting.memory;
    struct gw_low_rank *factors = run->task.state;
    const float *const vectors[] = {run->u, factors->q, factors->raw};
    const size_t counts[] = {run->task.n, factors->q_count, factors->raw_count};
    double energies[3] = {0};
    struct gw_buffer copy = {0};
    enum gw_status status = memory->does->factor(memory, factors, &run->task, error);
    for (size_t i = 0; i < 3 && status == GW_OK; i++) {
        void *read = NULL;
        status = memory->does->read(memory, vectors[i], counts[i] * sizeof **vectors, &copy, &read,
                                    error);
        energies[i] = status == GW_OK ? gw_sum_squares(read, counts[i]) : 0;
    }
    gw_buffer_free(&copy);
    *share = energies[0] > 0 ? (energies[1] + energies[2]) / energies[0] : 1;
    return status;
}

/* ---- one compressor ------------------------------------------------------------------------ */

/* In standard deviations, estimated from the median absolute deviation for normal repeats, as in
 * hyperfine. */
static const double outlier_deviations = 10;

static enum gw_status measure_compressor(struct run *run, size_t which, struct gw_bench_row *row,
                                         struct gw_error *error) {
    size_t repeats = run->bench->repeats;
    bool whole = !gw_compressor_selects(run->compressor); /* all elements travel */
    struct gw_summary pass;
    GW_TRY(repeat_once(run, 0, error)); /* warms up */
    for (size_t i = 0; i < repeats; i++) {
        GW_TRY(repeat_once(run, i, error));
    }
    GW_TRY(whole ? GW_OK : fetch_selection(run, error));
    for (size_t kind = COPY; kind <= READ; kind++) {
        memcpy(run->all_s[kind] + which * repeats, run->seconds[kind],
               repeats * sizeof **run->seconds);
    }
    gw_summarise(run->seconds[run->device == NULL ? READ : COPY], repeats, &pass);
    gw_summarise(run->seconds[SELECT], repeats, &row->select_s);
    gw_summarise(run->seconds[COMPRESS], repeats, &row->compress_s);
    row->outliers = gw_count_outliers(run->seconds[SELECT], repeats, outlier_deviations);
    row->compress_outliers = gw_count_outliers(run->seconds[COMPRESS], repeats, outlier_deviations);
    double pass_s = run->device == NULL ? pass.median : pass.median / 2;
    row->compressor = run->compressor;
    row->waits = run->device != NULL && !whole && gw_gpu_kernel_of(run->compressor)->waits;
    row->passes = row->select_s.median / pass_s;
    row->compress_passes = row->compress_s.median / pass_s;
    row->count_ratio = whole ? 1 : (double)run->found.count / (double)run->task.k;
    row->energy_ratio =
        !whole && run->topk_energy > 0 ? selection_energy(&run->found) / run->topk_energy : 1;
    if (run->compressor->rank > 0) {
        return find_energy_of_factors(run, &row->energy_ratio, error);
    }
    return whole ? find_kept_energy(run, &row->energy_ratio, error) : GW_OK;
}

static enum gw_status bench_one(struct run *run, size_t which, struct gw_bench_row *row,
                                struct gw_error *error) {
    const struct gw_compressor *compressor = run->bench->compressors[which];
    enum gw_status status = GW_OK;
    run->compressor = compressor;
    run->task.iteration = 0;
    if (run->device != NULL && !gw_is_on_gpus(compressor)) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor with GPU code",
                       compressor->name);
    }
    GW_TRY(gw_state_open(compressor, &run->task, &run->task.state, error));
    if (compressor->stateful && gw_compressor_selects(compressor)) {
        status = gw_warm_up_compressor(compressor, &run->task, &run->selecting, &gw_machine_clock,
                                       longest_warm_up_s, error);
    }
    if (status == GW_OK) {
        status = measure_compressor(run, which, row, error);
    }
    gw_state_close(compressor, run->task.state);
    return status;
}

/* ---- all aggregators ----------------------------------------------------------------------- */

/* Copies from the host; done when it returns. */
static enum gw_status upload_gradient(struct run *run, const float *from, float **out,
                                      struct gw_error *error) {
    size_t bytes = run->task.n * sizeof *from;
    GW_TRY(gw_device_allocate(run->device, bytes, (void **)out, error));
    GW_TRY(gw_device_copy(run->timer.stream, *out, from, bytes, error));
    return gw_device_stream_finish(run->timer.stream, error);
}

/* Opens the GPU's side. `scratch` holds u, and may be reused when this returns. */
static enum gw_status open_on_gpu(struct run *run, float *scratch, struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    float *gradient = NULL;
    GW_TRY(gw_gpu_timer_open(run->device, &run->timer, error));
    GW_TRY(gw_selecting_open(&run->selecting, run->timer.stream, bench->elements, error));
    GW_TRY(upload_gradient(run, bench->u, &run->u, error));
    enum gw_status status = upload_gradient(run, bench->gradient, &gradient, error);
    run->gradient = gradient;
    GW_TRY(status);
    for (size_t i = 0; i < bench->elements; i++) {
        scratch[i] = bench->u[i] - bench->gradient[i];
    }
    GW_TRY(upload_gradient(run, scratch, &run->start, error));
    run->task.u = run->u;
    return upload_gradient(run, scratch, &run->residual, error);
}

static void close_run(struct run *run) {
    if (run->device != NULL) {
        gw_device_free(run->device, run->u);
        gw_device_free(run->device, (void *)(uintptr_t)run->gradient);
        gw_device_free(run->device, run->start);
        gw_device_free(run->device, run->residual);
    }
    gw_selecting_close(&run->selecting);
    gw_gpu_timer_close(&run->timer);
    gw_arena_free(&run->arena);
}

/* Aligned as frameworks align tensors: vectors that cross cache lines cost twice as much. */
static float *allocate_aligned(struct run *run) {
    return gw_arena_own(&run->arena, gw_resident_zeros(run->bench->elements * sizeof(float)), free);
}

static enum gw_status open_run(struct run *run, struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    size_t n = bench->elements;
    size_t all = count_compressors(bench) * bench->repeats;
    size_t *layers = gw_arena_zeros(&run->arena, n / bench->kept, sizeof *layers);
    double *seconds =
        gw_arena_zeros(&run->arena, KINDS * bench->repeats + 2 * all, sizeof *seconds);
    float *copy = allocate_aligned(run);
    run->residual = run->device == NULL ? allocate_aligned(run) : NULL;
    if (layers == NULL || seconds == NULL || copy == NULL ||
        (run->device == NULL && run->residual == NULL)) {
        return gw_fail_memory(error, "measuring compressors");
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        run->seconds[kind] = seconds + kind * bench->repeats;
    }
    run->all_s[COPY] = seconds + KINDS * bench->repeats;
    run->all_s[READ] = run->all_s[COPY] + all;
    run->task = (struct gw_task){.n = n,
                                 .k = bench->kept,
                                 .seed = bench->seed,
                                 .threads = bench->threads,
                                 .memory = &run->selecting.memory};
    run->task.layers = layers;
    run->task.layer_count = n / run->task.k;
    for (size_t i = 0; i < run->task.layer_count; i++) {
        layers[i] = n / run->task.layer_count;
    }
    layers[run->task.layer_count - 1] += n % run->task.layer_count;
    memcpy(copy, bench->u, n * sizeof *copy);
    /* The exact top-k by the CPU, and the threshold that selects it. */
    double least = INFINITY;
    run->task.u = copy;
    struct gw_memory *memory = &run->selecting.memory;
    GW_TRY(gw_memory_open(memory, NULL, error));
    GW_TRY(gw_memory_select(memory, &gw_compressor_topk, &run->task, false, NULL, error));
    for (size_t i = 0; i < memory->selection.count; i++) {
        least = fmin(least, fabs((double)memory->selection.entries[i].value));
    }
    run->task.threshold = least;
    run->topk_energy = selection_energy(&memory->selection);
    if (run->device != NULL) {
        gw_memory_close(memory);
        return open_on_gpu(run, copy, error);
    }
    run->u = copy;
    run->gradient = bench->gradient;
    return GW_OK;
}

static enum gw_status bench_all(struct run *run, struct gw_bench_result *out,
                                struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    size_t count = count_compressors(bench);
    out->rows = calloc(count + 1, sizeof *out->rows);
    if (out->rows == NULL) {
        return gw_fail_memory(error, "measuring compressors");
    }
    for (size_t i = 0; i < count; i++) {
        if (bench->progress != NULL) {
            gw_progress_update(bench->progress, (double)i / (double)count,
                               bench->compressors[i]->name);
        }
        GW_TRY(bench_one(run, i, &out->rows[i], error));
        out->count++;
    }
    gw_summarise(run->all_s[READ], count * bench->repeats, &out->read_pass_s);
    if (run->device != NULL) {
        gw_summarise(run->all_s[COPY], count * bench->repeats, &out->copy_s);
    }
    return GW_OK;
}

enum gw_status gw_bench_run(const struct gw_bench *bench, struct gw_device *device,
                            struct gw_bench_result *out, struct gw_error *error) {
    struct run run = {.bench = bench, .device = device};
    *out = (struct gw_bench_result){0};
    enum gw_status status = open_run(&run, error);
    if (status == GW_OK) {
        status = bench_all(&run, out, error);
    }
    close_run(&run);
    return status;
}

void gw_bench_free(struct gw_bench_result *result) {
    free(result->rows);
    *result = (struct gw_bench_result){0};
}
