/*
 * Long allgathers, allreduces and alltoalls around a ring of ranks; private to transport/.
 *
 * MPI libraries exchange halves, quarters and so on between changing pairs of ranks. Ranks that do
 * not begin together then fall out of step: two send to one rank at once while another's link is
 * idle, and the exchange takes up to twice as long (docs/methods.md). In a ring each link
 * carries only the data from one neighbour to the other, whenever the ranks begin. Each rank sends
 * as many bytes, in more steps: P - 1 of an allgather, 2 (P - 1) of an allreduce (Thakur,
 * Rabenseifner and Gropp 2005; Patarasuk and Yuan 2009). In step i of an alltoall each rank sends
 * the part of the rank i places to the right (pairwise exchange).
 *
 * The functions return MPI's error codes.
 */
#ifndef GW_TRANSPORT_MPI_RING_H
#define GW_TRANSPORT_MPI_RING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Messages are below 64 KiB, from which Open MPI over TCP waits for the receive before it sends the
 * rest. */
enum { GW_MPI_SEGMENT = 56 << 10 };

/*
 * True if so many bytes, of all ranks together or of a vector, are long enough for a ring's steps.
 */
bool gw_mpi_ring_is_worth(int ranks, size_t bytes);

/* Parts are adjacent: that of rank r at offsets[r] to offsets[r + 1], in bytes. offsets: [ranks +
 * 1], the first 0, equal on all ranks. */

/* receive = the parts of all ranks; `send` is this rank's. */
int gw_mpi_ring_allgather(MPI_Comm comm, const void *send, void *receive, const size_t *offsets);

/* A type of numbers and their addition. */
struct gw_mpi_sum {
    MPI_Datatype type;
    MPI_Op add;
    int bytes; /* of a number */
};

/* receive[i] = sum over ranks of send[i], the same bits on every rank. Memory of the host; parts
 * are whole numbers, as equal as possible. */
int gw_mpi_ring_allreduce(MPI_Comm comm, const struct gw_mpi_sum *sum, const void *send,
                          void *receive, const size_t *offsets);

/* receive[r * bytes ..] = rank r's send[own rank * bytes ..]. */
int gw_mpi_ring_alltoall(MPI_Comm comm, const void *send, size_t bytes, void *receive);

#endif
