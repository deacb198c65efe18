#include "transport/staged/staged.h"

#include <stdlib.h>

static void close_stage(struct gw_stage *stage, struct gw_device *device) {
    gw_device_free_host(device, stage->send);
    gw_device_free_host(device, stage->receive);
    gw_device_event_close(stage->sent);
}

static enum gw_status open_stage(struct gw_stage *stage, struct gw_device *device,
                                 struct gw_error *error) {
    void *send = NULL;
    void *receive = NULL;
    GW_TRY(gw_device_allocate_host(device, GW_STAGE_BYTES, &send, error));
    stage->send = send;
    GW_TRY(gw_device_allocate_host(device, GW_STAGE_BYTES, &receive, error));
    stage->receive = receive;
    return gw_device_event_open(device, false, &stage->sent, error);
}

static void free_staged(struct gw_staged *staged) {
    if (staged != NULL) {
        struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
        gw_staged_forget_messages(staged);
        close_stage(&staged->stages[0], device);
        close_stage(&staged->stages[1], device);
        free(staged->pieces);
        free(staged);
    }
}

static void staged_close(struct gw_communicator *communicator) {
    struct gw_communicator host = gw_gpu_base(communicator)->host;
    free_staged(communicator->state);
    host.transport->close(&host);
}

static const struct gw_transport staged_transport = {
    .name = "staged",
    .allgather = gw_staged_allgather,
    .allgather_unequal = gw_staged_allgather_unequal,
    .allreduce = gw_staged_allreduce,
    .broadcast = gw_staged_broadcast,
    .reduce = gw_staged_reduce,
    .gather = gw_staged_gather,
    .scatter = gw_staged_scatter,
    .barrier = gw_gpu_barrier,
    .start_send = gw_staged_start_send,
    .start_receive = gw_staged_start_receive,
    .wait = gw_staged_wait,
    .post = gw_gpu_post,
    .poll = gw_staged_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = staged_close,
};

static enum gw_status open_stages(struct gw_staged *staged, struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    staged->pieces = calloc((size_t)staged->base.host.size, sizeof *staged->pieces);
    if (staged->pieces == NULL) {
        return gw_fail_memory(error, "opening a communicator for a GPU");
    }
    GW_TRY(open_stage(&staged->stages[0], device, error));
    return open_stage(&staged->stages[1], device, error);
}

enum gw_status gw_gpu_open_staged(struct gw_communicator *out, struct gw_communicator base,
                                  const struct gw_gpu_settings *settings, struct gw_error *error) {
    struct gw_staged *staged = calloc(1, sizeof *staged);
    enum gw_status status =
        gw_gpu_base_open(out, &staged_transport, staged == NULL ? NULL : &staged->base, base,
                         settings, gw_gpu_open_staged, error);
    status = status == GW_OK ? open_stages(staged, error) : status;
    status = gw_agree(&base, status, error);
    if (status != GW_OK) {
        free_staged(staged);
        base.transport->close(&base);
        *out = (struct gw_communicator){0};
    }
    return status;
}
