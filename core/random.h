/* Random numbers over GSL, reproducible from a seed. */
#ifndef GW_CORE_RANDOM_H
#define GW_CORE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* A bijection of numbers that makes neighbouring ones unrelated: for seeds and counters. */
uint64_t gw_random_mix(uint64_t x);

struct gw_random;

/* `stream` selects one of many independent sequences of a seed (a worker, an iteration, a test
 * case). */
enum gw_status gw_random_open(struct gw_random **out, uint64_t seed, uint64_t stream,
                              struct gw_error *error);
void gw_random_close(struct gw_random *random);

double gw_random_uniform(struct gw_random *random);                 /* [0, 1) */
uint64_t gw_random_below(struct gw_random *random, uint64_t limit); /* 0 .. limit-1, limit >= 1 */
double gw_random_normal(struct gw_random *random, double sigma);
double gw_random_beta(struct gw_random *random, double a, double b); /* (0, 1), a and b > 0 */
/* exp(normal) scaled to mean 1: relative noise of standard deviation `sigma` in the logarithm. */
double gw_random_noise(struct gw_random *random, double sigma);

/* Shuffles `count` items of `size` bytes; each order is equally likely. */
void gw_random_shuffle(struct gw_random *random, void *items, size_t count, size_t size);

#endif
