/*
 * Stream compaction in one pass: blocks take tiles in order, count the marks of each, learn the
 * counts of the tiles before (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled
 * Look-back, 2016), and write in ascending order. Private to kernels/.
 */
#ifndef GW_KERNELS_GPU_TILES_CUH
#define GW_KERNELS_GPU_TILES_CUH

#include "kernels/gpu/kernels.cuh"

/* A tile: each warp has ROWS adjacent rows of 128 items; of each row, a thread has 4. Bit 4 r + i
 * of a thread's marks is for item i of its four in row r. */
template <int ROWS> struct gw_gpu_tile {
    static constexpr int of_row = 4 * GW_GPU_WARP;
    static constexpr int items = ROWS * of_row * GW_GPU_WARPS;

    /* The place in the tile of the thread's first item of a row. */
    static __device__ int place(int row) {
        int warp = (int)threadIdx.x / GW_GPU_WARP;
        int lane = (int)threadIdx.x % GW_GPU_WARP;
        return (warp * ROWS + row) * of_row + 4 * lane;
    }
};

/*
 * Published counts of tiles: [2 chains each], in workspace->tiles, of this epoch or an earlier one.
 */
struct gw_gpu_chain {
    unsigned long long *words;
    unsigned long long epoch;
    gw_gpu_control *control;
};

/* ---- look-back ----------------------------------------------------------------------------- */

/* A word: the epoch, whether the count is of that tile only or of all up to it, and the count. */
enum { GW_GPU_COUNT_BITS = 32, GW_GPU_EPOCH_SHIFT = 34 };
static constexpr unsigned long long GW_GPU_OF_TILE = 1ull << GW_GPU_COUNT_BITS;
static constexpr unsigned long long GW_GPU_OF_ALL = 2ull << GW_GPU_COUNT_BITS;

static __device__ inline void gw_gpu_publish(const gw_gpu_chain &chain, int64_t tile, int which,
                                             unsigned long long what, uint32_t count) {
    atomicExch(chain.words + 2 * tile + which, chain.epoch << GW_GPU_EPOCH_SHIFT | what | count);
}

/* Waits for a tile's word. Tickets are given in order, so the tiles before are being worked on or
 * done. */
static __device__ inline unsigned long long gw_gpu_await(const gw_gpu_chain &chain, int64_t tile,
                                                         int which) {
    const unsigned long long *word = chain.words + 2 * tile + which;
    unsigned long long found = gw_load_now(word);
    while (found >> GW_GPU_EPOCH_SHIFT != chain.epoch) {
        found = gw_load_now(word);
    }
    return found;
}

