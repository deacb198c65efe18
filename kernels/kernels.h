/*
 * Compressors: which elements of a gradient travel. A compressor selects; the memory (residual)
 * keeps what was not sent and adds it to the next gradient. Neither knows how things travel.
 */
#ifndef GW_KERNELS_KERNELS_H
#define GW_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

/* ---- sparse vectors ------------------------------------------------------------------------ */

/* One element that travels: 8 bytes (contract, "Arithmetic"). */
struct gw_entry {
    float value;
    uint32_t index;
};

/* dense[entry.index] += entry.value for every entry, in order. */
void gw_scatter_add(const struct gw_entry *entries, size_t count, float *dense);

/* ---- compressors --------------------------------------------------------------------------- */

/* Scratch memory that selections share and that grows on demand; zero-initialise, then free. */
struct gw_workspace {
    size_t capacity;
    void *memory;
};

void gw_workspace_free(struct gw_workspace *workspace);

/*
 * Selects from u[0..n), 1 <= k <= n < 2^32, into `entries` (room for k) in ascending index order.
 * GW_BAD_INPUT if u holds a NaN; infinities and denormals are ordinary values.
 */
typedef enum gw_status gw_select(const float *u, size_t n, size_t k, struct gw_workspace *workspace,
                                 struct gw_entry *entries, struct gw_error *error);

struct gw_compressor {
    const char *name;  /* as in `--compressor` and in cluster files */
    const char *title; /* one line for a person */
    const char *paper;
    gw_select *select;
    gw_select *reference; /* the obvious version that tests compare with */
};

/* All compressors, ended by NULL; and one by name (NULL if there is none). */
extern const struct gw_compressor *const gw_compressors[];
const struct gw_compressor *gw_compressor_find(const char *name);

/* ---- compression with memory --------------------------------------------------------------- */

/*
 * One step of error feedback over n elements: residual += gradient; select k of the residual into
 * `entries`; clear in the residual what was selected. Nothing is lost: what is sent plus what stays
 * is, element by element and bit for bit, what was accumulated.
 */
enum gw_status gw_compress(const struct gw_compressor *compressor, const float *gradient,
                           float *residual, size_t n, size_t k, struct gw_workspace *workspace,
                           struct gw_entry *entries, struct gw_error *error);

/* ---- gradients to work on ------------------------------------------------------------------ */

/* Fills values[0..n) with normal draws of mean 0: bell-shaped, as gradients are. */
enum gw_status gw_gradient_fill(float *values, size_t n, double sigma, uint64_t seed,
                                uint64_t stream, struct gw_error *error);

/* ---- devices ------------------------------------------------------------------------------- */

enum { GW_GPU_NAME_SIZE = 64 };

/* The CUDA Toolkit that this build has in it ("13.0"), or NULL. */
const char *gw_cuda_version(void);

/* Names this machine's GPUs, at most `capacity`, and returns their number; 0 without CUDA. */
size_t gw_cuda_devices(char (*names)[GW_GPU_NAME_SIZE], size_t capacity);

#endif
