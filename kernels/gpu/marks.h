/* Marks on a GPU, a bit for each element, and the marked ones in order; private to kernels/. */
#ifndef GW_KERNELS_GPU_MARKS_H
#define GW_KERNELS_GPU_MARKS_H

#include "kernels/arithmetic.h"
#include "kernels/gpu.h"

/* 32-bit words of n marks: element i is bit i mod 32 of word i / 32, and what is behind them 0. */
size_t gw_gpu_marks_words(size_t n);

/* Numbers that putting so many words in order takes. */
size_t gw_gpu_marks_counts(size_t words);

/*
 * *count = how many are marked; indices[i] = the i-th of them, i < capacity. All memory is of the
 * GPU, words aligned to 16 bytes; `counts` is [gw_gpu_marks_counts()], for its use.
 */
enum gw_status gw_gpu_marks_list(const uint32_t *marks, size_t words, uint32_t *counts,
                                 size_t capacity, uint32_t *indices, uint64_t *count,
                                 struct gw_device_stream *stream, struct gw_error *error);

/* Marks, where none are, the first k numbers of a permutation. */
enum gw_status gw_gpu_marks_draw(const struct gw_permutation *permutation, size_t k,
                                 uint32_t *marks, struct gw_device_stream *stream,
                                 struct gw_error *error);

#endif