/* The number of marks in the tiles before. One warp calls it. */
static __device__ inline uint32_t gw_gpu_look_back(const gw_gpu_chain &chain, int64_t tile,
                                                   int which) {
    int lane = (int)threadIdx.x % GW_GPU_WARP;
    uint32_t before = 0;
    for (int64_t from = tile - 1;; from -= GW_GPU_WARP) {
        unsigned long long word =
            from >= lane ? gw_gpu_await(chain, from - lane, which) : GW_GPU_OF_ALL;
        unsigned complete = __ballot_sync(GW_GPU_ALL_LANES, (word & GW_GPU_OF_ALL) != 0);
        int nearest = complete == 0 ? GW_GPU_WARP : __ffs((int)complete) - 1;
        before += __reduce_add_sync(GW_GPU_ALL_LANES, lane <= nearest ? (uint32_t)word : 0u);
        if (complete != 0) {
            return before;
        }
    }
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* Marks before a thread's own: in its row, one byte for each row; totals of its warp's rows. */
struct gw_gpu_ranks {
    uint32_t even, odd; /* rows 0, 2, 4, 6 and 1, 3, 5, 7, the lowest byte first */
    uint32_t even_totals, odd_totals;
    uint32_t begin; /* marks in tiles and warps before */
};

static __device__ inline uint32_t gw_gpu_sum_bytes(uint32_t bytes) {
    uint32_t pairs = (bytes & 0x00ff00ffu) + (bytes >> 8 & 0x00ff00ffu);
    return (pairs & 0xffffu) + (pairs >> 16);
}

/* Ranks within the warp; returns its number of marks. A row has at most 128, so bytes suffice. */
static __device__ inline uint32_t gw_gpu_rank_warp(uint32_t marks, gw_gpu_ranks *ranks) {
    uint32_t pairs = marks - (marks >> 1 & 0x55555555u);
    uint32_t rows = (pairs & 0x33333333u) + (pairs >> 2 & 0x33333333u);
    uint32_t even = rows & 0x0f0f0f0fu;
    uint32_t odd = rows >> 4 & 0x0f0f0f0fu;
    ranks->even = even;
    ranks->odd = odd;
    ranks->even_totals = ranks->odd_totals = 0;
    if (__any_sync(GW_GPU_ALL_LANES, marks != 0) == 0) {
        return 0;
    }
    int lane = (int)threadIdx.x % GW_GPU_WARP;
    for (int by = 1; by < GW_GPU_WARP; by *= 2) {
        uint32_t more_even = __shfl_up_sync(GW_GPU_ALL_LANES, ranks->even, (unsigned)by);
        uint32_t more_odd = __shfl_up_sync(GW_GPU_ALL_LANES, ranks->odd, (unsigned)by);
        ranks->even += lane >= by ? more_even : 0;
        ranks->odd += lane >= by ? more_odd : 0;
    }
    ranks->even_totals = __shfl_sync(GW_GPU_ALL_LANES, ranks->even, GW_GPU_WARP - 1);
    ranks->odd_totals = __shfl_sync(GW_GPU_ALL_LANES, ranks->odd, GW_GPU_WARP - 1);
    ranks->even -= even;
    ranks->odd -= odd;
    return gw_gpu_sum_bytes(ranks->even_totals) + gw_gpu_sum_bytes(ranks->odd_totals);
}

/*
 * Ranks among all tiles; returns the number of marks of all tiles up to this one. All threads of a
 * block call it, and may call it again at once: each barrier separates reads before it from stores
 * after it.
 */
static __device__ inline uint32_t gw_gpu_rank(uint32_t marks, const gw_gpu_chain &chain,
                                              int64_t tile, int which, gw_gpu_ranks *ranks) {
    __shared__ uint32_t of_warps[GW_GPU_WARPS];
    __shared__ uint32_t before;
    int warp = (int)threadIdx.x / GW_GPU_WARP;
    uint32_t own = gw_gpu_rank_warp(marks, ranks);
    if (threadIdx.x % GW_GPU_WARP == 0) {
        of_warps[warp] = own;
    }
    __syncthreads();
    uint32_t total = 0;
    uint32_t earlier = 0;
    for (int i = 0; i < GW_GPU_WARPS; i++) {
        earlier += i < warp ? of_warps[i] : 0;
        total += of_warps[i];
    }
    if (warp == 0) {
        if (threadIdx.x == 0) {
            gw_gpu_publish(chain, tile, which, tile == 0 ? GW_GPU_OF_ALL : GW_GPU_OF_TILE, total);
        }
        uint32_t found = tile == 0 ? 0 : gw_gpu_look_back(chain, tile, which);
        if (threadIdx.x == 0) {
            gw_gpu_publish(chain, tile, which, GW_GPU_OF_ALL, found + total);
            before = found;
        }
    }
    __syncthreads();
    ranks->begin = before + earlier;
    uint32_t end = before + total;
    return end;
}

/* ---- sweeping ------------------------------------------------------------------------------ */

/* Selects magnitudes from one on; of equal ones only the first `ties`, unless all. */
struct gw_gpu_cut {
    int32_t magnitude;
    bool all_ties;
    uint32_t ties;
};

struct gw_gpu_entries {
    gw_entry *entries;
    uint64_t capacity; /* entries beyond are only counted */
};

/* Writes a thread's marked items of a tile to their places. */
template <int ROWS, class Source>
static __device__ void gw_gpu_write(const Source &source, int64_t tile, uint32_t above,
                                    uint32_t equal, gw_gpu_ranks higher, gw_gpu_ranks tied,
                                    uint32_t ties, const gw_gpu_entries &out) {
    uint32_t marks = above | equal;
    if (marks == 0) {
        return;
    }
    for (int row = 0; row < ROWS; row++) {
        int shift = row / 2 * 8;
        uint32_t place = higher.begin + ((row % 2 == 0 ? higher.even : higher.odd) >> shift & 255u);
        uint32_t tie = tied.begin + ((row % 2 == 0 ? tied.even : tied.odd) >> shift & 255u);
        bool any = (marks >> (4 * row) & 15u) != 0;
        for (int item = 0; any && item < 4; item++) {
            uint32_t bit = 1u << (4 * row + item);
            bool taken = (above & bit) != 0 || ((equal & bit) != 0 && tie < ties);
            uint64_t to = (uint64_t)place + (tie < ties ? tie : ties);
            if (taken && to < out.capacity) {
                out.entries[to] = source.entry(tile, gw_gpu_tile<ROWS>::place(row) + item);
            }
            place += (above & bit) != 0;
            tie += (equal & bit) != 0;
        }
        higher.begin += (row % 2 == 0 ? higher.even_totals : higher.odd_totals) >> shift & 255u;
        tied.begin += (row % 2 == 0 ? tied.even_totals : tied.odd_totals) >> shift & 255u;
    }
}

/*
 * Writes the items that reach the cut to `out`, and their number to chain.control->found. All
 * threads of all blocks call it. Source::load gives the magnitudes of a thread's items of a tile,
 * -1 where there is no item; Source::entry an entry by its place in the tile.
 */
template <int ROWS, class Source>
static __device__ void gw_gpu_sweep(Source &source, int64_t tiles, const gw_gpu_cut &cut,
                                    const gw_gpu_chain &chain, const gw_gpu_entries &out) {
    __shared__ int64_t turn;
    for (;;) {
        if (threadIdx.x == 0) {
            turn = (int64_t)atomicAdd(&chain.control->tickets, 1u);
        }
        __syncthreads();
        int64_t tile = turn;
        if (tile >= tiles) {
            return;
        }
        int32_t magnitudes[4 * ROWS];
        source.load(tile, magnitudes);
        uint32_t above = 0;
        uint32_t equal = 0;
#pragma unroll
        for (int i = 0; i < 4 * ROWS; i++) {
            above |= magnitudes[i] >= cut.magnitude ? 1u << i : 0;
        }
        gw_gpu_ranks tied = {0, 0, 0, 0, 0};
        gw_gpu_ranks higher;
        uint32_t ties = 0;
        if (!cut.all_ties) {
#pragma unroll
            for (int i = 0; i < 4 * ROWS; i++) {
                equal |= magnitudes[i] == cut.magnitude ? 1u << i : 0;
            }
            above &= ~equal;
            uint32_t equals = gw_gpu_rank(equal, chain, tile, 1, &tied);
            ties = equals < cut.ties ? equals : cut.ties;
        }
        uint32_t end = gw_gpu_rank(above, chain, tile, 0, &higher);
        if (tile == tiles - 1 && threadIdx.x == 0) {
            chain.control->found = (unsigned long long)end + ties;
        }
        gw_gpu_write<ROWS>(source, tile, above, equal, higher, tied, cut.all_ties ? 0 : cut.ties,
                           out);
    }
}

/* Resets control for the next sweep. One thread of the last block calls it at the end. */
static __device__ inline void gw_gpu_end_sweep(gw_gpu_control *control, int64_t tiles) {
    control->tickets = 0;
    control->found = tiles > 0 ? __ldcg(&control->found) : 0;
}

#endif
