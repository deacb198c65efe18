/*
 * PowerSGD (Vogels et al., PowerSGD: Practical Low-Rank Gradient Compression for Distributed
 * Optimization, 2019): a matrix M of a group's gradient travels as factors P and Q of rank r,
 *
 *     P = M Q, averaged over workers, its columns made orthonormal;  Q = M^T P, averaged;
 *     M is decompressed to P Q^T, and the residual becomes M - P Q^T,
 *
 * with Q from the iteration before (warm start), at first of normal random numbers. A tensor is a
 * matrix of its first dimension by all others; it is compressed if 2 r (rows + columns) < rows
 * columns, and travels as it is otherwise, as PyTorch's powerSGD_hook does. Unlike that hook, and
 * as in the paper's Algorithm 1, the columns of Q are not made orthonormal.
 *
 * Results do not depend on threads, instruction sets, or whether a GPU makes them, bit for bit; so
 * ranks that hold the same averages hold the same decompressed gradient.
 */
#ifndef GW_KERNELS_LOW_RANK_H
#define GW_KERNELS_LOW_RANK_H

#include "kernels/kernels.h"
#include "kernels/memory.h"

struct gw_low_rank_matrix {
    size_t first, rows, columns; /* first: its first element in the group */
    size_t p, q, raw;            /* its first element in the factors; raw elements before it */
    size_t tile;                 /* its first tile (kernels/arithmetic.h) ... */
    size_t p_sums, q_sums;       /* ... and the first of its sums of tiles, of a GPU */
};

/* A group of tensors, and the factors of the matrices among them. A factor has a row for each
 * column of P or Q: [rank][rows] and [rank][columns] of one matrix after the other. */
struct gw_low_rank {
    size_t rank, elements, matrix_count;
    struct gw_low_rank_matrix
        *matrices; /* on the host, ascending; the elements between them travel as they are */
    size_t raw_count, p_count, q_count; /* elements of the three vectors that travel */
    float *raw, *p, *q;                 /* in the group's memory, with what follows */
    void *scratch;
    const struct gw_low_rank_matrix *found; /* the same matrices */
    uint64_t seed;
    struct gw_buffer buffers[5]; /* the memory's blocks: raw, p, q, scratch, found */
};

/* Describes a group of tensors of sizes[i] elements in rows[i] rows (0 or 1: none to compress),
 * with factors in a memory (NULL: the host's); the rank is at least 1. To be closed on failure too,
 * before the memory. */
enum gw_status gw_low_rank_open(const size_t *sizes, const size_t *rows, size_t tensors,
                                size_t rank, uint64_t seed, const struct gw_memory *memory,
                                struct gw_low_rank *out, struct gw_error *error);
void gw_low_rank_close(struct gw_low_rank *group);

/* ---- the steps, on the host; in any memory they are its operations (kernels/memory.h) ---------
 */

/*
 * Adds task->gradient, if there is one, to the residual task->u, copies the elements that are not
 * compressed to `raw`, and sets p = M q. GW_BAD_INPUT for a NaN or an infinity in u. Columns of q
 * that are zero (at first, all) begin anew, by the seed and the iteration, the same on all ranks.
 */
enum gw_status gw_low_rank_project(struct gw_low_rank *group, const struct gw_task *task,
                                   struct gw_error *error);

/* Makes the columns of p orthonormal, or 0 where they depend on others, and sets q = M^T p. */
void gw_low_rank_factor(struct gw_low_rank *group, const struct gw_task *task);

/* Writes raw and p q^T, `times` over, to out[0..n), and subtracts p q^T from u; raw elements of u
 * become 0. */
void gw_low_rank_expand(struct gw_low_rank *group, const struct gw_task *task, float times,
                        float *out);

/* Fails because element `first` is not finite or, past the last one, a product is not. */
enum gw_status gw_fail_unfactored(const struct gw_low_rank *group, uint64_t first,
                                  struct gw_error *error);

#endif
