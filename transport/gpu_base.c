#include "transport/gpu_base.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

enum gw_status gw_gpu_open(struct gw_communicator *out, const struct gw_gpu_kind *kind,
                           struct gw_communicator host, const struct gw_gpu_settings *settings,
                           struct gw_error *error) {
    struct gw_gpu_base *state = calloc(1, kind->state_bytes);
    enum gw_status status =
        state == NULL ? gw_fail_memory(error, "opening a communicator for a GPU") : GW_OK;
    status = gw_agree(&host, status, error);
    if (status != GW_OK) {
        free(state);
        host.transport->close(&host);
        *out = (struct gw_communicator){0};
        return status;
    }
    *state = (struct gw_gpu_base){.host = host, .settings = *settings, .kind = kind};
    *out = (struct gw_communicator){
        .transport = kind->transport, .rank = host.rank, .size = host.size, .state = state};
    status = kind->open == NULL ? GW_OK : kind->open(out, error);
    if (status != GW_OK) {
        gw_gpu_close(out);
        *out = (struct gw_communicator){0};
    }
    return status;
}

void gw_gpu_close(struct gw_communicator *communicator) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    struct gw_communicator host = base->host;
    if (base->kind->close != NULL) {
        base->kind->close(communicator);
    }
    free(base);
    host.transport->close(&host);
}

enum gw_status gw_gpu_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    GW_TRY(gw_device_stream_finish(base->settings.stream, error));
    return base->host.transport->barrier(&base->host, error);
}

enum gw_status gw_gpu_post(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    return host->transport->post(host, to, message, bytes, error);
}

enum gw_status gw_gpu_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    return host->transport->poll(host, message, capacity, bytes, from, error);
}

enum gw_status gw_gpu_open_first(struct gw_communicator *parent, int size,
                                 struct gw_communicator *out, struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(parent);
    struct gw_communicator host = {0};
    *out = (struct gw_communicator){0};
    GW_TRY(base->host.transport->open_first(&base->host, size, &host, error));
    return host.transport == NULL ? GW_OK
                                  : gw_gpu_open(out, base->kind, host, &base->settings, error);
}

void gw_gpu_abort(struct gw_communicator *communicator, int status) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    host->transport->abort(host, status);
}

void gw_gpu_rest(double waited_s) {
    if (waited_s < 1e-3) {
        (void)sched_yield();
    } else {
        gw_clock_sleep_until_s(gw_clock_now_s() + fmin(0.02 * waited_s, 5e-5));
    }
}
