/* Exchanges of codes: all elements travel, in fewer bits (kernels/codes.h). */
#include "exec/exchange.h"
#include "kernels/codes.h"

/* ---- codes of a group ---------------------------------------------------------------------- */

/* So many payloads, of as many elements each, at `bytes`. */
static struct gw_codes codes_at(const struct gw_group_state *group, void *bytes, size_t payloads,
                                size_t elements) {
    return (struct gw_codes){.compressor = group->compressor,
                             .payloads = payloads,
                             .elements = elements,
                             .bytes = bytes};
}

static size_t bytes_of_codes(const struct gw_group_state *group, size_t elements) {
    return (size_t)gw_code_bytes(group->compressor, elements);
}

static size_t part_elements(const struct gw_worker *worker, const struct gw_group_state *group) {
    return (size_t)gw_part_elements(group->slice->size.elements, worker->workers);
}

static enum gw_status start_codes(struct gw_worker *worker, struct gw_group_state *group,
                                  size_t payloads, size_t elements, struct gw_error *error) {
    const struct gw_task task = gw_worker_task(worker, group);
    const struct gw_codes codes = codes_at(group, group->sent.memory, payloads, elements);
    return worker->compute.does->encode(&worker->compute, &task, true, &codes, &group->selection,
                                        error);
}

static enum gw_status start_whole(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    return start_codes(worker, group, 1, group->slice->size.elements, error);
}

static enum gw_status start_parts(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    return start_codes(worker, group, worker->workers, part_elements(worker, group), error);
}

/* Waits for a GPU's codes, which can be refused. */
static enum gw_status finish_codes(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const struct gw_codes codes = {.compressor = group->compressor};
    return memory->does->finish_encode(memory, &codes, &group->selection, error);
}

/* Decodes the aggregate. Results of a trainer on the host are decoded when they are delivered, in
 * place of copies of it. */
static enum gw_status decode_aggregate(struct gw_worker *worker, struct gw_group_state *group,
                                       const struct gw_codes *codes, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    group->written = GW_WRITTEN_ALL;
    if (memory->stream == NULL && worker->vectors.noise == NULL) {
        group->aggregate_codes = *codes;
        return GW_OK;
    }
    return memory->does->decode(memory, codes, group->slice->size.elements, 1, false,
                                gw_worker_aggregate(worker, group), error);
}

static const struct gw_compression compress_whole = {
    .start = start_whole, .pack = finish_codes, .preset = start_whole};
static const struct gw_compression compress_parts = {
    .start = start_parts, .pack = finish_codes, .preset = start_parts};

/* ---- halves -------------------------------------------------------------------------------- */

/* One allreduce sums numbers of 16 bits, and rounds each sum. */

static enum gw_status prepare_halves(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = bytes_of_codes(group, group->slice->size.elements);
    return gw_group_reserve(worker, group, bytes, bytes, error);
}

static enum gw_status sum_halves(struct gw_worker *worker, struct gw_group_state *group,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t n = group->slice->size.elements;
    enum gw_number_type type =
        group->compressor == &gw_compressor_bf16 ? GW_NUMBER_BF16 : GW_NUMBER_FP16;
    const struct gw_codes sums = codes_at(group, group->received.memory, 1, n);
    *bytes = bytes_of_codes(group, n);
    GW_TRY(gw_allreduce(worker->communicator, type, group->sent.memory, group->received.memory, n,
                        error));
    return decode_aggregate(worker, group, &sums, error);
}

/* ---- two phases ---------------------------------------------------------------------------- */

/*
 * Each worker gets the codes of its part from all, sums them as floats, and encodes the sums, which
 * an allgather brings to all. What the codes of the sums do not say stays with the part's owner, if
 * the compressor keeps residuals (Tang et al., 1-bit Adam, 2021, Algorithm 1, line 8). Parts have
 * scales of their own and are equally long, so that the alltoall sends P times the codes of a part;
 * costs and reported bytes are those of all elements' codes, at most 5 (P - 1) bytes fewer.
 */

