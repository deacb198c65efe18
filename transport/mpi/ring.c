#include "transport/mpi/ring.h"

#include <string.h>

/* With shorter parts, the latencies of its steps exceed the gain: parts of 8 KiB of 8 ranks were
 * slower than Open MPI's at 1 Gb/s. bench/apart prints the gain. */
bool gw_mpi_ring_is_worth(int ranks, size_t bytes) {
    const size_t shortest_part = 16 << 10;
    return ranks > 2 && bytes / (size_t)ranks >= shortest_part;
}

enum { TAG = 2 }; /* differs from that of messages (mpi.c), which may be in flight */

struct ring {
    MPI_Comm comm;
    int rank, ranks;
};

static struct ring ring_of(MPI_Comm comm) {
    struct ring ring = {.comm = comm};
    MPI_Comm_rank(comm, &ring.rank);
    MPI_Comm_size(comm, &ring.ranks);
    return ring;
}

/* The rank `places` to the left, below the number of ranks. */
static int left_of(const struct ring *ring, int places) {
    return (ring->rank + 2 * ring->ranks - places) % ring->ranks;
}

static int next_segment(size_t bytes, size_t done) {
    size_t left = bytes > done ? bytes - done : 0;
    return (int)(left < GW_MPI_SEGMENT ? left : GW_MPI_SEGMENT);
}

/* Sends bytes to the rank `places` to the right and receives bytes from that to the left, segment
 * by segment; with `sum`, received numbers are added to `received`. */
static int exchange_segments(const struct ring *ring, int places, const char *sent,
                             size_t sent_bytes, char *received, size_t received_bytes,
                             const struct gw_mpi_sum *sum) {
    float scratch[GW_MPI_SEGMENT / sizeof(float)];
    int right = left_of(ring, -places);
    int left = left_of(ring, places);
    for (size_t done = 0; done < sent_bytes || done < received_bytes; done += GW_MPI_SEGMENT) {
        int out = next_segment(sent_bytes, done);
        int in = next_segment(received_bytes, done);
        char *place = sum != NULL ? (char *)scratch : received + done;
        int result = MPI_Sendrecv(sent + done, out, MPI_BYTE, out > 0 ? right : MPI_PROC_NULL, TAG,
                                  place, in, MPI_BYTE, in > 0 ? left : MPI_PROC_NULL, TAG,
                                  ring->comm, MPI_STATUS_IGNORE);
        if (result == MPI_SUCCESS && sum != NULL) {
            result =
                MPI_Reduce_local(scratch, received + done, in / sum->bytes, sum->type, sum->add);
        }
        if (result != MPI_SUCCESS) {
            return result;
        }
    }
    return MPI_SUCCESS;
}

/* Passes on the part of rank r first, `from` places to the left, then the parts further left,
 * around the ring. */
static int pass_parts(const struct ring *ring, char *data, const size_t *offsets, int from,
                      const struct gw_mpi_sum *sum) {
    int result = MPI_SUCCESS;
    for (int step = 0; step < ring->ranks - 1 && result == MPI_SUCCESS; step++) {
        const size_t *sent = &offsets[left_of(ring, from + step)];
        const size_t *received = &offsets[left_of(ring, from + step + 1)];
        result = exchange_segments(ring, 1, data + sent[0], sent[1] - sent[0], data + received[0],
                                   received[1] - received[0], sum);
    }
    return result;
}

/* Copies the own part by MPI too, since it may be in memory of a GPU. */
int gw_mpi_ring_allgather(MPI_Comm comm, const void *send, void *receive, const size_t *offsets) {
    struct ring ring = ring_of(comm);
    size_t begin = offsets[ring.rank];
    int own = (int)(offsets[ring.rank + 1] - begin);
    int result = MPI_Sendrecv(send, own, MPI_BYTE, ring.rank, TAG, (char *)receive + begin, own,
                              MPI_BYTE, ring.rank, TAG, comm, MPI_STATUS_IGNORE);
    return result == MPI_SUCCESS ? pass_parts(&ring, receive, offsets, 0, NULL) : result;
}

/*
 * Sums go around until each rank has that of its right neighbour's part; then the sums go around.
 */
int gw_mpi_ring_allreduce(MPI_Comm comm, const struct gw_mpi_sum *sum, const void *send,
                          void *receive, const size_t *offsets) {
    struct ring ring = ring_of(comm);
    memcpy(receive, send, offsets[ring.ranks]);
    int result = pass_parts(&ring, receive, offsets, 0, sum);
    return result == MPI_SUCCESS ? pass_parts(&ring, receive, offsets, -1, NULL) : result;
}

/* Copies the own part by MPI too, as above. */
int gw_mpi_ring_alltoall(MPI_Comm comm, const void *send, size_t bytes, void *receive) {
    struct ring ring = ring_of(comm);
    int result = MPI_SUCCESS;
    for (int places = 0; places < ring.ranks && result == MPI_SUCCESS; places++) {
        const char *sent = (const char *)send + (size_t)left_of(&ring, -places) * bytes;
        char *received = (char *)receive + (size_t)left_of(&ring, places) * bytes;
        result = exchange_segments(&ring, places, sent, bytes, received, bytes, NULL);
    }
    return result;
}
