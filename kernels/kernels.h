/*
 * Compressors select the elements of a gradient that are sent. The memory (residual) keeps the
 * elements that were not sent and adds them to the next gradient. Neither depends on how elements
 * are sent.
 */
#ifndef GW_KERNELS_KERNELS_H
#define GW_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "methods/methods.h"

#define GW_INLINE static inline __attribute__((always_inline))

/* ---- sparse vectors ------------------------------------------------------------------------ */

/* One element that is sent: 8 bytes. */
struct gw_entry {
    float value;
    uint32_t index;
};

#define GW_NO_INDEX UINT32_MAX /* the index of padding, which ends a vector */

/* dense[entry.index] += entry.value for every entry, in order. */
void gw_scatter_add(const struct gw_entry *entries, size_t count, float *dense);

/*
 * The number of entries of an ascending list before an index; and whether the list has the index.
 */
GW_ON_BOTH static inline size_t gw_entries_before(const struct gw_entry *list, size_t count,
                                                  uint32_t index) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
GW_ON_BOTH static inline bool gw_entries_have(const struct gw_entry *list, size_t count,
                                              uint32_t index) {
    size_t place = gw_entries_before(list, count, index);
    return place < count && list[place].index == index;
}

/* Entries in ascending index order, owned; grows on demand: zero-initialise, then free. */
struct gw_selection {
    size_t count, capacity;
    struct gw_entry *entries;
};

/* Reserves `capacity` entries in all; keeps the contents. */
enum gw_status gw_selection_reserve(struct gw_selection *selection, size_t capacity,
                                    struct gw_error *error);
void gw_selection_free(struct gw_selection *selection);

/*
 * Keeps the k largest |values| of a selection, 1 <= k <= selection->count; of equal ones, those of
 * lower index. Returns the smallest one that is kept, as an integer of the same order as |values|.
 */
int32_t gw_keep_largest(struct gw_selection *selection, size_t k);

/* ---- compressors --------------------------------------------------------------------------- */

/* Scratch memory that selections share and that grows on demand; zero-initialise, then free. */
struct gw_workspace {
    size_t capacity;
    void *memory; /* [capacity] bytes */
    size_t sample_capacity;
    float *sample;
    size_t part_count;
    struct gw_selection *parts; /* the selection of each thread */
};

void gw_workspace_free(struct gw_workspace *workspace);

struct gw_memory;

/* The input of one selection. */
struct gw_task {
    float *u;                 /* [n]: the residual */
    const float *gradient;    /* [n], added to u first; NULL: no gradient */
    size_t n, k;              /* 1 <= k <= n < 2^32; k elements are wanted */
    size_t worker, workers;   /* 0 and 0 mean 0 and 1 */
    uint64_t seed, iteration; /* equal on all workers; seeds differ between parts of a gradient */
    double threshold;         /* on |u|: that of hard-threshold, and ExDyna's first one; 0: ExDyna's
                               * published one, 1 / (2 sqrt(k)) */
    const size_t *layers;     /* [layer_count] elements each, n in all; NULL: one layer */
    const size_t *rows;       /* [layer_count] of their matrices; 0: it is none */
    size_t layer_count;
    size_t rank; /* of factors; set by gw_state_open */
    void *state; /* the compressor's, for this part of the gradient; NULL if it has none */
    const struct gw_memory *memory; /* that it is opened in, if it has factors; NULL: the host's */
    size_t threads;                 /* share the work, without an effect on the result; 0 means 1 */
    struct gw_workspace *workspace;
};

/* Adds the gradient to u, then selects from u. GW_BAD_INPUT if a NaN is met; only a compressor that
 * does not look at all of u can miss one. Infinities and denormals are ordinary values. */
typedef enum gw_status gw_select(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error);

/* Bytes in a memory (NULL: the host's). */
struct gw_kept {
    const struct gw_memory *memory;
    size_t bytes;
    void *at;
};

/* A compressor's functions on the host, attached to its descriptor. */
struct gw_kernel {
    gw_select *select; /* NULL: it makes factors (low_rank.h), which are its state */
    /* Opens a state that lives across iterations, for tasks like this one; NULL: no state. The
     * caller closes the state on failure too. */
    enum gw_status (*open)(const struct gw_task *task, void **state, struct gw_error *error);
    void (*close)(void *state);
    /* Tells the state how many elements each worker selected in an iteration: counts [workers]. */
    void (*observe)(void *state, const size_t *counts);
    /* Finds the part of the state that passes from one iteration to the next, to be copied out and
     * back; NULL: no such part. */
    struct gw_kept (*kept)(void *state);
};

/* The functions of a compressor in the table. */
const struct gw_kernel *gw_kernel_of(const struct gw_compressor *compressor);

/* The same for compressors with and without a state: *state is NULL for those without. */
enum gw_status gw_state_open(const struct gw_compressor *compressor, const struct gw_task *task,
                             void **state, struct gw_error *error);
void gw_state_close(const struct gw_compressor *compressor, void *state);
void gw_state_observe(const struct gw_compressor *compressor, void *state, const size_t *counts);
struct gw_kept gw_state_kept(const struct gw_compressor *compressor, void *state);

/* ---- compression with memory --------------------------------------------------------------- */

/* One step of error feedback: u += gradient; a selection from u; selected elements are cleared in
 * u. The sum of the sent and the remaining elements is the accumulated vector, bit for bit. */
