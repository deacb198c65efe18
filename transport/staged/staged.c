/* Collectives in pieces that fit a stage: while one piece is sent, the next is copied from the GPU
 * and the previous one to it. */
#include "transport/staged/staged.h"

#include <stdlib.h>

/* The part of a collective's memory on the GPU that a rank sends or receives. */
enum shape { NOTHING, ONE_PART, PART_OF_EACH_RANK };

/* Indexed by is_root: other ranks, then the root. */
static const struct {
    enum shape sends[2], receives[2];
} shapes[] = {
    [GW_ALLGATHER] = {{ONE_PART, ONE_PART}, {PART_OF_EACH_RANK, PART_OF_EACH_RANK}},
    [GW_ALLREDUCE] = {{ONE_PART, ONE_PART}, {ONE_PART, ONE_PART}},
    [GW_BROADCAST] = {{NOTHING, ONE_PART}, {ONE_PART, NOTHING}},
    [GW_GATHER] = {{ONE_PART, ONE_PART}, {NOTHING, PART_OF_EACH_RANK}},
    [GW_SCATTER] = {{NOTHING, PART_OF_EACH_RANK}, {ONE_PART, ONE_PART}},
    [GW_ALLTOALL] = {{PART_OF_EACH_RANK, PART_OF_EACH_RANK},
                     {PART_OF_EACH_RANK, PART_OF_EACH_RANK}},
};

/* Parts are adjacent. A piece is `step` bytes of each rank's part, and less at its end. */
struct passage {
    const struct gw_collective_call *call;
    struct gw_staged *staged;
    enum shape sends, receives;
    size_t step;
};

/* The bytes of the next piece of a part, of which `done` bytes are done. */
static size_t next_piece_bytes(const struct passage *passage, size_t done) {
    return gw_stage_bytes(passage->call->bytes, done, passage->step);
}

static enum gw_status copy_bytes(const struct passage *passage, void *to, const void *from,
                                 size_t bytes, struct gw_error *error) {
    return gw_device_copy(passage->staged->base.settings.stream, to, from, bytes, error);
}

/* ---- between the GPU and a stage ----------------------------------------------------------- */

/* The number of parts in a stage. */
static size_t count_parts(const struct passage *passage, enum shape shape) {
    return shape == NOTHING ? 0 : shape == ONE_PART ? 1 : (size_t)passage->staged->base.host.size;
}

static enum gw_status fill_stage(const struct passage *passage, struct gw_stage *stage, size_t done,
                                 struct gw_error *error) {
    const char *send = passage->call->send;
    size_t bytes = next_piece_bytes(passage, done);
    for (size_t part = 0; part < count_parts(passage, passage->sends); part++) {
        GW_TRY(copy_bytes(passage, stage->send + part * bytes,
                          send + part * passage->call->bytes + done, bytes, error));
    }
    return gw_device_event_record(stage->sent, passage->staged->base.settings.stream, error);
}

static enum gw_status empty_stage(const struct passage *passage, const struct gw_stage *stage,
                                  size_t done, struct gw_error *error) {
    char *receive = passage->call->receive;
    size_t bytes = next_piece_bytes(passage, done);
    for (size_t part = 0; part < count_parts(passage, passage->receives); part++) {
        GW_TRY(copy_bytes(passage, receive + part * passage->call->bytes + done,
                          stage->receive + part * bytes, bytes, error));
    }
    return GW_OK;
}

/* ---- a collective -------------------------------------------------------------------------- */

/* Alternates between two stages. A stage is free when it is used again: its exchange is over, and,
 * by the order of the stream, its received piece was copied before. */
static enum gw_status pass_pieces(const struct passage *passage, struct gw_error *error) {
    struct gw_stage *stages = passage->staged->stages;
    struct gw_communicator *host = &passage->staged->base.host;
    struct gw_collective_call call = *passage->call;
    size_t end = passage->call->bytes;
    size_t piece = 0;
    if (end > 0) {
        GW_TRY(fill_stage(passage, &stages[0], 0, error));
    }
    for (size_t done = 0; done < end; done += passage->step, piece++) {
        struct gw_stage *stage = &stages[piece % 2];
        GW_TRY(gw_device_event_finish(stage->sent, error));
        if (passage->step < end - done) {
            GW_TRY(fill_stage(passage, &stages[(piece + 1) % 2], done + passage->step, error));
        }
        call.send = stage->send;
        call.receive = stage->receive;
        call.bytes = next_piece_bytes(passage, done);
        GW_TRY(host->transport->collect(host, &call, error));
        GW_TRY(empty_stage(passage, stage, done, error));
    }
    return gw_device_stream_finish(passage->staged->base.settings.stream, error);
}

/* A stage holds pieces of all parts that are sent or received, also if only by the root. */
static enum gw_status staged_collect(struct gw_communicator *communicator,
                                     const struct gw_collective_call *call,
                                     struct gw_error *error) {
    bool is_root = communicator->rank == call->root;
    bool of_each = shapes[call->kind].sends[1] == PART_OF_EACH_RANK ||
                   shapes[call->kind].receives[1] == PART_OF_EACH_RANK;
    size_t parts = of_each ? (size_t)communicator->size : 1;
    size_t step = GW_STAGE_BYTES / parts / sizeof(float) * sizeof(float);
    const struct passage passage = {.call = call,
                                    .staged = communicator->state,
                                    .sends = shapes[call->kind].sends[is_root],
                                    .receives = shapes[call->kind].receives[is_root],
                                    .step = step > 0 ? step : 1};
    return pass_pieces(&passage, error);
}

/* ---- opening and closing ------------------------------------------------------------------- */

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

static void close_staged(struct gw_communicator *communicator) {
    struct gw_staged *staged = communicator->state;
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    gw_staged_close_messages(staged);
    close_stage(&staged->stages[0], device);
    close_stage(&staged->stages[1], device);
}

static const struct gw_transport staged_transport = {
    .name = "staged",
    .collect = staged_collect,
    .barrier = gw_gpu_barrier,
    .start = gw_staged_start,
    .wait = gw_staged_wait,
    .post = gw_gpu_post,
    .poll = gw_staged_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = gw_gpu_close,
};

static enum gw_status open_staged(struct gw_communicator *communicator, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    enum gw_status status = open_stage(&staged->stages[0], device, error);
    status = status == GW_OK ? open_stage(&staged->stages[1], device, error) : status;
    return gw_agree(&staged->base.host, status, error);
}

const struct gw_gpu_kind gw_gpu_staged = {.transport = &staged_transport,
                                          .state_bytes = sizeof(struct gw_staged),
                                          .open = open_staged,
                                          .close = close_staged};
