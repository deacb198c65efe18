#include "calibrate/measure/compressions.h"

enum gw_status gw_compressions_open_gpu(struct gw_compressor_series *all,
                                        const struct gw_calibration *calibration,
                                        struct gw_error *error) {
    GW_TRY(gw_gpu_timer_open(calibration->device, &all->timer, error));
    GW_TRY(gw_gpu_workspace_open(calibration->device, &all->gpu_workspace, error));
    return gw_gpu_selection_reserve(&all->gpu_selection, calibration->device,
                                    calibration->max_elements, error);
}

void gw_compressions_close_gpu(struct gw_compressor_series *all) {
    gw_gpu_selection_free(&all->gpu_selection);
    gw_gpu_workspace_close(all->gpu_workspace);
    gw_gpu_timer_close(&all->timer);
}

enum gw_status gw_compression_run_gpu(struct gw_compression *compression, struct gw_error *error) {
    struct gw_compressor_series *all = compression->all;
    struct gw_gpu_timer *timer = &all->timer;
    GW_TRY(gw_gpu_timer_start(timer, error));
    GW_TRY(gw_gpu_compress(compression->gpu, compression->task, timer->stream, all->gpu_workspace,
                           &all->gpu_selection, error));
    GW_TRY(gw_gpu_timer_stop(timer, &compression->seconds, error));
    return gw_gpu_selection_finish(&all->gpu_selection, timer->stream, &compression->selected,
                                   error);
}

double gw_compression_took_s(void *context) {
    const struct gw_compression *compression = context;
    return compression->seconds;
}

enum gw_status gw_compression_select_gpu(void *context, const struct gw_task *task, size_t *count,
                                         struct gw_error *error) {
    struct gw_compression *compression = context;
    struct gw_compressor_series *all = compression->all;
    GW_TRY(compression->gpu->select(task, all->timer.stream, all->gpu_workspace,
                                    &all->gpu_selection, error));
    return gw_gpu_selection_finish(&all->gpu_selection, all->timer.stream, count, error);
}

/* An error comes out with the next run. */
void gw_compression_clear_gpu(struct gw_compression *compression) {
    const struct gw_task *task = compression->task;
    (void)gw_device_clear(compression->all->timer.stream, task->u, task->n * sizeof *task->u, NULL);
}
