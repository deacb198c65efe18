/*
 * Compressors: which elements of a gradient travel. A compressor selects; the memory (residual)
 * keeps what was not sent and adds it to the next gradient. Neither knows how things travel.
 */
#ifndef GW_KERNELS_KERNELS_H
#define GW_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "methods/methods.h"

/* Of functions for processors and for GPUs. */
#if defined(__CUDACC__)
#define GW_ON_BOTH __host__ __device__
#else
#define GW_ON_BOTH
#endif

/* ---- sparse vectors ------------------------------------------------------------------------ */

/* One element that travels: 8 bytes (contract, "Arithmetic"). */
struct gw_entry {
    float value;
    uint32_t index;
};

#define GW_NO_INDEX UINT32_MAX /* of an entry that stands for none: vectors end before it */

/* dense[entry.index] += entry.value for every entry, in order. */
void gw_scatter_add(const struct gw_entry *entries, size_t count, float *dense);

/* How many entries of an ascending list come before that index; and whether one has it. */
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

/* Room for `capacity` entries in all; keeps those that there are. */
enum gw_status gw_selection_reserve(struct gw_selection *selection, size_t capacity,
                                    struct gw_error *error);
void gw_selection_free(struct gw_selection *selection);

/*
 * Leaves the k largest |values| of a selection, 1 <= k <= selection->count: of equals those of
 * lower index. Returns the least that is left, as an integer of the same order as |values|.
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
    struct gw_selection *parts; /* what each thread selected */
};

void gw_workspace_free(struct gw_workspace *workspace);

/* One selection: what from, how much, by whom. */
struct gw_task {
    float *u;                 /* [n]: the residual, to which ... */
    const float *gradient;    /* ... this [n] is added first; NULL: nothing is */
    size_t n, k;              /* 1 <= k <= n < 2^32; k are asked for */
    size_t worker, workers;   /* 0 and 0 are as 0 and 1 */
    uint64_t seed, iteration; /* equal on all workers; other seeds for other parts of a gradient */
    double threshold;     /* |u| from which elements travel: of hard-threshold always, of ExDyna at
                           * first, where 0 is the published 1 / (2 sqrt(k)) */
    const size_t *layers; /* [layer_count] elements each, n in all; NULL: one layer */
    size_t layer_count;
    void *state;    /* of the compressor, for this part of the gradient; NULL if it has none */
    size_t threads; /* that share the work; what is selected does not depend on it; 0 is as 1 */
    struct gw_workspace *workspace;
};

/*
 * Adds the gradient to u, then selects from u. GW_BAD_INPUT if a NaN is met, which only a
 * compressor that looks at less than all of u can miss; infinities and denormals are ordinary
 * values.
 */
typedef enum gw_status gw_select(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error);

/* A compressor's functions on the host, attached to its descriptor. */
struct gw_kernel {
    gw_select *select;
    /* A state that lives across iterations, for tasks like this one; NULL: it has none. What there
     * is of one that could not be opened is to be closed. */
    enum gw_status (*open)(const struct gw_task *task, void **state, struct gw_error *error);
    void (*close)(void *state);
    /* Told after each iteration how many elements each worker selected: counts [workers]. */
    void (*observe)(void *state, const size_t *counts);
    /* Where the part of the state is that one iteration leaves to the next, to be copied from there
     * and back, and how long it is; NULL: there is none. */
    void *(*kept)(void *state, size_t *bytes);
};

/* Of any compressor in the table. */
const struct gw_kernel *gw_kernel_of(const struct gw_compressor *compressor);

/* The same, for compressors with and without a state: *state is NULL where there is none. */
enum gw_status gw_state_open(const struct gw_compressor *compressor, const struct gw_task *task,
                             void **state, struct gw_error *error);
void gw_state_close(const struct gw_compressor *compressor, void *state);
void gw_state_observe(const struct gw_compressor *compressor, void *state, const size_t *counts);
void *gw_state_kept(const struct gw_compressor *compressor, void *state, size_t *bytes);

/* ---- compression with memory --------------------------------------------------------------- */

/*
 * One step of error feedback: u += gradient; a selection from u; what was selected is cleared in u.
 * Nothing is lost: what is sent plus what stays is, element by element and bit for bit, what was
 * accumulated.
 */
enum gw_status gw_compress(const struct gw_compressor *compressor, const struct gw_task *task,
                           struct gw_selection *out, struct gw_error *error);

/* ---- gradients to work on ------------------------------------------------------------------ */

/* Fills values[0..n) with normal draws of mean 0: bell-shaped, as gradients are. */
enum gw_status gw_gradient_fill(float *values, size_t n, double sigma, uint64_t seed,
                                uint64_t stream, struct gw_error *error);

