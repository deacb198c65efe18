/*
 * One rank of a job on the nodes of script/cluster, for tests/cluster.sh. Rank 0 says where the
 * ranks are and at which rate, in bytes per second of whole frames as the shaper counts them, an
 * allgather of BYTES per rank brings them what the others have, by the median of a few.
 *
 *     cluster_rank BYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/statistics.h"
#include "transport/transport.h"

enum { REPEATS = 7, LARGEST_JOB = 64 };

/* Ethernet's largest, and what headers of Ethernet, IP and TCP with time stamps leave of it. */
static const double frame_bytes = 1514, frame_payload_bytes = 1448;

static double median_allgather_s(struct gw_communicator *communicator, const void *send,
                                 size_t bytes, void *receive, struct gw_error *error) {
    double seconds[REPEATS];
    for (int i = -1; i < REPEATS; i++) { /* the first opens the connections */
        enum gw_status status = communicator->transport->barrier(communicator, error);
        double start_s = gw_clock_now_s();
        if (status == GW_OK) {
            status = gw_allgather(communicator, send, bytes, receive, error);
        }
        double spent_s = gw_clock_now_s() - start_s;
        if (status != GW_OK || gw_agree_maximum(communicator, &spent_s, 1, error) != GW_OK) {
            communicator->transport->abort(communicator, GW_FAILED);
        }
        if (i >= 0) {
            seconds[i] = spent_s;
        }
    }
    struct gw_summary summary;
    gw_summarise(seconds, REPEATS, &summary);
    return summary.median;
}

static enum gw_status say_hosts(struct gw_communicator *communicator, struct gw_error *error) {
    char hosts[LARGEST_JOB][GW_HOST_SIZE];
    char mine[GW_HOST_SIZE] = "";
    (void)gethostname(mine, sizeof mine - 1);
    GW_TRY(gw_allgather(communicator, mine, sizeof mine, hosts, error));
    for (int rank = 0; communicator->rank == 0 && rank < communicator->size; rank++) {
        printf("%s ", hosts[rank]);
    }
    return GW_OK;
}

int main(int argument_count, char **arguments) {
    struct gw_error error = {0};
    struct gw_communicator communicator;
    size_t bytes = argument_count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
    if (bytes == 0 || gw_communicator_open_mpi(&communicator, &error) != GW_OK) {
        (void)fprintf(stderr, "cluster_rank: expected BYTES, in an MPI job: %s\n", error.message);
        return GW_BAD_INPUT;
    }
    unsigned char *send = calloc(bytes, 1);
    unsigned char *receive = calloc((size_t)communicator.size, bytes);
    if (send == NULL || receive == NULL || communicator.size > LARGEST_JOB ||
        say_hosts(&communicator, &error) != GW_OK) {
        communicator.transport->abort(&communicator, GW_FAILED);
    }
    double spent_s = median_allgather_s(&communicator, send, bytes, receive, &error);
    if (communicator.rank == 0) {
        double payload_bytes = (double)(communicator.size - 1) * (double)bytes;
        printf("%.0f\n", payload_bytes * frame_bytes / frame_payload_bytes / spent_s);
    }
    free(send);
    free(receive);
    communicator.transport->close(&communicator);
    return GW_OK;
}
