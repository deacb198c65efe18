/*
 * Communicators over NCCL between threads with a GPU each, as many as there are; that failures
 * surface, and that nobody waits for ever. Where GPUs are emulated NCCL is, and only then it is
 * made to fail.
 */
#include "tests/transport/promises.h"

#ifdef GW_CUDA_EMULATED
#include "transport/nccl/nccl.h"
#endif

/* Skips a test of ranks that are threads, or processes of an MPI job, in programs of the others. */
enum ranks { threads, processes };
static void leave_to(enum ranks ranks) {
    if (gw_mpi_is_inside_job() != (ranks == processes)) {
        skip();
    }
}

static void need_nccl(void) {
    struct gw_error error = {0};
    gw_device_close(need_device());
    if (gw_nccl_need(&error) != GW_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
}

static const char *nccl_keeps_them(struct gw_communicator *parent) {
    struct gw_gpu gpus[MOST_RANKS];
    bool enough = (size_t)parent->size <= gw_cuda_devices(gpus, MOST_RANKS);
    return enough ? check_beside(parent, NULL, GW_GPU_NCCL, 0, gpu_promises) : NULL;
}

TEST(nccl_keeps_the_promises) {
    need_nccl();
    leave_to(threads);
    check *const checks[] = {nccl_keeps_them, NULL};
    check_threads(checks);
}

TEST(nccl_reports_its_version) {
    const char *version = gw_nccl_version();
    int major = 0;
    int minor = 0;
    struct gw_error error = {0};
    bool here = gw_nccl_need(&error) == GW_OK;
    if (version == NULL) {
        assert_non_null(strstr(error.message, "without NCCL"));
    } else {
        assert_int_equal(sscanf(version, "%d.%d", &major, &minor), 2);
        assert_int_equal(here, strstr(version, "not on this machine") == NULL);
    }
}

#ifdef GW_CUDA_EMULATED

static struct gw_nccl_world *world_of(const struct gw_communicator *communicator) {
    return communicator->state;
}

/* ---- failures ------------------------------------------------------------------------------ */

/* A sum of so many numbers, which fails with this in the message; and so does all that follows. */
static const char *fails(struct gw_communicator *communicator, size_t count, const char *why) {
    struct gw_error error = {0};
    float *memory = NULL;
    struct gw_request request;
    (void)gw_device_allocate(gw_device_stream_device(stream_of(communicator)), 64, (void **)&memory,
                             NULL);
    enum gw_status status =
        gw_allreduce(communicator, GW_NUMBER_FLOAT, memory, memory + 8, count, &error);
    bool right = status == GW_FAILED && strstr(error.message, "ncclAllReduce: ") != NULL &&
                 strstr(error.message, why) != NULL;
    if (!right) {
        print_error("expected \"%s\", got \"%s\"\n", why, error.message);
    }
    status = gw_broadcast(communicator, 0, memory, 1, &error);
    right = right && status == GW_FAILED && strstr(error.message, "failed before") != NULL &&
            gw_start_send(communicator, 0, memory, 1, &request, &error) == GW_FAILED;
    drop(communicator, memory);
    return right ? NULL : "a failure does not surface";
}

static const char *different_calls_fail(struct gw_communicator *communicator) {
    return communicator->size == 1
               ? NULL
               : fails(communicator, communicator->rank == 0 ? 3 : 4, "different collectives");
}

/* Rank 0 calls alone; the others find out once they wait. */
static const char *lost_ranks_are_found(struct gw_communicator *communicator) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    const char *complaint = NULL;
    if (communicator->size == 1) {
        return NULL;
    }
    if (communicator->rank == 0) {
        complaint = fails(communicator, 3, "not done after 0.2 s");
    }
    (void)host->transport->barrier(host, NULL);
    return communicator->rank == 0
               ? complaint
               : fails(communicator, 3, "rank 0: ncclAllReduce: not done after 0.2 s");
}

/* A failure of one rank between NCCL's calls ends the others' waits. */
static const char *failures_are_told(struct gw_communicator *communicator) {
    struct gw_error failure = {GW_FAILED, "ncclAllReduce: no memory for it"};
    struct gw_error error = {0};
    int last = communicator->size - 1;
    if (last == 0) {
        return NULL;
    }
    if (communicator->rank < last) {
        return fails(communicator, 3,
                     last == 1   ? "rank 1: ncclAllReduce: no memory for it"
                     : last == 4 ? "rank 4: ncclAllReduce: no memory for it"
                                 : "no memory for it");
    }
    return gw_nccl_give_up(world_of(communicator), &failure, &error) == GW_FAILED &&
                   strcmp(error.message, failure.message) == 0
               ? NULL
               : "give_up: not the failure";
}

static const char *other_lengths_fail(struct gw_communicator *communicator) {
    int me = communicator->rank;
    if (communicator->size == 1 || me > 1) {
        return NULL;
    }
    void *memory = make_room(communicator, 16);
    enum gw_status status = me == 0 ? gw_send(communicator, 1, memory, 5, NULL)
                                    : gw_receive(communicator, 0, memory, 16, NULL);
    drop(communicator, memory);
    return status == GW_FAILED ? NULL : "a message of another length was taken";
}

static const char *failures_surface(struct gw_communicator *parent) {
    static check *const cases[][2] = {
        {different_calls_fail, NULL}, {lost_ranks_are_found, NULL}, {other_lengths_fail, NULL}};
    static check *const told[] = {failures_are_told, NULL};
    const char *complaint = check_beside(parent, NULL, GW_GPU_NCCL, 30, told);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && complaint == NULL; i++) {
        complaint = check_beside(parent, NULL, GW_GPU_NCCL, 0.2, cases[i]);
    }
    return complaint;
}

TEST(emulated_nccl_is_held_to_more) {
    leave_to(threads);
    check *const checks[] = {failures_surface, NULL};
    check_threads(checks);
}

/* ---- between processes --------------------------------------------------------------------- */

static const char *opening_fails_on_all_ranks(struct gw_communicator *parent) {
    struct gw_gpu_settings settings = {.stream = open_rank_stream(parent->rank)};
    struct gw_communicator made;
    struct gw_error error = {0};
    const char *why = parent->rank == 1 ? "ncclCommInitRank: invalid argument: emulated"
                                        : "rank 1: ncclCommInitRank: invalid argument: emulated";
    enum gw_status status = gw_communicator_open_gpu(&made, parent, &settings, &error);
    bool right =
        status == GW_FAILED && made.transport == NULL && strstr(error.message, why) != NULL;
    if (!right) {
        print_error("expected \"%s\", got \"%s\"\n", why, error.message);
    }
    close_rank_stream(settings.stream);
    return right ? NULL : "open: not refused between processes";
}

/* The ranks of other processes are refused; the first waits for them inside of NCCL or outside. */
static const char *processes_are_refused(struct gw_communicator *parent) {
    const char *complaint = opening_fails_on_all_ranks(parent);
    (void)setenv("NCCL_COMM_BLOCKING", "1", 1);
    return complaint == NULL ? opening_fails_on_all_ranks(parent) : complaint;
}

TEST(emulated_nccl_is_of_one_process) {
    leave_to(processes);
    check *const checks[] = {processes_are_refused, NULL};
    check_mpi(checks);
}

#endif

static int emulate_five(void **state) {
    (void)state;
    return setenv("GW_EMULATED_GPUS", "5", 1);
}

FIXTURES(emulate_five, NULL)
