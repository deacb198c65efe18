/* Compressors that are measured, on CPUs or on GPUs; private to compressors.c, compressors_gpu.c.
 */
#ifndef GW_CALIBRATE_COMPRESSIONS_H
#define GW_CALIBRATE_COMPRESSIONS_H

#include "calibrate/measure/gpu_timer.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/subjects.h"
#include "kernels/gpu.h"

/* What compressors share. */
struct gw_compressor_series {
    struct gw_pool gradient, residual; /* the residual is all zeros between repeats */
    size_t *layers; /* [2 / density]: of about k elements each, for layer-drop to choose from */
    double density;
    double longest_settling_s;
    struct gw_compression *items; /* [count] */
    size_t count;
    /* On CPUs: */
    struct gw_workspace workspace;
    struct gw_selection selection;
    /* On a GPU: */
    struct gw_gpu_timer timer;
    struct gw_gpu_workspace *gpu_workspace;
    struct gw_gpu_selection gpu_selection;
};

enum { GW_MOST_COMPRESSION_SIZES = 64 };

struct gw_compression {
    struct gw_compressor_series *all;
    const struct gw_compressor *compressor;
    const struct gw_gpu_kernel *gpu; /* NULL: on CPUs */
    /* One for each size. Their states live from visit to visit: what they have learnt, stays. */
    struct gw_task tasks[GW_MOST_COMPRESSION_SIZES];
    size_t task_count;
    struct gw_task *task; /* of the size that is measured */
    size_t selected;      /* by the last run */
    double seconds;       /* that it took, on a GPU */
};

/* Of a GPU: the series' part, which is safe to close in any case. */
enum gw_status gw_compressions_open_gpu(struct gw_compressor_series *all,
                                        const struct gw_calibration *calibration,
                                        struct gw_error *error);
void gw_compressions_close_gpu(struct gw_compressor_series *all);

/* One compression of task->gradient with the residual task->u, which is chosen; and its time. */
enum gw_status gw_compression_run_gpu(struct gw_compression *compression, struct gw_error *error);
double gw_compression_took_s(void *compression);

/* As gw_selecting.select; and task->u = 0, behind all work so far. */
enum gw_status gw_compression_select_gpu(void *compression, const struct gw_task *task,
                                         size_t *count, struct gw_error *error);
void gw_compression_clear_gpu(struct gw_compression *compression);

#endif
