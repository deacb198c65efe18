/*
 * Collectives of pieces that fit a stage: while one piece travels, the next comes from the GPU and
 * the last one goes to it.
 */
#include "transport/staged/staged.h"

#include <stdlib.h>

enum collective { ALLGATHER, ALLGATHER_UNEQUAL, ALLREDUCE, BROADCAST, REDUCE, GATHER, SCATTER };

/* Which part of a collective's memory on the GPU a rank has to send, or is to receive. */
enum shape { NOTHING, ONE_PART, PART_OF_EACH_RANK };

/* Parts are one after the other. A rank's piece is `step` bytes of its part, and less at its end.
 */
struct passage {
    enum collective collective;
    struct gw_staged *staged;
    const char *send;
    char *receive;
    enum shape sends, receives;
    size_t part;         /* bytes of every part, */
    const size_t *parts; /* or [size], of each rank's */
    size_t step;
    int root;
};

static size_t part_bytes(const struct passage *passage, int rank) {
    return passage->parts == NULL ? passage->part : passage->parts[rank];
}

/* Of a rank's part of which so many bytes of each are done. */
static size_t piece_bytes(const struct passage *passage, int rank, size_t done) {
    return gw_stage_bytes(part_bytes(passage, rank), done, passage->step);
}

static struct gw_communicator *host_of(const struct passage *passage) {
    return &passage->staged->base.host;
}

static enum gw_status copy(const struct passage *passage, void *to, const void *from, size_t bytes,
                           struct gw_error *error) {
    return gw_device_copy(passage->staged->base.settings.stream, to, from, bytes, error);
}

/* ---- between the GPU and a stage ----------------------------------------------------------- */

static enum gw_status fill(const struct passage *passage, struct gw_stage *stage, size_t done,
                           struct gw_error *error) {
    const struct gw_communicator *host = host_of(passage);
    size_t own = piece_bytes(passage, host->rank, done);
    if (passage->sends == ONE_PART && own > 0) {
        GW_TRY(copy(passage, stage->send, passage->send + done, own, error));
    }
    size_t part = 0;
    size_t piece = 0;
    for (int rank = 0; rank < host->size && passage->sends == PART_OF_EACH_RANK; rank++) {
        size_t bytes = piece_bytes(passage, rank, done);
        GW_TRY(copy(passage, stage->send + piece, passage->send + part + done, bytes, error));
        part += part_bytes(passage, rank);
        piece += bytes;
    }
    return gw_device_event_record(stage->sent, passage->staged->base.settings.stream, error);
}

static enum gw_status empty(const struct passage *passage, const struct gw_stage *stage,
                            size_t done, struct gw_error *error) {
    const struct gw_communicator *host = host_of(passage);
    if (passage->receives == ONE_PART) {
        GW_TRY(copy(passage, passage->receive + done, stage->receive,
                    piece_bytes(passage, host->rank, done), error));
    }
    size_t part = 0;
    size_t piece = 0;
    for (int rank = 0; rank < host->size && passage->receives == PART_OF_EACH_RANK; rank++) {
        size_t bytes = piece_bytes(passage, rank, done);
        GW_TRY(copy(passage, passage->receive + part + done, stage->receive + piece, bytes, error));
        part += part_bytes(passage, rank);
        piece += bytes;
    }
    return GW_OK;
}

/* ---- between hosts ------------------------------------------------------------------------- */

/* The next piece of each part, from stage->send to stage->receive. */
static enum gw_status exchange(const struct passage *passage, const struct gw_stage *stage,
                               size_t done, struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    const struct gw_transport *transport = host->transport;
    const float *addends = (const float *)stage->send;
    float *sums = (float *)stage->receive;
    int root = passage->root;
    size_t *pieces = passage->staged->pieces;
    size_t own = piece_bytes(passage, host->rank, done);
    switch (passage->collective) {
    case ALLGATHER:
        return transport->allgather(host, stage->send, own, stage->receive, error);
    case ALLGATHER_UNEQUAL: /* longer parts are still on their way when shorter ones are there */
        for (int rank = 0; rank < host->size; rank++) {
            pieces[rank] = piece_bytes(passage, rank, done);
        }
        return transport->allgather_unequal(host, stage->send, pieces, stage->receive, error);
    case ALLREDUCE:
        return transport->allreduce(host, addends, sums, own / sizeof *sums, error);
    case BROADCAST:
        return transport->broadcast(host, root, host->rank == root ? stage->send : stage->receive,
                                    own, error);
    case REDUCE:
        return transport->reduce(host, root, addends, sums, own / sizeof *sums, error);
    case GATHER:
        return transport->gather(host, root, stage->send, own, stage->receive, error);
    default:
        return transport->scatter(host, root, stage->send, own, stage->receive, error);
    }
}

/* ---- a collective -------------------------------------------------------------------------- */

static size_t longest_part(const struct passage *passage) {
    size_t longest = passage->part;
    for (int rank = 0; rank < host_of(passage)->size && passage->parts != NULL; rank++) {
        longest = passage->parts[rank] > longest ? passage->parts[rank] : longest;
    }
    return longest;
}

/*
 * A stage is free for the next piece but one: its exchange is over, and what it received was copied
 * before that piece could be, in the order of the stream.
 */