/* The shapes of a series of gradients, and what `scale` s means in each. */
enum gw_shape {
    GW_SHAPE_NORMAL,  /* standard deviation s */
    GW_SHAPE_LAPLACE, /* density exp(-|x| / s) / (2 s): standard deviation sqrt(2) s */
    GW_SHAPE_STUDENT, /* s times Student's t with `freedom` degrees; of infinite variance up to 2 */
    GW_SHAPE_SPARSE,  /* 90% zeros, the others normal with standard deviation s */
    GW_SHAPE_CONSTANT, /* all s */
    GW_SHAPE_SORTED,   /* evenly ascending from -s to s */
};
enum { GW_SHAPES = 6 };
extern const char *const gw_shape_names[GW_SHAPES];

/*
 * The scale of a tensor in iteration t is scale e^(spread z) e^(walk W(t)) drift^t; z is normal and
 * W a random walk with normal steps of variance 1, of each tensor its own. They follow from the
 * seed, so that workers share them; the elements also from worker and iteration.
 */
struct gw_gradients_spec {
    enum gw_shape shape;
    uint32_t worker;
    uint64_t seed;
    double scale;        /* of the median tensor at first */
    double freedom;      /* of GW_SHAPE_STUDENT */
    double spread;       /* 0 gives all tensors one scale */
    double walk;         /* 0 for none */
    double drift;        /* 1 for none */
    const size_t *sizes; /* in elements, of tensor_count tensors, next to each other */
    size_t tensor_count;
    /*
     * [pool_size], borrowed: elements of scale 1, drawn once, of which each tensor takes those from
     * some place on in each iteration, instead of draws of its own: some ten times as fast. NULL:
     * draws of its own.
     */
    const float *pool;
    size_t pool_size;
    /*
     * Borrowed: what was sampled of these tensors in a training, in place of all that follows from
     * the members above but `worker` and `sizes`, which are as sampled. NULL: they are drawn.
     */
    const struct gw_recorded_gradients *recorded;
    const size_t *recorded_tensors; /* [tensor_count], borrowed */
};

struct gw_gradients;

/* GW_BAD_INPUT for a negative scale, spread or walk, or a drift or freedom that is not above 0. */
enum gw_status gw_gradients_open(struct gw_gradients **out, const struct gw_gradients_spec *spec,
                                 struct gw_error *error);
void gw_gradients_close(struct gw_gradients *gradients);

/* The shape of a gradient by its name. */
enum gw_status gw_shape_parse(const char *name, enum gw_shape *out, struct gw_error *error);

/*
 * A gradient of one tensor, by the name of its shape: an iteration of what a seed gives. Its norm
 * is about 1, for which ExDyna's first threshold is made.
 */
enum gw_status gw_draw_gradient(const char *shape, size_t elements, uint64_t seed,
                                uint32_t iteration, float *out, struct gw_error *error);

/* Writes all tensors' elements of an iteration; in any order, and equal each time. */
void gw_gradients_fill(const struct gw_gradients *gradients, uint32_t iteration, float *out);

double gw_gradients_scale(const struct gw_gradients *gradients, size_t tensor, uint32_t iteration);

/* ---- what a selection leaves behind -------------------------------------------------------- */

/*
 * How much of a vector a selection of k elements leaves behind, and what is proven about it: Shi et
 * al., Understanding Top-k Sparsification in Distributed Deep Learning, 2019 (GaussianK-SGD). Data
 * for a plot like its Fig. 5.
 */

/* ||u - selection||^2 / ||u||^2 of d elements; each within [0, 1]. */
struct gw_bounds {
    double topk;   /* of the k largest; 0 for a vector of zeros */
    double random; /* expected of k at random: 1 - k / d */
    double proven; /* Theorem 1: top-k's is at most (1 - k / d)^2 */
};

/*
 * Fills out[0..count) for ks[0..count), each 1 <= ks[i] <= n, in any order; sorts |u| once. The
 * theorem takes the squares of a bell-shaped u, in descending order and divided by the first, to be
 * convex and below the line 1 - i / d; of others, like a constant, `topk` may be above `proven`.
 * GW_BAD_INPUT if an element is not finite.
 */
enum gw_status gw_find_bounds(const float *u, size_t n, const size_t *ks, size_t count,
                              struct gw_bounds *out, struct gw_error *error);

/* ---- instruction sets ---------------------------------------------------------------------- */

/* The sum of |u|: one pass over memory, which other passes are compared with. */
float gw_read_pass(const float *u, size_t n);

/* "avx512", "avx2" or "portable": what selections use here. */
const char *gw_instruction_set(void);

/* Makes them use that one from now on; false if this processor does not have it. For benchmarks and
 * tests, and not while anything is being selected. */
bool gw_force_instruction_set(const char *name);

#endif
