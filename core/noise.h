/*
 * Noise: factors on times, drawn from one of a few distributions.
 *
 * A draw is a pure function of its stream and its index: it is not stored, and does not depend on
 * the order of draws, or on the thread. Draws have the same bits on every machine (see
 * core/portable.h).
 */
#ifndef GW_CORE_NOISE_H
#define GW_CORE_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

struct gw_fields;

enum gw_noise_kind {
    GW_NOISE_NONE,      /* 1 */
    GW_NOISE_NORMAL,    /* 1 + sigma z for a standard normal z, but at least 0 */
    GW_NOISE_LOGNORMAL, /* exp(sigma z - sigma^2 / 2): of mean 1 */
    GW_NOISE_SAMPLE,    /* a measured value over the mean of all, each equally likely */
    GW_NOISE_RECORDED,  /* factors of a job's ranks in one of its iterations, each equally likely */
};

struct gw_noise {
    enum gw_noise_kind kind;
    double sigma;   /* >= 0 */
    size_t count;   /* of the sample */
    double *sample; /* >= 0, of mean 1, or as recorded, iteration by iteration; owned */
    size_t ranks;   /* number that was recorded: an iteration has this many of the sample;
                     * 0: none */
};

/* The largest SIGMA: beyond it, nearly all factors with a mean of 1 are close to 0. */
#define GW_NOISE_MAX_SIGMA 10.0

/*
 * Reads "none", "normal:SIGMA", "lognormal:SIGMA", "SIGMA" (lognormal) or "sample:FILE". The file
 * is a job's noise, `gradweave/noise@1` (docs/files.md), or holds numbers >= 0, not all 0, in any
 * unit: a JSON array, or one on each line, ignoring empty lines and lines that begin with #.
 * Messages name the file, or say the expected form of `text`, after the caller's `option`. An
 * absent or malformed file is GW_BAD_INPUT.
 */
enum gw_status gw_noise_read(const char *text, const char *option, struct gw_noise *out,
                             struct gw_error *error);
void gw_noise_free(struct gw_noise *noise);

/* The fields of a job's noise alone, a struct gw_noise. */
extern const struct gw_fields gw_noise_fields;

/* The number of recorded iterations; 0 for other noise. */
size_t gw_noise_iterations(const struct gw_noise *noise);

/* The stream of a source of noise - a worker, or all together - in one repetition. */
static const uint64_t GW_NOISE_SHARED = UINT64_MAX;
uint64_t gw_noise_stream(uint64_t seed, uint64_t repetition, uint64_t source);

/*
 * The stream of a worker's compute times. With recorded noise a worker is one of the ranks in one
 * of the iterations, with one factor for the whole repetition, and its neighbours are in the same
 * iteration: ranks keep their correlation, and a slow one stays slow. If there are more workers
 * than ranks, the further ones are the ranks again, in another iteration.
 */
uint64_t gw_noise_worker_stream(const struct gw_noise *noise, uint64_t seed, uint64_t repetition,
                                uint64_t worker);

/* The stream's factor number `index`: >= 0. */
double gw_noise_factor(const struct gw_noise *noise, uint64_t stream, uint64_t index);

/* The same for `count` streams, faster. */
void gw_noise_factors(const struct gw_noise *noise, const uint64_t *streams, size_t count,
                      uint64_t index, double *out);

#endif
