#include "kernels/sketch/gpu_order.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/sketch/loops.h"

/* 16 MiB of coordinates: a few such fit into the L2 cache of GPUs from the A100 on. Where lines
 * have few blocks, reading coordinates again costs less than going through the lines once more. */
enum { CHUNK = 1 << 18, LINE_LEAST = 8 };

static size_t count_blocks(size_t n) {
    return n / GW_SKETCH_BLOCK + (n % GW_SKETCH_BLOCK != 0);
}

static size_t chunk_of(size_t lines, size_t blocks) {
    size_t chunk = LINE_LEAST * lines > CHUNK ? LINE_LEAST * lines : CHUNK;
    return chunk < blocks || blocks == 0 ? chunk : blocks;
}

/* ---- one row of a chunk -------------------------------------------------------------------- */

struct sorting {
    const struct gw_sketch *shape;
    size_t lines;
    size_t chunk;      /* blocks at most */
    uint32_t *blocks;  /* [rows * chunk] */
    uint32_t *offsets; /* [rows * (lines + 1)] */
    uint32_t *line_of; /* [chunk] */
    uint32_t *next;    /* [lines] */
};

static void sort_row(const struct sorting *sorting, size_t row, size_t first, size_t count) {
    struct gw_sketch_hash hash = gw_sketch_hash_of(sorting->shape->seed, row);
    unsigned column_bits = gw_sketch_column_bits(sorting->shape);
    uint32_t *offsets = sorting->offsets + row * (sorting->lines + 1);
    uint32_t *blocks = sorting->blocks + row * count;
    memset(offsets, 0, (sorting->lines + 1) * sizeof *offsets);
    for (size_t i = 0; i < count; i++) {
        uint32_t place = gw_sketch_place(hash, column_bits, (uint32_t)(first + i));
        sorting->line_of[i] = place / GW_SKETCH_BLOCK;
        offsets[sorting->line_of[i] + 1]++;
    }
    for (size_t line = 0; line < sorting->lines; line++) {
        sorting->next[line] = offsets[line];
        offsets[line + 1] += offsets[line];
    }
    for (size_t i = 0; i < count; i++) {
        blocks[sorting->next[sorting->line_of[i]]++] = (uint32_t)(first + i);
    }
}

/* ---- all chunks ---------------------------------------------------------------------------- */

/* The host's arrays are used again for the next chunk. */
static enum gw_status sort_all(struct gw_gpu_sketch_order *order, const struct sorting *sorting,
                               struct gw_device_stream *stream, struct gw_error *error) {
    size_t rows = sorting->shape->rows;
    size_t offsets = rows * (order->lines + 1);
    size_t all = count_blocks(order->n);
    for (size_t first = 0, chunk = 0; first < all; first += order->chunk, chunk++) {
        size_t count = all - first < order->chunk ? all - first : order->chunk;
        for (size_t row = 0; row < rows; row++) {
            sort_row(sorting, row, first, count);
        }
        GW_TRY(gw_device_copy(stream, order->blocks + first * rows, sorting->blocks,
                              rows * count * sizeof *order->blocks, error));
        GW_TRY(gw_device_copy(stream, order->offsets + chunk * offsets, sorting->offsets,
                              offsets * sizeof *order->offsets, error));
        GW_TRY(gw_device_stream_finish(stream, error));
    }
    return GW_OK;
}

static enum gw_status sort_on_host(struct gw_gpu_sketch_order *order, const struct gw_sketch *shape,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    size_t rows = shape->rows;
    struct sorting sorting = {.shape = shape, .lines = order->lines, .chunk = order->chunk};
    sorting.blocks = malloc(rows * order->chunk * sizeof *sorting.blocks);
    sorting.offsets = malloc(rows * (order->lines + 1) * sizeof *sorting.offsets);
    sorting.line_of = malloc(order->chunk * sizeof *sorting.line_of);
    sorting.next = malloc(order->lines * sizeof *sorting.next);
    enum gw_status status = GW_OK;
    if (sorting.blocks == NULL || sorting.offsets == NULL || sorting.line_of == NULL ||
        sorting.next == NULL) {
        status = gw_fail_memory(error, "putting a sketch's blocks in order");
    } else {
        status = sort_all(order, &sorting, stream, error);
    }
    free(sorting.blocks);
    free(sorting.offsets);
    free(sorting.line_of);
    free(sorting.next);
    return status;
}

static enum gw_status allocate(struct gw_gpu_sketch_order *order, size_t rows,
                               struct gw_error *error) {
    size_t blocks = count_blocks(order->n);
    size_t chunks = blocks / order->chunk + (blocks % order->chunk != 0);
    void *memory = NULL;
    GW_TRY(
        gw_device_allocate(order->device, rows * blocks * sizeof *order->blocks, &memory, error));
    order->blocks = memory;
    GW_TRY(gw_device_allocate(order->device,
                              chunks * rows * (order->lines + 1) * sizeof *order->offsets, &memory,
                              error));
    order->offsets = memory;
    return GW_OK;
}

enum gw_status gw_gpu_sketch_order_open(struct gw_gpu_sketch_order **out,
                                        const struct gw_sketch *shape, size_t n,
                                        struct gw_device_stream *stream, struct gw_error *error) {
    struct gw_gpu_sketch_order *order = calloc(1, sizeof *order);
    if (order == NULL) {
        return gw_fail_memory(error, "putting a sketch's blocks in order");
    }
    order->device = gw_device_stream_device(stream);
    order->n = n;
    order->lines = shape->columns / GW_SKETCH_BLOCK;
    order->chunk = chunk_of(order->lines, count_blocks(n));
    enum gw_status status = allocate(order, shape->rows, error);
    if (status == GW_OK) {
        status = sort_on_host(order, shape, stream, error);
    }
    if (status != GW_OK) {
        gw_gpu_sketch_order_close(order);
        return status;
    }
    *out = order;
    return GW_OK;
}

void gw_gpu_sketch_order_close(struct gw_gpu_sketch_order *order) {
    if (order != NULL) {
        gw_device_free(order->device, order->blocks);
        gw_device_free(order->device, order->offsets);
        free(order);
    }
}
