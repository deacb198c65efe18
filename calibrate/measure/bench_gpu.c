/* Compressors on a GPU, timed by it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/bench_parts.h"
#include "calibrate/measure/gpu_timer.h"
#include "calibrate/measure/settle.h"
#include "kernels/gpu.h"

static const double longest_settling_s = 10;

/* What is timed, in each repeat. */
enum { COPY, READ, SELECT, COMPRESS, KINDS };

struct gpu_bench {
    const struct gw_bench *bench;
    struct gw_gpu_timer timer;
    struct gw_gpu_workspace *workspace;
    struct gw_gpu_selection selection;
    const struct gw_gpu_kernel *compressor;
    struct gw_task task; /* selects from u */
    float *u, *gradient; /* GPU [elements] */
    float *start;        /* GPU: u - gradient, so that their sum is u, but for rounding */
    float *residual;     /* GPU: begins as `start` */
    size_t *layers;
    struct gw_selection topk; /* exact, by the CPU; then what the GPU selected */
    double topk_energy;
    double *seconds[KINDS]; /* [repeats] */
    double *all_s[2];       /* [compressors * repeats], of COPY and READ */
    size_t done;            /* compressors */
};

/* ---- what is selected ---------------------------------------------------------------------- */

/* From a copy of u, which a task may not have as constant. */
static enum gw_status find_topk(struct gpu_bench *run, float *copy, struct gw_error *error) {
    struct gw_workspace workspace = {0};
    run->task.u = copy;
    run->task.workspace = &workspace;
    enum gw_status status = gw_bench_find_topk(&run->task, &run->topk, &run->topk_energy, error);
    gw_workspace_free(&workspace);
    run->task.workspace = NULL;
    return status;
}

/* Of the last selection, which is copied from the GPU. */
static enum gw_status judge(struct gpu_bench *run, struct gw_bench_row *row,
                            struct gw_error *error) {
    struct gw_selection *host = &run->topk;
    size_t count = 0;
    GW_TRY(gw_gpu_selection_finish(&run->selection, run->timer.stream, &count, error));
    GW_TRY(gw_selection_reserve(host, count, error));
    GW_TRY(gw_device_copy(run->timer.stream, host->entries, run->selection.entries,
                          count * sizeof *host->entries, error));
    GW_TRY(gw_device_stream_finish(run->timer.stream, error));
    host->count = count;
    row->count_ratio = (double)count / (double)run->task.k;
    row->energy_ratio = run->topk_energy > 0 ? gw_bench_energy(host) / run->topk_energy : 1;
    return GW_OK;
}

/* ---- one compressor ------------------------------------------------------------------------ */

static enum gw_status put_work(struct gpu_bench *run, int kind, struct gw_error *error) {
    struct gw_device_stream *stream = run->timer.stream;
    struct gw_task fused = run->task;
    size_t n = run->task.n;
    switch (kind) {
    case COPY:
        return gw_device_copy(stream, run->residual, run->u, n * sizeof *run->u, error);
    case READ:
        return gw_gpu_read_pass(run->u, n, stream, run->timer.sum, error);
    case SELECT:
        return run->compressor->select(&run->task, stream, run->workspace, &run->selection, error);
    default:
        fused.u = run->residual;
        fused.gradient = run->gradient;
        return gw_gpu_compress(run->compressor, &fused, stream, run->workspace, &run->selection,
                               error);
    }
}

static enum gw_status time_work(struct gpu_bench *run, int kind, double *seconds,
                                struct gw_error *error) {
    GW_TRY(gw_gpu_timer_start(&run->timer, error));
    GW_TRY(put_work(run, kind, error));
    return gw_gpu_timer_stop(&run->timer, seconds, error);
}

/* The selection from u comes last, and is what is judged. */
static enum gw_status repeat_once(struct gpu_bench *run, size_t i, struct gw_error *error) {
    static const int order[KINDS] = {COPY, READ, COMPRESS, SELECT};
    size_t bytes = run->task.n * sizeof *run->u;
    for (size_t at = 0; at < KINDS; at++) {
        GW_TRY(order[at] == COMPRESS
                   ? gw_device_copy(run->timer.stream, run->residual, run->start, bytes, error)
                   : GW_OK);
        GW_TRY(time_work(run, order[at], &run->seconds[order[at]][i], error));
    }
    return GW_OK;
}

static enum gw_status measure(struct gpu_bench *run, struct gw_bench_row *row,
                              struct gw_error *error) {
    size_t repeats = run->bench->repeats;
    struct gw_summary copy;
    GW_TRY(repeat_once(run, 0, error)); /* warms up */
    for (size_t i = 0; i < repeats; i++) {
        GW_TRY(repeat_once(run, i, error));
    }
    GW_TRY(judge(run, row, error));
    for (size_t kind = COPY; kind <= READ; kind++) {
        memcpy(run->all_s[kind] + run->done * repeats, run->seconds[kind],
               repeats * sizeof **run->seconds);
    }
    gw_summarise(run->seconds[COPY], repeats, &copy);
    gw_summarise(run->seconds[SELECT], repeats, &row->select_s);
    gw_summarise(run->seconds[COMPRESS], repeats, &row->compress_s);
    row->waits = run->compressor->waits;
    row->passes = row->select_s.median / (copy.median / 2);
    row->compress_passes = row->compress_s.median / (copy.median / 2);
    run->done++;
    return GW_OK;
}