static enum gw_status pass_pieces(const struct passage *passage, struct gw_error *error) {
    struct gw_stage *stages = passage->staged->stages;
    size_t end = longest_part(passage);
    size_t piece = 0;
    if (end > 0) {
        GW_TRY(fill(passage, &stages[0], 0, error));
    }
    for (size_t done = 0; done < end; done += passage->step, piece++) {
        struct gw_stage *stage = &stages[piece % 2];
        GW_TRY(gw_device_event_finish(stage->sent, error));
        if (passage->step < end - done) {
            GW_TRY(fill(passage, &stages[(piece + 1) % 2], done + passage->step, error));
        }
        GW_TRY(exchange(passage, stage, done, error));
        GW_TRY(empty(passage, stage, done, error));
    }
    return gw_device_stream_finish(passage->staged->base.settings.stream, error);
}

/* By the passage's collective, with as many parts in a stage as are sent or received. */
static enum gw_status pass(struct gw_communicator *communicator, struct passage passage,
                           struct gw_error *error) {
    bool of_each = passage.sends == PART_OF_EACH_RANK || passage.receives == PART_OF_EACH_RANK ||
                   passage.collective == GATHER || passage.collective == SCATTER;
    size_t parts = of_each ? (size_t)communicator->size : 1;
    size_t step = GW_STAGE_BYTES / parts / sizeof(float) * sizeof(float);
    passage.staged = communicator->state;
    passage.step = step > 0 ? step : 1;
    return pass_pieces(&passage, error);
}

static enum gw_status staged_allgather(struct gw_communicator *communicator, const void *send,
                                       size_t bytes, void *receive, struct gw_error *error) {
    return pass(communicator,
                (struct passage){.collective = ALLGATHER,
                                 .send = send,
                                 .sends = ONE_PART,
                                 .receive = receive,
                                 .receives = PART_OF_EACH_RANK,
                                 .part = bytes},
                error);
}

static enum gw_status staged_allgather_unequal(struct gw_communicator *communicator,
                                               const void *send, const size_t *bytes, void *receive,
                                               struct gw_error *error) {
    return pass(communicator,
                (struct passage){.collective = ALLGATHER_UNEQUAL,
                                 .send = send,
                                 .sends = ONE_PART,
                                 .receive = receive,
                                 .receives = PART_OF_EACH_RANK,
                                 .parts = bytes},
                error);
}

static enum gw_status staged_allreduce(struct gw_communicator *communicator, const float *send,
                                       float *receive, size_t count, struct gw_error *error) {
    return pass(communicator,
                (struct passage){.collective = ALLREDUCE,
                                 .send = (const char *)send,
                                 .sends = ONE_PART,
                                 .receive = (char *)receive,
                                 .receives = ONE_PART,
                                 .part = count * sizeof *send},
                error);
}

static enum gw_status staged_broadcast(struct gw_communicator *communicator, int root, void *data,
                                       size_t bytes, struct gw_error *error) {
    bool is_root = communicator->rank == root;
    return pass(communicator,
                (struct passage){.collective = BROADCAST,
                                 .root = root,
                                 .send = data,
                                 .sends = is_root ? ONE_PART : NOTHING,
                                 .receive = data,
                                 .receives = is_root ? NOTHING : ONE_PART,
                                 .part = bytes},
                error);
}

static enum gw_status staged_reduce(struct gw_communicator *communicator, int root,
                                    const float *send, float *receive, size_t count,
                                    struct gw_error *error) {
    return pass(communicator,
                (struct passage){.collective = REDUCE,
                                 .root = root,
                                 .send = (const char *)send,
                                 .sends = ONE_PART,
                                 .receive = (char *)receive,
                                 .receives = communicator->rank == root ? ONE_PART : NOTHING,
                                 .part = count * sizeof *send},
                error);
}

static enum gw_status staged_gather(struct gw_communicator *communicator, int root,
                                    const void *send, size_t bytes, void *receive,
                                    struct gw_error *error) {
    return pass(
        communicator,
        (struct passage){.collective = GATHER,
                         .root = root,
                         .send = send,
                         .sends = ONE_PART,
                         .receive = receive,
                         .receives = communicator->rank == root ? PART_OF_EACH_RANK : NOTHING,
                         .part = bytes},
        error);
}

static enum gw_status staged_scatter(struct gw_communicator *communicator, int root,
                                     const void *send, size_t bytes, void *receive,
                                     struct gw_error *error) {
    return pass(communicator,
                (struct passage){.collective = SCATTER,
                                 .root = root,
                                 .send = send,
                                 .sends = communicator->rank == root ? PART_OF_EACH_RANK : NOTHING,
                                 .receive = receive,
                                 .receives = ONE_PART,
                                 .part = bytes},
                error);
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

static void free_staged(struct gw_staged *staged) {
    if (staged != NULL) {
        struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
        gw_staged_close_messages(staged);
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
    .allgather = staged_allgather,
    .allgather_unequal = staged_allgather_unequal,
    .allreduce = staged_allreduce,
    .broadcast = staged_broadcast,
    .reduce = staged_reduce,
    .gather = staged_gather,
    .scatter = staged_scatter,
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
