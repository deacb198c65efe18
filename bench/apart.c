/*
 * How long allgathers take whose ranks begin apart: MPI's own, and gradweave's, whose ranks wait
 * for each other first. script/cluster run -n 4 --realtime -- build/release/bench/apart
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "transport/transport.h"

enum { REPEATS = 40, WARM_UP = 5, LONGEST = 188800, MOST_RANKS = 16 };

static void require(enum gw_status status, const struct gw_error *error) {
    if (status != GW_OK) {
        (void)fprintf(stderr, "apart: %s\n", error->message);
        exit((int)status);
    }
}

static void gather_by_mpi(struct gw_communicator *ranks, const void *send, size_t bytes,
                          void *receive) {
    (void)ranks;
    MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather_by_gradweave(struct gw_communicator *ranks, const void *send, size_t bytes,
                                void *receive) {
    struct gw_error error;
    require(gw_allgather(ranks, send, bytes, receive, &error), &error);
}

/* From one to the next, in the mean, before each of which rank r sleeps r times as long as rank 1;
 * without what the last rank sleeps. In seconds, the same on all ranks. */
static double measure(struct gw_communicator *ranks, size_t bytes, long apart_us,
                      void (*gather)(struct gw_communicator *, const void *, size_t, void *)) {
    static char own[LONGEST];
    static char all[(size_t)MOST_RANKS * LONGEST];
    struct gw_error error;
    const struct timespec sleeps = {.tv_nsec = 1000 * apart_us * ranks->rank};
    double started_s = 0;
    for (int i = 0; i < WARM_UP + REPEATS; i++) {
        if (i == WARM_UP) {
            started_s = MPI_Wtime();
        }
        nanosleep(&sleeps, NULL);
        gather(ranks, own, bytes, all);
    }
    double mean_s = (MPI_Wtime() - started_s) / REPEATS;
    require(gw_agree_maximum(ranks, &mean_s, 1, &error), &error);
    return mean_s - 1e-6 * (double)apart_us * (ranks->size - 1);
}

int main(void) {
    static const size_t sizes[] = {8192, 47232, LONGEST};
    static const long all_apart_us[] = {0, 300, 1000};
    struct gw_communicator ranks;
    struct gw_error error;
    require(gw_communicator_open_mpi(&ranks, &error), &error);
    if (ranks.size > MOST_RANKS) {
        (void)fprintf(stderr, "apart: expected at most %d ranks, got %d\n", MOST_RANKS, ranks.size);
        return GW_BAD_INPUT;
    }
    if (ranks.rank == 0) {
        printf("%8s %10s %10s %13s\n", "bytes", "apart, us", "MPI, ms", "gradweave, ms");
    }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t a = 0; a < sizeof all_apart_us / sizeof *all_apart_us; a++) {
            double mpi_s = measure(&ranks, sizes[s], all_apart_us[a], gather_by_mpi);
            double own_s = measure(&ranks, sizes[s], all_apart_us[a], gather_by_gradweave);
            if (ranks.rank == 0) {
                printf("%8zu %10ld %10.2f %13.2f\n", sizes[s], all_apart_us[a], 1e3 * mpi_s,
                       1e3 * own_s);
            }
        }
    }
    ranks.transport->close(&ranks);
    return 0;
}