static enum gw_status prepare_parts(struct gw_worker *worker, struct gw_group_state *group,
                                    struct gw_error *error) {
    size_t part = part_elements(worker, group);
    size_t bytes = worker->workers * bytes_of_codes(group, part);
    GW_TRY(gw_group_reserve(worker, group, bytes, bytes, error));
    return gw_buffer_reserve(&group->merged, &worker->exchange, part * sizeof(float), error);
}

/* Elements of this worker's part: none, if others hold all. */
static size_t own_elements(const struct gw_worker *worker, const struct gw_group_state *group) {
    size_t n = group->slice->size.elements;
    size_t part = part_elements(worker, group);
    size_t first = worker->rank * part;
    return first >= n ? 0 : n - first < part ? n - first : part;
}

static enum gw_status encode_sums(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    struct gw_memory *memory = &worker->exchange;
    struct gw_task task = gw_worker_task(worker, group);
    const struct gw_codes codes =
        codes_at(group, group->sent.memory, 1, part_elements(worker, group));
    task.n = own_elements(worker, group);
    task.gradient = group->merged.memory;
    task.u = worker->vectors.residual + group->first_of_sums;
    task.seed = gw_random_mix(group->seed);
    GW_TRY(memory->does->encode(memory, &task, true, &codes, &group->selection, error));
    return memory->does->finish_encode(memory, &codes, &group->selection, error);
}

static enum gw_status sum_parts(struct gw_worker *worker, struct gw_group_state *group,
                                uint64_t *bytes, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t part = part_elements(worker, group);
    const struct gw_codes came = codes_at(group, group->received.memory, worker->workers, part);
    float *sums = group->merged.memory;
    *bytes = bytes_of_codes(group, group->slice->size.elements);
    GW_TRY(gw_alltoall(worker->communicator, group->sent.memory, bytes_of_codes(group, part),
                       group->received.memory, error));
    GW_TRY(memory->does->clear(memory, sums, part * sizeof *sums, error));
    GW_TRY(memory->does->decode(memory, &came, own_elements(worker, group), 1, true, sums, error));
    return encode_sums(worker, group, error);
}

static enum gw_status gather_parts(struct gw_worker *worker, struct gw_group_state *group,
                                   uint64_t *bytes, struct gw_error *error) {
    size_t part = part_elements(worker, group);
    const struct gw_codes came = codes_at(group, group->received.memory, worker->workers, part);
    *bytes = bytes_of_codes(group, part);
    GW_TRY(gw_allgather(worker->communicator, group->sent.memory, *bytes, group->received.memory,
                        error));
    return decode_aggregate(worker, group, &came, error);
}

/* ---- codes of all to all ------------------------------------------------------------------- */

static enum gw_status prepare_whole(struct gw_worker *worker, struct gw_group_state *group,
                                    struct gw_error *error) {
    size_t bytes = bytes_of_codes(group, group->slice->size.elements);
    return gw_group_reserve(worker, group, bytes, worker->workers * bytes, error);
}

static enum gw_status gather_whole(struct gw_worker *worker, struct gw_group_state *group,
                                   uint64_t *bytes, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t n = group->slice->size.elements;
    const struct gw_codes came = codes_at(group, group->received.memory, worker->workers, n);
    float *aggregate = gw_worker_aggregate(worker, group);
    *bytes = bytes_of_codes(group, n);
    group->written = GW_WRITTEN_ALL;
    GW_TRY(gw_allgather(worker->communicator, group->sent.memory, *bytes, group->received.memory,
                        error));
    GW_TRY(memory->does->clear(memory, aggregate, n * sizeof *aggregate, error));
    return memory->does->decode(memory, &came, n, 1, true, aggregate, error);
}

/* ---- legs ---------------------------------------------------------------------------------- */

const struct gw_leg_runner gw_code_legs[] = {
    {.payload = GW_CODES,
     .collective = "allreduce",
     .compression = &compress_whole,
     .prepare = prepare_halves,
     .run = sum_halves},
    {.payload = GW_CODES,
     .collective = "alltoall",
     .compression = &compress_parts,
     .prepare = prepare_parts,
     .run = sum_parts},
    {.payload = GW_CODES_PART, .collective = "allgather", .run = gather_parts},
    {.payload = GW_CODES,
     .collective = "allgather",
     .compression = &compress_whole,
     .prepare = prepare_whole,
     .run = gather_whole},
    {0},
};