static enum gw_status select_once(void *context, const struct gw_task *task, size_t *count,
                                  struct gw_error *error) {
    struct gpu_bench *run = context;
    GW_TRY(
        run->compressor->select(task, run->timer.stream, run->workspace, &run->selection, error));
    return gw_gpu_selection_finish(&run->selection, run->timer.stream, count, error);
}

static enum gw_status bench_one(struct gpu_bench *run, const struct gw_compressor *compressor,
                                struct gw_bench_row *row, struct gw_error *error) {
    const struct gw_selecting selecting = {.select = select_once, .context = run};
    size_t capacity = gw_gpu_selection_capacity(compressor, run->task.n, run->task.k);
    run->compressor = gw_gpu_kernel_of(compressor);
    if (run->compressor == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor that there is for GPUs",
                       compressor->name);
    }
    GW_TRY(gw_gpu_selection_reserve(&run->selection, run->timer.device, capacity, error));
    row->compressor = compressor;
    run->task.iteration = 0;
    enum gw_status status = GW_OK;
    GW_TRY(gw_state_open(compressor, &run->task, &run->task.state, error));
    if (compressor->stateful) {
        status = gw_settle(compressor, &run->task, &selecting, longest_settling_s, error);
    }
    if (status == GW_OK) {
        status = measure(run, row, error);
    }
    gw_state_close(compressor, run->task.state);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

static void close_run(struct gpu_bench *run) {
    struct gw_device *device = run->timer.device;
    gw_device_free(device, run->u);
    gw_device_free(device, run->gradient);
    gw_device_free(device, run->start);
    gw_device_free(device, run->residual);
    gw_gpu_selection_free(&run->selection);
    gw_gpu_workspace_close(run->workspace);
    gw_gpu_timer_close(&run->timer);
    gw_selection_free(&run->topk);
    free(run->layers);
    free(run->seconds[0]);
}

/* Copies from the host, and is done when it returns. */
static enum gw_status upload(struct gpu_bench *run, const float *from, float **out,
                             struct gw_error *error) {
    size_t bytes = run->task.n * sizeof *from;
    GW_TRY(gw_device_allocate(run->timer.device, bytes, (void **)out, error));
    GW_TRY(gw_device_copy(run->timer.stream, *out, from, bytes, error));
    return gw_device_stream_finish(run->timer.stream, error);
}

static enum gw_status open_vectors(struct gpu_bench *run, float *scratch, struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    size_t n = bench->elements;
    memcpy(scratch, bench->u, n * sizeof *scratch);
    GW_TRY(find_topk(run, scratch, error));
    GW_TRY(upload(run, bench->u, &run->u, error));
    GW_TRY(upload(run, bench->gradient, &run->gradient, error));
    for (size_t i = 0; i < n; i++) {
        scratch[i] = bench->u[i] - bench->gradient[i];
    }
    GW_TRY(upload(run, scratch, &run->start, error));
    run->task.u = run->u;
    return upload(run, scratch, &run->residual, error);
}

static enum gw_status open_run(struct gpu_bench *run, const struct gw_bench *bench,
                               struct gw_device *device, struct gw_error *error) {
    size_t n = bench->elements;
    size_t repeats = bench->repeats;
    size_t compressors = gw_bench_count(bench);
    *run = (struct gpu_bench){
        .bench = bench,
        .task = {.n = n, .k = bench->kept, .seed = bench->seed},
        .layers = malloc(n / bench->kept * sizeof *run->layers),
        .seconds = {calloc((KINDS + 2 * compressors) * repeats, sizeof **run->seconds)}};
    GW_TRY(gw_gpu_timer_open(device, &run->timer, error));
    GW_TRY(gw_gpu_workspace_open(device, &run->workspace, error));
    float *scratch = malloc(n * sizeof *scratch);
    enum gw_status status = GW_OK;
    if (scratch == NULL || run->layers == NULL || run->seconds[0] == NULL) {
        status = gw_fail_memory(error, "measuring compressors");
    } else {
        for (size_t kind = 1; kind < KINDS; kind++) {
            run->seconds[kind] = run->seconds[0] + kind * repeats;
        }
        run->all_s[COPY] = run->seconds[0] + KINDS * repeats;
        run->all_s[READ] = run->all_s[COPY] + compressors * repeats;
        gw_bench_lay_out(&run->task, run->layers);
        status = open_vectors(run, scratch, error);
    }
    free(scratch);
    return status;
}

static enum gw_status bench_all(struct gpu_bench *run, struct gw_bench_result *out,
                                struct gw_error *error) {
    const struct gw_bench *bench = run->bench;
    size_t count = gw_bench_count(bench);
    out->rows = calloc(count + 1, sizeof *out->rows);
    if (out->rows == NULL) {
        return gw_fail_memory(error, "measuring compressors");
    }
    for (size_t i = 0; i < count; i++) {
        if (bench->progress != NULL) {
            gw_progress_update(bench->progress, (double)i / (double)count,
                               bench->compressors[i]->name);
        }
        GW_TRY(bench_one(run, bench->compressors[i], &out->rows[i], error));
        out->count++;
    }
    gw_summarise(run->all_s[COPY], count * bench->repeats, &out->copy_s);
    gw_summarise(run->all_s[READ], count * bench->repeats, &out->read_pass_s);
    return GW_OK;
}

enum gw_status gw_bench_run_gpu(const struct gw_bench *bench, struct gw_device *device,
                                struct gw_bench_result *out, struct gw_error *error) {
    struct gpu_bench run;
    *out = (struct gw_bench_result){0};
    enum gw_status status = open_run(&run, bench, device, error);
    if (status == GW_OK) {
        status = bench_all(&run, out, error);
    }
    close_run(&run);
    return status;
}
