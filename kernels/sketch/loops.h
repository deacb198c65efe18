/* The inner loops of sketches for several instruction sets, and their reference; private. */
#ifndef GW_KERNELS_SKETCH_LOOPS_H
#define GW_KERNELS_SKETCH_LOOPS_H

#include <stdbool.h>

#include "kernels/sketch/hash.h"

/* ---- shapes ------------------------------------------------------------------------------- */

/* GW_BAD_INPUT for rows or columns that no sketch has; for sketches that cannot be added. */
enum gw_status gw_sketch_check(size_t rows, size_t columns, struct gw_error *error);
enum gw_status gw_sketch_check_alike(const struct gw_sketch *a, const struct gw_sketch *b,
                                     struct gw_error *error);

/* ---- hashing ------------------------------------------------------------------------------- */

/* Of a row. */
struct gw_sketch_hash gw_sketch_hash_of(uint64_t seed, size_t row);

/* log2(columns) */
static inline unsigned gw_sketch_column_bits(const struct gw_sketch *sketch) {
    return (unsigned)__builtin_ctzll(sketch->columns);
}

/* ---- instruction sets ---------------------------------------------------------------------- */

enum { GW_SKETCH_TILE = 64 }; /* blocks that are hashed at once, by vector code */

/* The inner loops for one instruction set, over `count` <= GW_SKETCH_TILE whole blocks. */
struct gw_sketch_loops {
    const char *name;
    bool (*supported)(void); /* by the processor that runs this */
    /* Adds blocks to the row `cells`; false if they hold a NaN. */
    bool (*add)(float *cells, struct gw_sketch_hash hash, unsigned column_bits, const float *u,
                uint32_t block, size_t count);
    void (*estimate)(const struct gw_sketch *sketch, uint32_t block, size_t count,
                     float *estimates);
};

/* Fastest first, ended by NULL; the last one runs everywhere. */
extern const struct gw_sketch_loops *const gw_sketch_loops[];

/* gw_sketch_encode and gw_sketch_estimate with chosen loops. */
enum gw_status gw_sketch_encode_with(const struct gw_sketch_loops *loops, struct gw_sketch *sketch,
                                     const float *u, size_t first, size_t n,
                                     struct gw_error *error);
void gw_sketch_estimate_with(const struct gw_sketch_loops *loops, const struct gw_sketch *sketch,
                             size_t first, size_t n, float *estimates);

/* ---- HEAVYMIX ------------------------------------------------------------------------------ */

/*
 * The k chosen coordinates, ascending, from all heavy hitters, |estimate| and coordinate,
 * ascending: the largest k of them, which are then left in *heavy, or all of them and others by
 * lot.
 */
enum gw_status gw_sketch_choose(const struct gw_sketch *sketch, size_t n, size_t k,
                                uint64_t iteration, struct gw_selection *heavy,
                                struct gw_workspace *workspace, uint32_t *indices,
                                struct gw_error *error);

/* ---- references: one element at a time ----------------------------------------------------- */

enum gw_status gw_sketch_encode_reference(struct gw_sketch *sketch, const float *u, size_t first,
                                          size_t n, struct gw_error *error);
void gw_sketch_estimate_reference(const struct gw_sketch *sketch, size_t first, size_t n,
                                  float *estimates);
enum gw_status gw_sketch_heavymix_reference(const struct gw_sketch *sketch, size_t n, size_t k,
                                            uint64_t iteration, uint32_t *indices, size_t *heavy,
                                            struct gw_error *error);

/* The message for a NaN at coordinate `index`. */
enum gw_status gw_sketch_fail_nan(size_t index, struct gw_error *error);

#endif
