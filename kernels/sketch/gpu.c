/* The host's part of sketches on a GPU, and the order of the GPU's work. */
#include "kernels/sketch/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "kernels/arithmetic.h"
#include "kernels/gpu/parts.h"
#include "kernels/sketch/loops.h"

/*
 * CHUNK: 16 MiB of coordinates, so that a few chunks fit into the L2 cache of GPUs from the A100
 * on. MIN_PER_LINE: with fewer blocks in a line, reading coordinates again costs less than reading
 * the lines again.
 */
enum { CHUNK = 1 << 18, MIN_PER_LINE = 8 };

static size_t count_blocks(size_t n) {
    return n / GW_SKETCH_BLOCK + (n % GW_SKETCH_BLOCK != 0);
}

/* ---- the order of blocks: one row of a chunk ----------------------------------------------- */

struct sorting {
    const struct gw_sketch *shape;
    size_t lines;
    size_t chunk;      /* maximum number of blocks */
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

/* ---- the order of blocks: all chunks ------------------------------------------------------- */

/* Sorts all chunks, one after the other, in the same arrays of the host. */
static enum gw_status sort_chunks(struct gw_gpu_sketch_order *order, const struct sorting *sorting,
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
    struct gw_arena arena = {0};
    size_t rows = shape->rows;
    const struct sorting sorting = {
        .shape = shape,
        .lines = order->lines,
        .chunk = order->chunk,
        .blocks = gw_arena_zeros(&arena, rows * order->chunk, sizeof *sorting.blocks),
        .offsets = gw_arena_zeros(&arena, rows * (order->lines + 1), sizeof *sorting.offsets),
        .line_of = gw_arena_zeros(&arena, order->chunk, sizeof *sorting.line_of),
        .next = gw_arena_zeros(&arena, order->lines, sizeof *sorting.next)};
    enum gw_status status = gw_arena_check(&arena, "putting a sketch's blocks in order", error);
    status = status == GW_OK ? sort_chunks(order, &sorting, stream, error) : status;
    gw_arena_free(&arena);
    return status;
}

static enum gw_status allocate_order(struct gw_gpu_sketch_order *order, size_t rows,
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

static void close_order(struct gw_gpu_sketch_order *order) {
    if (order != NULL) {
        gw_device_free(order->device, order->blocks);
        gw_device_free(order->device, order->offsets);
        free(order);
    }
}

static enum gw_status open_order(struct gw_gpu_sketch_order **out, const struct gw_sketch *shape,
                                 size_t n, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    struct gw_gpu_sketch_order *order = calloc(1, sizeof *order);
    if (order == NULL) {
        return gw_fail_memory(error, "putting a sketch's blocks in order");
    }
    order->device = gw_device_stream_device(stream);
    order->n = n;
    order->lines = shape->columns / GW_SKETCH_BLOCK;
    size_t blocks = count_blocks(n);
    size_t chunk = MIN_PER_LINE * order->lines > CHUNK ? MIN_PER_LINE * order->lines : CHUNK;
    order->chunk = chunk < blocks || blocks == 0 ? chunk : blocks;
    enum gw_status status = allocate_order(order, shape->rows, error);
    if (status == GW_OK) {
        status = sort_on_host(order, shape, stream, error);
    }
    if (status != GW_OK) {
        close_order(order);
        return status;
    }
    *out = order;
    return GW_OK;
}

/* ---- a sketch's life ----------------------------------------------------------------------- */

static size_t count_cells(const struct gw_gpu_sketch *sketch) {
    return sketch->shape.rows * sketch->shape.columns;
}

enum gw_status gw_gpu_sketch_open(struct gw_gpu_sketch *out, struct gw_device *device, size_t rows,
                                  size_t columns, uint64_t seed, struct gw_error *error) {
    void *table = NULL;
    *out = (struct gw_gpu_sketch){.device = device};
    GW_TRY(gw_sketch_check(rows, columns, error));
    out->shape = (struct gw_sketch){.rows = rows, .columns = columns, .seed = seed};
    GW_TRY(gw_device_allocate(device, count_cells(out) * sizeof *out->table, &table, error));
    out->table = table;
    return GW_OK;
}

void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch) {
    close_order(sketch->order);
    if (sketch->device != NULL) {
        gw_device_free(sketch->device, sketch->table);
    }
    *sketch = (struct gw_gpu_sketch){0};
}

enum gw_status gw_gpu_sketch_clear(struct gw_gpu_sketch *sketch, struct gw_device_stream *stream,
                                   struct gw_error *error) {
    return gw_device_clear(stream, sketch->table, count_cells(sketch) * sizeof *sketch->table,
                           error);
}

/* ---- encoding ------------------------------------------------------------------------------ */

enum gw_status gw_gpu_sketch_prepare(struct gw_gpu_sketch *sketch, size_t n,
                                     struct gw_device_stream *stream, struct gw_error *error) {
    if (sketch->order != NULL && sketch->order->n == n) {
        return GW_OK;
    }
    close_order(sketch->order);
    sketch->order = NULL;
    return open_order(&sketch->order, &sketch->shape, n, stream, error);
}

enum gw_status gw_gpu_sketch_put(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                 size_t n, uint64_t *first_nan, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    const struct gw_memory memory = {.stream = stream};
    GW_TRY(gw_gpu_sketch_prepare(sketch, n, stream, error));
    size_t chunk = sketch->order->chunk * GW_SKETCH_BLOCK;
    for (size_t first = 0, c = 0; first < n; first += chunk, c++) {
        size_t count = n - first < chunk ? n - first : chunk;
        if (gradient != NULL) {
            GW_TRY(gw_memory_on_gpu.add(&memory, u + first, gradient + first, 1, count, error));
        }
        GW_TRY(gw_gpu_sketch_add_chunk(sketch, c, u, first_nan, stream, error));
    }
    return GW_OK;
}

enum gw_status gw_gpu_sketch_encode(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                    size_t n, struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace, struct gw_error *error) {
    GW_TRY(gw_gpu_workspace_reserve(workspace, sizeof(uint64_t), error));
    GW_TRY(gw_gpu_workspace_reserve_host(workspace, sizeof(uint64_t), error));
    uint64_t *first_nan = workspace->memory;
    uint64_t *on_host = workspace->host;
    *on_host = UINT64_MAX;
    GW_TRY(gw_device_copy(stream, first_nan, on_host, sizeof *on_host, error));
    GW_TRY(gw_gpu_sketch_put(sketch, u, gradient, n, first_nan, stream, error));
    GW_TRY(gw_device_copy(stream, on_host, first_nan, sizeof *on_host, error));
    GW_TRY(gw_device_stream_finish(stream, error));
    return *on_host == UINT64_MAX ? GW_OK : gw_sketch_fail_nan((size_t)*on_host, error);
}

/* ---- HEAVYMIX ------------------------------------------------------------------------------ */

/* Scratch memory of a query that may find up to `capacity` heavy hitters. */
struct query {
    size_t capacity, words;
    uint64_t *count;
    int32_t *threshold;
    uint64_t *table; /* of the rows, as parts of the table */
    double *squares; /* [rows] */
    double *partial;
    uint32_t *marks, *counts;
    uint32_t *indices;        /* [capacity] */
    uint32_t *ranks;          /* [k] */
    struct gw_entry *entries; /* [capacity] */
    struct gw_entry *kept;    /* [k] */
    uint64_t *count_on_host, *table_on_host;
};

/* Returns the next piece of memory, aligned for all of them; NULL while only sizes are added up. */
static void *take_piece(char *memory, size_t *used, size_t bytes) {
    enum { ALIGNMENT = 256 };
    size_t at = *used;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return memory == NULL ? NULL : memory + at;
}

static size_t lay_out_query(struct query *query, char *memory, const struct gw_sketch *shape,
                            size_t n, size_t k, size_t capacity) {
    size_t used = 0;
    size_t segments = shape->rows * gw_gpu_sum_segments(shape->columns);
    query->capacity = capacity;
    query->words = gw_gpu_marks_words(n);
    query->count = take_piece(memory, &used, sizeof *query->count);
    query->threshold = take_piece(memory, &used, sizeof *query->threshold);
    query->table =
        take_piece(memory, &used, gw_gpu_parts_words(shape->rows) * sizeof *query->table);
    query->squares = take_piece(memory, &used, shape->rows * sizeof *query->squares);
    query->partial = take_piece(memory, &used, segments * sizeof *query->partial);
    query->marks = take_piece(memory, &used, query->words * sizeof *query->marks);
    query->counts =
        take_piece(memory, &used, gw_gpu_marks_counts(query->words) * sizeof *query->counts);
    query->indices = take_piece(memory, &used, capacity * sizeof *query->indices);
    query->ranks = take_piece(memory, &used, k * sizeof *query->ranks);
    query->entries = take_piece(memory, &used, capacity * sizeof *query->entries);
    query->kept = take_piece(memory, &used, k * sizeof *query->kept);
    return used;
}

static enum gw_status reserve_query(struct gw_gpu_workspace *workspace,
                                    const struct gw_sketch *shape, size_t n, size_t k,
                                    size_t capacity, struct query *query, struct gw_error *error) {
    size_t on_host = (1 + gw_gpu_parts_words(shape->rows)) * sizeof(uint64_t);
    GW_TRY(gw_gpu_workspace_reserve(workspace, lay_out_query(query, NULL, shape, n, k, capacity),
                                    error));
    GW_TRY(gw_gpu_workspace_reserve_host(workspace, on_host, error));
    (void)lay_out_query(query, workspace->memory, shape, n, k, capacity);
    query->count_on_host = workspace->host;
    query->table_on_host = query->count_on_host + 1;
    return GW_OK;
}

/* Lists the heavy hitters. Waits for their number. */
static enum gw_status find_heavy(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                 const struct query *query, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    size_t rows = sketch->shape.rows;
    size_t sizes[GW_SKETCH_ROWS_LIMIT];
    for (size_t row = 0; row < rows; row++) {
        sizes[row] = sketch->shape.columns;
    }
    struct gw_gpu_parts parts = gw_gpu_parts_of(sizes, rows, query->table_on_host, query->table);
    GW_TRY(gw_device_copy(stream, query->table, query->table_on_host,
                          gw_gpu_parts_words(rows) * sizeof *query->table, error));
    GW_TRY(
        gw_gpu_sum_squares(sketch->table, &parts, query->partial, query->squares, stream, error));
    GW_TRY(gw_gpu_sketch_threshold(sketch, query->squares, k, query->threshold, stream, error));
    GW_TRY(gw_gpu_sketch_mark(sketch, n, query->threshold, query->marks, stream, error));
    GW_TRY(gw_gpu_marks_list(query->marks, query->words, query->counts, query->capacity,
                             query->indices, query->count, stream, error));
    GW_TRY(gw_device_copy(stream, query->count_on_host, query->count, sizeof *query->count_on_host,
                          error));
    return gw_device_stream_finish(stream, error);
}

/* Fills up fewer than k heavy hitters with random coordinates, whose marks replace theirs. */
static enum gw_status add_random(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                 size_t heavy, uint64_t iteration, const struct query *query,
                                 uint32_t *indices, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    struct gw_permutation permutation =
        gw_permutation_of(n - heavy, gw_mix_pair(sketch->shape.seed, iteration));
    size_t others = k - heavy;
    GW_TRY(gw_device_clear(stream, query->marks, query->words * sizeof *query->marks, error));
    GW_TRY(gw_gpu_marks_draw(&permutation, others, query->marks, stream, error));
    GW_TRY(gw_gpu_marks_list(query->marks, query->words, query->counts, others, query->ranks,
                             query->count, stream, error));
    return gw_gpu_sketch_mix(query->indices, heavy, query->ranks, others, indices, stream, error);
}

/* Keeps the k largest of more than k heavy hitters. */
static enum gw_status keep_heaviest(const struct gw_gpu_sketch *sketch, size_t k,
                                    const struct query *query, uint32_t *indices,
                                    struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace, struct gw_error *error) {
    const struct gw_memory memory = {.stream = stream};
    GW_TRY(gw_gpu_sketch_list(sketch, query->indices, query->count, query->capacity, query->entries,
                              stream, error));
    GW_TRY(gw_gpu_keep_largest(query->entries, query->count, query->capacity, k, query->kept,
                               stream, workspace, error));
    return gw_memory_on_gpu.list_indices(&memory, query->kept, k, indices, error);
}

enum gw_status gw_gpu_sketch_heavymix(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                      uint64_t iteration, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace, uint32_t *indices,
                                      size_t *heavy, struct gw_error *error) {
    struct query query;
    size_t expected = 2 * k + 4096; /* suffices in most cases; estimates have errors */
    expected = expected < n ? expected : n;
    GW_TRY(reserve_query(workspace, &sketch->shape, n, k, expected, &query, error));
    GW_TRY(find_heavy(sketch, n, k, &query, stream, error));
    if (*query.count_on_host > query.capacity) {
        GW_TRY(reserve_query(workspace, &sketch->shape, n, k, (size_t)*query.count_on_host, &query,
                             error));
        GW_TRY(find_heavy(sketch, n, k, &query, stream, error));
    }
    size_t found = (size_t)*query.count_on_host;
    if (heavy != NULL) {
        *heavy = found < k ? found : k;
    }
    return found > k ? keep_heaviest(sketch, k, &query, indices, stream, workspace, error)
                     : add_random(sketch, n, k, found, iteration, &query, indices, stream, error);
}
