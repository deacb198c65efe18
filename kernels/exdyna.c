/* ExDyna's partitions and thresholds: the algorithms of its paper (kernels/exdyna.h). */
#include "kernels/exdyna.h"

#include <math.h>

enum {
    MIN_BLOCKS = 1024,
    MIN_WORKER_BLOCKS = 4, /* minimum number for a worker; a partition can shrink to a quarter of
                            * an equal share */
    BLOCK_MULTIPLE = 32,   /* threads of a warp, which read adjacent elements */
    MIN_BLOCK_SIZE = 1024, /* elements of a block; with smaller blocks the remainder would be too
                            * large */
};

/* Loads above alpha times the mean are too large, loads below 1 / alpha times too small. */
static const double alpha = 1.05;

/* The same bounds for k' / k, and the step (gamma) by which the threshold then changes. */
static const double beta = 1.1;
static const double step = 0.005;

/* A third of this gain follows the start of a drift too late; three times as much adds noise. */
static const double trend_gain = 0.001;

/* ---- partitions ---------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

struct gw_exdyna_layout gw_exdyna_layout_of(size_t elements, size_t workers) {
    size_t least_blocks = MIN_WORKER_BLOCKS * workers;
    size_t blocks = larger(MIN_BLOCKS, least_blocks);
    size_t size = elements / blocks / BLOCK_MULTIPLE * BLOCK_MULTIPLE;
    if (elements / blocks < MIN_BLOCK_SIZE) {
        size = larger(size, BLOCK_MULTIPLE);
        if (elements / size < least_blocks) {
            size = larger(elements / least_blocks, 1);
        }
        blocks = elements / size;
    }
    return (struct gw_exdyna_layout){
        .elements = elements,
        .workers = workers,
        .blocks = blocks,
        .block_size = size,
        .least = smaller((blocks + least_blocks - 1) / least_blocks, blocks / workers),
    };
}

void gw_exdyna_topology(const struct gw_exdyna_layout *layout, size_t *blocks_of) {
    for (size_t p = 0; p < layout->workers; p++) {
        blocks_of[p] = layout->blocks / layout->workers + (p < layout->blocks % layout->workers);
    }
}

size_t gw_exdyna_partition(uint64_t iteration, size_t worker, size_t workers) {
    return (size_t)((iteration % workers + worker) % workers);
}

/* Moves one block from a partition to its neighbour, if enough blocks remain; returns the number
 * moved. */
static size_t move_block(const struct gw_exdyna_layout *layout, size_t *from, size_t *to) {
    if (*from <= layout->least) {
        return 0;
    }
    *from -= 1;
    *to += 1;
    return 1;
}

/*
 * A move changes the second load of a pair by the average load of a block, before that load is
 * compared as the first of the next pair. Partition p belonged to worker (p - last) mod P (line 4).
 */
void gw_exdyna_allocate(const struct gw_exdyna_layout *layout, uint64_t last, const size_t *counts,
                        size_t *blocks_of) {
    size_t workers = layout->workers;
    size_t first_worker = workers - (size_t)(last % workers);
    double total = 0;
    for (size_t r = 0; r < workers; r++) {
        total += (double)counts[r];
    }
    double mean = total / (double)workers;
    double of_block = total * (double)layout->block_size / (double)layout->elements;
    double load = (double)counts[first_worker % workers];
    for (size_t p = 0; p + 1 < workers; p++) {
        double next = (double)counts[(first_worker + p + 1) % workers];
        if (load > alpha * mean && next < mean / alpha) {
            next += of_block * (double)move_block(layout, &blocks_of[p], &blocks_of[p + 1]);
        } else if (load < mean / alpha && next > alpha * mean) {
            next -= of_block * (double)move_block(layout, &blocks_of[p + 1], &blocks_of[p]);
        }
        load = next;
    }
}

struct gw_exdyna_range gw_exdyna_range_of(const struct gw_exdyna_layout *layout,
                                          const size_t *blocks_of, size_t partition) {
    size_t before = 0;
    for (size_t p = 0; p < partition; p++) {
        before += blocks_of[p];
    }
    size_t end = (before + blocks_of[partition]) * layout->block_size;
    return (struct gw_exdyna_range){
        .begin = before * layout->block_size,
        .end = partition + 1 == layout->workers ? layout->elements : end,
    };
}

size_t gw_exdyna_lone_index(struct gw_exdyna_range range, uint64_t iteration) {
    return range.begin + (size_t)(iteration % (range.end - range.begin));
}

double gw_exdyna_padding(const size_t *counts, size_t workers) {
    size_t most = 0;
    double total = 0;
    for (size_t r = 0; r < workers; r++) {
        most = larger(most, counts[r]);
        total += (double)counts[r];
    }
    return most == 0 ? 1 : (double)workers * (double)most / total;
}

/* ---- thresholds ---------------------------------------------------------------------------- */

double gw_exdyna_first_threshold(size_t wanted) {
    return 0.5 / sqrt((double)wanted);
}

double gw_exdyna_next_threshold(double threshold, size_t selected, size_t wanted) {
    double exam = (double)selected / (double)wanted;
    if (exam > beta) {
        return threshold * (1 + step);
    }
    if (exam > 1 / beta) {
        return threshold * (1 + step / 4);
    }
    return threshold * (1 - step);
}

static double clamp(double x, double limit) {
    return fmin(fmax(x, -limit), limit);
}

void gw_exdyna_track(struct gw_exdyna_threshold *threshold, size_t selected, size_t wanted) {
    double error = clamp(log((double)selected / (double)wanted), 1); /* log(0) is -infinity */
    threshold->trend = clamp(threshold->trend + trend_gain * error, step);
    threshold->value *= exp(step * error + threshold->trend);
}
