/*
 * Memory of GPUs through that of the host, and straight from the GPU, between ranks that share
 * GPUs: between threads when this program is started by itself, over MPI when it is started in an
 * MPI job. With GPUs that are emulated every transport takes their memory, as if it were
 * CUDA-aware.
 */
#include "tests/transport/promises.h"

#ifdef GW_CUDA_EMULATED
static const bool emulated = true;
#else
static const bool emulated = false;
#endif

/* ---- the transports ------------------------------------------------------------------------ */

static const char *staged_keeps_them(struct gw_communicator *parent) {
    return check_beside(parent, &gw_gpu_staged, GW_GPU_MPI, 0, gpu_promises);
}

static const char *aware_keeps_them(struct gw_communicator *parent) {
    return check_beside(parent, &gw_gpu_cuda_aware, GW_GPU_MPI, 0, gpu_promises);
}

/* The choice for MPI. */
static const char *chosen_keeps_them(struct gw_communicator *parent) {
    return check_beside(parent, NULL, GW_GPU_MPI, 0, gpu_promises);
}

/* ---- the transport that is chosen ---------------------------------------------------------- */

static const char *it_is_staged_or_aware(struct gw_communicator *communicator) {
    bool aware = gw_takes_gpu_memory(&gw_gpu_base(communicator)->host);
    return strcmp(communicator->transport->name, aware ? "cuda-aware" : "staged") == 0
               ? NULL
               : "not the transport for this MPI library";
}

static const char *choice_is_right(struct gw_communicator *parent) {
    check *const checks[] = {it_is_staged_or_aware, NULL};
    return check_beside(parent, NULL, GW_GPU_MPI, 0, checks);
}

/* From the third rank on, GPUs are shared. */
static const char *nccl_refuses_to_share(struct gw_communicator *parent) {
    struct gw_gpu_settings settings = {.stream = open_rank_stream(parent->rank)};
    struct gw_communicator made;
    struct gw_error error = {0};
    const char *why = gw_nccl_need(NULL) == GW_OK ? "share GPU" : "NCCL: expected";
    const char *complaint = NULL;
    if (gw_nccl_version() == NULL) {
        why = "built without NCCL";
    }
    if (parent->size > 2 &&
        (gw_communicator_open_gpu(&made, parent, &settings, &error) != GW_BAD_INPUT ||
         made.transport != NULL || strstr(error.message, why) == NULL)) {
        print_error("%s\n", error.message);
        complaint = "NCCL: not refused where ranks share a GPU";
    }
    if (complaint == NULL && parent->size > 2 && emulated &&
        strstr(error.message, "ranks 0 and 2 share GPU 0000:00:00.0") == NULL) {
        complaint = "NCCL: the ranks that share a GPU are not named";
    }
    close_rank_stream(settings.stream);
    return complaint;
}

/* ---- failures ------------------------------------------------------------------------------ */

/* Rank 0 sends so many bytes and rank 1 expects so many others, and keeps what it has there. */
static bool refuses(struct gw_communicator *communicator, size_t sent, size_t expected,
                    const char *why) {
    int me = communicator->rank;
    size_t bytes = me == 0 ? sent : expected;
    struct gw_error error = {0};
    unsigned char *data = malloc(bytes);
    memset(data, me, bytes);
    unsigned char *there = make_room(communicator, bytes);
    fill(communicator, there, data, bytes);
    enum gw_status status = me == 0 ? gw_send(communicator, 1, there, sent, &error)
                                    : gw_receive(communicator, 0, there, expected, &error);
    bool right = status == (me == 0 ? GW_OK : GW_FAILED) &&
                 strstr(error.message, me == 0 ? "" : why) != NULL;
    if (!right) {
        print_error("expected \"%s\", got \"%s\"\n", why, error.message);
    }
    right = held(communicator, there, data, bytes) && right;
    free(data);
    return right;
}

/* Messages after one that was refused still arrive. */
static const char *another_length_is_refused(struct gw_communicator *communicator) {
    enum { LONG = 2 * GW_STAGE_BYTES, LONGER = 2 * LONG };
    char shorter[64];
    char longer[64];
    (void)snprintf(shorter, sizeof shorter, "a message from rank 0: expected %d bytes, got %d",
                   LONGER, LONG + 5);
    (void)snprintf(longer, sizeof longer, "a message from rank 0: expected %d bytes, got %d",
                   LONG + 5, LONGER);
    if (communicator->size < 2 || communicator->rank > 1) {
        return NULL;
    }
    return refuses(communicator, 5, 16, "a message from rank 0: expected 16 bytes, got 5") &&
                   refuses(communicator, LONG + 5, LONGER, shorter) &&
                   refuses(communicator, LONGER, LONG + 5, longer) &&
                   refuses(communicator, 5, LONG,
                           "the first piece of a longer message: a message from rank 0") &&
                   refuses(communicator, 6, 16, "a message from rank 0: expected 16 bytes, got 6")
               ? NULL
               : "receive: took a message of another length";
}

static const char *failures_surface(struct gw_communicator *parent) {
    check *const checks[] = {another_length_is_refused, NULL};
    if (strcmp(parent->transport->name, "mpi") == 0) { /* whose own errors they are */
        return NULL;
    }
    return check_beside(parent, &gw_gpu_staged, GW_GPU_MPI, 0, checks);
}

/* ---- page-locked memory -------------------------------------------------------------------- */

/* However long a message is, the host has two pieces of it at most. */
static const char *long_messages_need_two_stages(struct gw_communicator *communicator) {
    enum { BYTES = 10 * GW_STAGE_BYTES };
    const struct gw_staged *staged = communicator->state;
    size_t locked = 0;
    if (communicator->size < 2 || communicator->rank > 1) {
        return NULL;
    }
    unsigned char *memory = make_room(communicator, BYTES);
    enum gw_status status = communicator->rank == 0
                                ? gw_send(communicator, 1, memory, BYTES, NULL)
                                : gw_receive(communicator, 0, memory, BYTES, NULL);
    for (const struct gw_staged_buffer *b = staged->buffers; b != NULL; b = b->next) {
        locked += b->capacity;
    }
    drop(communicator, memory);
    return status == GW_OK && locked == 2 * (size_t)GW_STAGE_BYTES
               ? NULL
               : "send: not two stages of page-locked memory";
}

static const char *memory_is_bounded(struct gw_communicator *parent) {
    check *const checks[] = {long_messages_need_two_stages, NULL};
    return check_beside(parent, &gw_gpu_staged, GW_GPU_MPI, 0, checks);
}

/* ---- between threads, and over MPI --------------------------------------------------------- */

static const char *promises_are_kept(struct gw_communicator *parent) {
    check *const real[] = {staged_keeps_them, chosen_keeps_them, NULL};
    check *const all[] = {staged_keeps_them, aware_keeps_them, NULL};
    return run_checks(emulated ? all : real, parent);
}

TEST(communicators_keep_their_promises) {
    check *const checks[] = {seeds_are_agreed_on,
                             promises_are_kept,
                             choice_is_right,
                             nccl_refuses_to_share,
                             failures_surface,
                             memory_is_bounded,
                             NULL};
    gw_device_close(need_device());
    check_ranks(checks);
}

/* Two ranks that share a GPU. */
static int emulate_two(void **state) {
    (void)state;
    return setenv("GW_EMULATED_GPUS", "2", 0);
}

FIXTURES(emulate_two, NULL)
