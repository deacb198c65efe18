/*
 * How long allgathers, allreduces and alltoalls take whose ranks begin together or apart: MPI's
 * own, and gradweave's, of which long ones go round a ring.
 * script/cluster run -n 4 --realtime -- build/release/bench/apart
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "transport/transport.h"

enum { REPEATS = 15, WARM_UP = 2, LONGEST = 4 << 20, MAX_RANKS = 16 };

static void require(enum gw_status status, const struct gw_error *error) {
    if (status != GW_OK) {
        (void)fprintf(stderr, "apart: %s\n", error->message);
        exit((int)status);
    }
}

static float own[LONGEST / sizeof(float)];
static float all[LONGEST / sizeof(float)];

/* A way to exchange so many bytes, of all ranks together or of a vector. */
typedef void exchange(struct gw_communicator *ranks, size_t bytes);

static void gather_by_mpi(struct gw_communicator *ranks, size_t bytes) {
    int part = (int)bytes / ranks->size;
    MPI_Allgather(own, part, MPI_BYTE, all, part, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather_by_gradweave(struct gw_communicator *ranks, size_t bytes) {
    struct gw_error error;
    require(gw_allgather(ranks, own, bytes / (size_t)ranks->size, all, &error), &error);
}

static void sum_by_mpi(struct gw_communicator *ranks, size_t bytes) {
    (void)ranks;
    MPI_Allreduce(own, all, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void sum_by_gradweave(struct gw_communicator *ranks, size_t bytes) {
    struct gw_error error;
    require(gw_allreduce(ranks, GW_NUMBER_FLOAT, own, all, bytes / sizeof(float), &error), &error);
}

static void exchange_by_mpi(struct gw_communicator *ranks, size_t bytes) {
    int part = (int)bytes / ranks->size;
    MPI_Alltoall(own, part, MPI_BYTE, all, part, MPI_BYTE, MPI_COMM_WORLD);
}

static void exchange_by_gradweave(struct gw_communicator *ranks, size_t bytes) {
    struct gw_error error;
    require(gw_alltoall(ranks, own, bytes / (size_t)ranks->size, all, &error), &error);
}

/* From one to the next, in the mean, before each of which rank r sleeps r times as long as rank 1;
 * without what the last rank sleeps. In ms, the same on all ranks. */
static double measure_ms(struct gw_communicator *ranks, size_t bytes, long apart_us,
                         exchange *run) {
    struct gw_error error;
    const struct timespec sleeps = {.tv_nsec = 1000 * apart_us * ranks->rank};
    double started_s = 0;
    for (int i = 0; i < WARM_UP + REPEATS; i++) {
        if (i == WARM_UP) {
            started_s = MPI_Wtime();
        }
        nanosleep(&sleeps, NULL);
        run(ranks, bytes);
    }
    double mean_s = (MPI_Wtime() - started_s) / REPEATS;
    require(gw_agree_maximum(ranks, &mean_s, 1, &error), &error);
    return 1e3 * mean_s - 1e-3 * (double)apart_us * (ranks->size - 1);
}

int main(void) {
    static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, LONGEST};
    static const long all_apart_us[] = {0, 300, 1000};
    static exchange *const ways[] = {gather_by_mpi,    gather_by_gradweave, sum_by_mpi,
                                     sum_by_gradweave, exchange_by_mpi,     exchange_by_gradweave};
    struct gw_communicator ranks;
    struct gw_error error;
    require(gw_communicator_open_mpi(&ranks, &error), &error);
    if (ranks.size > MAX_RANKS) {
        (void)fprintf(stderr, "apart: expected at most %d ranks, got %d\n", MAX_RANKS, ranks.size);
        return GW_BAD_INPUT;
    }
    if (ranks.rank == 0) {
        printf("ms             allgather            allreduce             alltoall\n"
               "  KiB apart, us      MPI gradweave      MPI gradweave      MPI gradweave\n");
    }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t a = 0; a < sizeof all_apart_us / sizeof *all_apart_us; a++) {
            double ms[sizeof ways / sizeof *ways];
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                ms[w] = measure_ms(&ranks, sizes[s], all_apart_us[a], ways[w]);
            }
            if (ranks.rank == 0) {
                printf("%5zu %9ld %8.2f %9.2f %8.2f %9.2f %8.2f %9.2f\n", sizes[s] >> 10,
                       all_apart_us[a], ms[0], ms[1], ms[2], ms[3], ms[4], ms[5]);
            }
        }
    }
    ranks.transport->close(&ranks);
    return 0;
}