enum gw_status gw_compress(const struct gw_compressor *compressor, const struct gw_task *task,
                           struct gw_selection *out, struct gw_error *error);

/* ---- generated gradients ------------------------------------------------------------------- */

/* Fills values[0..n) with normal draws of mean 0, bell-shaped as gradients are. */
enum gw_status gw_gradient_fill(float *values, size_t n, double sigma, uint64_t seed,
                                uint64_t stream, struct gw_error *error);

/* The distributions of generated gradients, and the meaning of `scale` s in each. */
enum gw_shape {
    GW_SHAPE_NORMAL,   /* standard deviation s */
    GW_SHAPE_LAPLACE,  /* density exp(-|x| / s) / (2 s): standard deviation sqrt(2) s */
    GW_SHAPE_STUDENT,  /* s times Student's t with `freedom` degrees; infinite variance up to 2
                        * degrees */
    GW_SHAPE_SPARSE,   /* 90% zeros, the others normal with standard deviation s */
    GW_SHAPE_CONSTANT, /* all s */
    GW_SHAPE_SORTED,   /* evenly ascending from -s to s */
};
enum { GW_SHAPES = 6 };
extern const char *const gw_shape_names[GW_SHAPES];

/*
 * The scale of a tensor in iteration t is scale e^(spread z) e^(walk W(t)) drift^t. Each tensor has
 * its own z, which is normal, and W, a random walk with normal steps of variance 1. They follow
 * from the seed, so that workers share them; the elements follow from worker and iteration too.
 */
struct gw_gradients_spec {
    enum gw_shape shape;
    uint32_t worker;
    uint64_t seed;
    double scale;        /* of the median tensor in iteration 0 */
    double freedom;      /* of GW_SHAPE_STUDENT */
    double spread;       /* 0 gives all tensors one scale */
    double walk;         /* 0 for none */
    double drift;        /* 1 for none */
    const size_t *sizes; /* in elements, of tensor_count tensors, next to each other */
    size_t tensor_count;
    /*
     * [pool_size], borrowed: elements of scale 1, drawn once. In each iteration each tensor copies
     * a range of them, at an offset that varies, about ten times as fast as drawing. NULL: tensors
     * draw.
     */
    const float *pool;
    size_t pool_size;
    /* Borrowed: samples of these tensors in a training. They replace all members above except
     * `worker` and `sizes`, which must be as sampled. NULL: gradients are drawn. */
    const struct gw_recorded_gradients *recorded;
    const size_t *recorded_tensors; /* [tensor_count], borrowed */
};

struct gw_gradients;

/* GW_BAD_INPUT for a negative scale, spread or walk, and a drift or freedom that is not above 0. */
enum gw_status gw_gradients_open(struct gw_gradients **out, const struct gw_gradients_spec *spec,
                                 struct gw_error *error);
void gw_gradients_close(struct gw_gradients *gradients);

/* Finds the shape of a gradient by its name. */
enum gw_status gw_shape_parse(const char *name, enum gw_shape *out, struct gw_error *error);

/* Draws a gradient of one tensor, by the name of its shape. Its norm is about 1, as ExDyna's first
 * threshold expects. */
enum gw_status gw_draw_gradient(const char *shape, size_t elements, uint64_t seed,
                                uint32_t iteration, float *out, struct gw_error *error);

/* Writes all tensors' elements of an iteration. Iterations may come in any order; each is
 * reproducible. */
void gw_gradients_fill(const struct gw_gradients *gradients, uint32_t iteration, float *out);

double gw_gradients_scale(const struct gw_gradients *gradients, size_t tensor, uint32_t iteration);

/* ---- the error of a selection -------------------------------------------------------------- */

/*
 * The share of a vector that a selection of k elements leaves behind, and its proven bound: Shi et
 * al., Understanding Top-k Sparsification in Distributed Deep Learning, 2019 (GaussianK-SGD); data
 * for a plot like its Fig. 5.
 */

/* ||u - selection||^2 / ||u||^2 of d elements; each within [0, 1]. */
struct gw_bounds {
    double topk;   /* of the k largest; 0 for a vector of zeros */
    double random; /* expected for k at random: 1 - k / d */
    double proven; /* Theorem 1: (1 - k / d)^2, an upper bound of top-k's */
};

/*
 * Fills out[0..count) for ks[0..count), each 1 <= ks[i] <= n, in any order; sorts |u| once. The
 * theorem assumes that the squares of a bell-shaped u, in descending order and divided by the
 * first, are convex and below the line 1 - i / d. For other vectors, for example constant ones,
 * `topk` may be above `proven`. GW_BAD_INPUT if an element is not finite.
 */
enum gw_status gw_find_bounds(const float *u, size_t n, const size_t *ks, size_t count,
                              struct gw_bounds *out, struct gw_error *error);

/* The sum of the values' squares. */
double gw_sum_squares(const float *values, size_t n);

/* ---- instruction sets ---------------------------------------------------------------------- */

/* The sum of |u|: one pass over memory, to compare other passes with. */
float gw_read_pass(const float *u, size_t n);

/* The instruction set that selections use: "avx512", "avx2" or "portable". */
const char *gw_instruction_set(void);

/* Sets the instruction set of later selections; false if this processor does not have it. For
 * benchmarks and tests, and not while a selection runs. */
bool gw_force_instruction_set(const char *name);

#endif
