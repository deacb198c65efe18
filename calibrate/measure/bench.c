#include "calibrate/measure/bench_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/settle.h"

static const double longest_settling_s = 10;

struct bench_run {
    const struct gw_bench *bench;
    struct gw_task task;
    struct gw_workspace workspace;
    struct gw_selection selection;
    float *u, *residual; /* [elements] */
    size_t *layers;
    double topk_energy;
    double *read_s, *select_s, *compress_s; /* [repeats] */
    double *all_reads_s;                    /* [repeats * compressors] */
};

/* ---- one compressor ------------------------------------------------------------------------ */

/* Aligned as frameworks align tensors: vectors that cross cache lines cost twice as much. */
static float *allocate_aligned(size_t elements) {
    enum { ALIGNMENT = 64 };
    size_t bytes = elements * sizeof(float);
    return aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
}

static double time_read(const float *u, size_t n) {
    double started_s = gw_clock_now_s();
    volatile float sum = gw_read_pass(u, n);
    (void)sum;
    return gw_clock_now_s() - started_s;
}

/* Selections are timed after a pass over u, and so is the pass: caches are as warm for both. */
static enum gw_status repeat_once(struct bench_run *run, const struct gw_compressor *compressor,
                                  size_t i, struct gw_error *error) {
    size_t n = run->task.n;
    struct gw_task fused = run->task;
    fused.u = run->residual;
    fused.gradient = run->bench->gradient;
    for (size_t e = 0; e < n; e++) {
        run->residual[e] =
            run->u[e] - fused.gradient[e]; /* so that the sum is u, but for rounding */
    }
    double started_s = gw_clock_now_s();
    GW_TRY(gw_compress(compressor, &fused, &run->selection, error));
    run->compress_s[i] = gw_clock_now_s() - started_s;
    (void)time_read(run->u, n);
    run->read_s[i] = time_read(run->u, n);
    started_s = gw_clock_now_s();
    GW_TRY(gw_kernel_of(compressor)->select(&run->task, &run->selection, error));
    run->select_s[i] = gw_clock_now_s() - started_s;
    return GW_OK;
}

static enum gw_status measure(struct bench_run *run, const struct gw_compressor *compressor,
                              struct gw_bench_row *row, struct gw_error *error) {
    size_t repeats = run->bench->repeats;
    GW_TRY(repeat_once(run, compressor, 0, error)); /* warms up */
    for (size_t i = 0; i < repeats; i++) {
        GW_TRY(repeat_once(run, compressor, i, error));
    }
    struct gw_summary read;
    memcpy(run->all_reads_s, run->read_s, repeats * sizeof *run->read_s);
    run->all_reads_s += repeats;
    gw_summarise(run->read_s, repeats, &read);
    gw_summarise(run->select_s, repeats, &row->select_s);
    gw_summarise(run->compress_s, repeats, &row->compress_s);
    row->compressor = compressor;
    row->passes = row->select_s.median / read.median;
    row->compress_passes = row->compress_s.median / read.median;
    row->count_ratio = (double)run->selection.count / (double)run->task.k;
    row->energy_ratio =
        run->topk_energy > 0 ? gw_bench_energy(&run->selection) / run->topk_energy : 1;
    return GW_OK;
}

static enum gw_status bench_one(struct bench_run *run, const struct gw_compressor *compressor,
                                struct gw_bench_row *row, struct gw_error *error) {
    run->task.iteration = 0;
    enum gw_status status = GW_OK;
    GW_TRY(gw_state_open(compressor, &run->task, &run->task.state, error));
    if (compressor->stateful) {
        status =
            gw_settle_on_cpu(compressor, &run->task, &run->selection, longest_settling_s, error);
    }
    if (status == GW_OK) {
        status = measure(run, compressor, row, error);
    }
    gw_state_close(compressor, run->task.state);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

static void close_run(struct bench_run *run) {
    gw_workspace_free(&run->workspace);
    gw_selection_free(&run->selection);
    free(run->u);
    free(run->residual);
    free(run->layers);
    free(run->read_s);
}

static enum gw_status open_run(struct bench_run *run, const struct gw_bench *bench,
                               struct gw_error *error) {
    size_t n = bench->elements;
    size_t layers = n / bench->kept; /* as layer-drop keeps one at least, of about k elements */
    size_t compressors = gw_bench_count(bench);
    *run = (struct bench_run){.bench = bench,
                              .u = allocate_aligned(n),
                              .residual = allocate_aligned(n),
                              .layers = malloc(layers * sizeof(size_t)),
                              .read_s = calloc((3 + compressors) * bench->repeats, sizeof(double))};
    if (run->u == NULL || run->residual == NULL || run->layers == NULL || run->read_s == NULL) {
        return gw_fail_memory(error, "measuring compressors");
    }
    run->select_s = run->read_s + bench->repeats;
    run->compress_s = run->select_s + bench->repeats;
    run->all_reads_s = run->compress_s + bench->repeats;
    memcpy(run->u, bench->u, n * sizeof *run->u);
    run->task = (struct gw_task){.u = run->u,
                                 .n = n,
                                 .k = bench->kept,
                                 .seed = bench->seed,
                                 .threads = bench->threads,
                                 .workspace = &run->workspace};
    gw_bench_lay_out(&run->task, run->layers);
    return GW_OK;
}

static enum gw_status bench_all(struct bench_run *run, struct gw_bench_result *out,
                                struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    size_t count = gw_bench_count(bench);
    double *all_reads_s = run->all_reads_s;
    out->rows = calloc(count + 1, sizeof *out->rows);
    if (out->rows == NULL) {
        return gw_fail_memory(error, "measuring compressors");
    }
    GW_TRY(gw_bench_find_topk(&run->task, &run->selection, &run->topk_energy, error));
    for (size_t i = 0; i < count; i++) {
        if (bench->progress != NULL) {
            gw_progress_update(bench->progress, (double)i / (double)count,
                               bench->compressors[i]->name);
        }
        GW_TRY(bench_one(run, bench->compressors[i], &out->rows[i], error));
        out->count++;
    }
    gw_summarise(all_reads_s, count * bench->repeats, &out->read_pass_s);
    return GW_OK;
}

enum gw_status gw_bench_run(const struct gw_bench *bench, struct gw_bench_result *out,
                            struct gw_error *error) {
    struct bench_run run;
    *out = (struct gw_bench_result){0};
    enum gw_status status = open_run(&run, bench, error);
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
