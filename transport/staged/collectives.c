/*
 * Collectives of pieces that fit a stage: while one piece travels, the next comes from the GPU and
 * the last one goes to it.
 */
#include "transport/staged/staged.h"

/* Which part of a collective's memory on the GPU a rank has to send, or is to receive. */
enum shape { NOTHING, ONE_PART, PART_OF_EACH_RANK };

/* Parts are one after the other. A rank's piece is `step` bytes of its part, and less at its end.
 */
struct passage {
    struct gw_staged *staged;
    const char *send;
    char *receive;
    enum shape sends, receives;
    size_t part;         /* bytes of every part, */
    const size_t *parts; /* or [size], of each rank's */
    size_t step;
    int root;
    enum gw_status (*exchange)(const struct passage *passage, const struct gw_stage *stage,
                               size_t done, struct gw_error *error);
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
static enum gw_status pass(const struct passage *passage, struct gw_error *error) {
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
        GW_TRY(passage->exchange(passage, stage, done, error));
        GW_TRY(empty(passage, stage, done, error));
    }
    return gw_device_stream_finish(passage->staged->base.settings.stream, error);
}

/* With so many parts in a stage. */
static struct passage begin(struct gw_communicator *communicator, int parts) {
    size_t step = GW_STAGE_BYTES / (size_t)parts / sizeof(float) * sizeof(float);
    return (struct passage){.staged = communicator->state, .step = step > 0 ? step : 1};
}

/* ---- allgather ----------------------------------------------------------------------------- */

static enum gw_status exchange_allgather(const struct passage *passage,
                                         const struct gw_stage *stage, size_t done,
                                         struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    return host->transport->allgather(host, stage->send, piece_bytes(passage, host->rank, done),
                                      stage->receive, error);
}

enum gw_status gw_staged_allgather(struct gw_communicator *communicator, const void *send,
                                   size_t bytes, void *receive, struct gw_error *error) {
    struct passage passage = begin(communicator, communicator->size);
    passage.send = send;
    passage.receive = receive;
    passage.sends = ONE_PART;
    passage.receives = PART_OF_EACH_RANK;
    passage.part = bytes;
    passage.exchange = exchange_allgather;
    return pass(&passage, error);
}

/* Longer parts are still on their way when shorter ones are there. */
static enum gw_status exchange_unequal(const struct passage *passage, const struct gw_stage *stage,
                                       size_t done, struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    size_t *pieces = passage->staged->pieces;
    for (int rank = 0; rank < host->size; rank++) {
        pieces[rank] = piece_bytes(passage, rank, done);
    }
    return host->transport->allgather_unequal(host, stage->send, pieces, stage->receive, error);
}

enum gw_status gw_staged_allgather_unequal(struct gw_communicator *communicator, const void *send,
                                           const size_t *bytes, void *receive,
                                           struct gw_error *error) {
    struct passage passage = begin(communicator, communicator->size);
    passage.send = send;
    passage.receive = receive;
    passage.sends = ONE_PART;
    passage.receives = PART_OF_EACH_RANK;
    passage.parts = bytes;
    passage.exchange = exchange_unequal;
    return pass(&passage, error);
}

/* ---- sums ---------------------------------------------------------------------------------- */

static enum gw_status exchange_allreduce(const struct passage *passage,
                                         const struct gw_stage *stage, size_t done,
                                         struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    size_t count = piece_bytes(passage, host->rank, done) / sizeof(float);
    return host->transport->allreduce(host, (const float *)stage->send, (float *)stage->receive,
                                      count, error);
}

enum gw_status gw_staged_allreduce(struct gw_communicator *communicator, const float *send,
                                   float *receive, size_t count, struct gw_error *error) {
    struct passage passage = begin(communicator, 1);
    passage.send = (const char *)send;
    passage.receive = (char *)receive;
    passage.sends = ONE_PART;
    passage.receives = ONE_PART;
    passage.part = count * sizeof *send;
    passage.exchange = exchange_allreduce;
    return pass(&passage, error);
}

static enum gw_status exchange_reduce(const struct passage *passage, const struct gw_stage *stage,
                                      size_t done, struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    size_t count = piece_bytes(passage, host->rank, done) / sizeof(float);
    return host->transport->reduce(host, passage->root, (const float *)stage->send,
                                   (float *)stage->receive, count, error);
}

enum gw_status gw_staged_reduce(struct gw_communicator *communicator, int root, const float *send,
                                float *receive, size_t count, struct gw_error *error) {
    struct passage passage = begin(communicator, 1);
    passage.send = (const char *)send;
    passage.receive = (char *)receive;
    passage.sends = ONE_PART;
    passage.receives = communicator->rank == root ? ONE_PART : NOTHING;
    passage.part = count * sizeof *send;
    passage.root = root;
    passage.exchange = exchange_reduce;
    return pass(&passage, error);
}

/* ---- with a root --------------------------------------------------------------------------- */

static enum gw_status exchange_broadcast(const struct passage *passage,
                                         const struct gw_stage *stage, size_t done,
                                         struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    char *data = host->rank == passage->root ? stage->send : stage->receive;
    return host->transport->broadcast(host, passage->root, data,
                                      piece_bytes(passage, host->rank, done), error);
}

enum gw_status gw_staged_broadcast(struct gw_communicator *communicator, int root, void *data,
                                   size_t bytes, struct gw_error *error) {
    struct passage passage = begin(communicator, 1);
    passage.send = data;
    passage.receive = data;
    passage.sends = communicator->rank == root ? ONE_PART : NOTHING;
    passage.receives = communicator->rank == root ? NOTHING : ONE_PART;
    passage.part = bytes;
    passage.root = root;
    passage.exchange = exchange_broadcast;
    return pass(&passage, error);
}

static enum gw_status exchange_gather(const struct passage *passage, const struct gw_stage *stage,
                                      size_t done, struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    return host->transport->gather(host, passage->root, stage->send,
                                   piece_bytes(passage, host->rank, done), stage->receive, error);
}

enum gw_status gw_staged_gather(struct gw_communicator *communicator, int root, const void *send,
                                size_t bytes, void *receive, struct gw_error *error) {
    struct passage passage = begin(communicator, communicator->size);
    passage.send = send;
    passage.receive = receive;
    passage.sends = ONE_PART;
    passage.receives = communicator->rank == root ? PART_OF_EACH_RANK : NOTHING;
    passage.part = bytes;
    passage.root = root;
    passage.exchange = exchange_gather;
    return pass(&passage, error);
}

static enum gw_status exchange_scatter(const struct passage *passage, const struct gw_stage *stage,
                                       size_t done, struct gw_error *error) {
    struct gw_communicator *host = host_of(passage);
    return host->transport->scatter(host, passage->root, stage->send,
                                    piece_bytes(passage, host->rank, done), stage->receive, error);
}

enum gw_status gw_staged_scatter(struct gw_communicator *communicator, int root, const void *send,
                                 size_t bytes, void *receive, struct gw_error *error) {
    struct passage passage = begin(communicator, communicator->size);
    passage.send = send;
    passage.receive = receive;
    passage.sends = communicator->rank == root ? PART_OF_EACH_RANK : NOTHING;
    passage.receives = ONE_PART;
    passage.part = bytes;
    passage.root = root;
    passage.exchange = exchange_scatter;
    return pass(&passage, error);
}
