/*
 * Codes of numbers: all elements of a gradient travel, in fewer bits (struct gw_code of a
 * compressor). The functions here are the host's; those of either memory are in kernels/memory.h.
 * On a host and on a GPU, with every instruction set and number of threads, codes, residuals and
 * sums are the same, bit for bit.
 *
 * A payload holds the codes of a vector, little-endian and without gaps, gw_code_bytes() in all:
 *
 *     bf16, fp16   2 bytes an element
 *     int8, fp8    a scale for each block of 256 elements; then 1 byte an element: an integer of
 *                  -127 to 127, or a float of 4 bits of exponent and 3 of mantissa (e4m3, largest
 *                  448), in units of the block's scale
 *     qsgd         a scale for each block of 512 elements; then 4 bits an element, those of the
 *                  even one first: 0 to 7 scales, and 8 for a negative number
 *     onebit       a scale; then 1 bit an element, that of the first one in bit 0: set in a
 *                  negative number (-0 is one), which stands for -scale, others for scale
 *
 * Scales stand first, so that they are aligned in a payload that is aligned to 4 bytes.
 *
 * bf16, fp16 round to the nearest, a tie to the even one, as PyTorch's hooks do; fp16 keeps
 * infinities, and makes them of numbers from 65520 on. int8, fp8: a scale is the largest magnitude
 * of the block over 127 or 448, and a code the nearest to u / scale; then u minus the decoded
 * number is exact (Sterbenz), so what is sent plus what stays is the accumulated vector, bit for
 * bit, but for the sign of a zero. onebit: the scale is the mean magnitude; the residual is
 * rounded. qsgd: the scale is a seventh of the largest magnitude (the paper's practical variant, in
 * place of a norm), and a ratio between two levels goes to one of them by lot, so that its mean is
 * the ratio, within 2^-24; there is no residual.
 */
#ifndef GW_KERNELS_CODES_H
#define GW_KERNELS_CODES_H

#include "kernels/kernels.h"

/* Payloads next to each other, of as many elements each. */
struct gw_codes {
    const struct gw_compressor *compressor; /* that has a code */
    size_t payloads, elements;              /* number of payloads; elements of each */
    void *bytes;                            /* [payloads * gw_code_bytes(compressor, elements)],
                                             * aligned to 4 */
};

/*
 * Encodes a vector of task->n <= payloads * elements into payloads, one after the other; the bits
 * of elements after its end are 0. With a residual the vector is task->u, to which task->gradient
 * is added first, and if `takes`, what was encoded is subtracted from u then. Without one it is
 * task->gradient if there is one, and u otherwise, and stays as it is. Reads the task's n, seed,
 * iteration, worker (qsgd), threads and workspace.
 *
 * GW_BAD_INPUT names the first NaN and, with scales, the first infinity, also of a sum u +
 * gradient; u is then of no use.
 */
enum gw_status gw_encode(const struct gw_task *task, bool takes, const struct gw_codes *out,
                         struct gw_error *error);

/* out[0..n) = what n <= payloads * elements of the codes stand for. */
void gw_decode(const struct gw_codes *codes, size_t n, size_t threads, float *out);

/* out[0..n) = what the elements from `first` on stand for, first + n <= payloads * elements; by
 * this thread. */
void gw_decode_range(const struct gw_codes *codes, size_t first, size_t n, float *out);

/*
 * sums[0..n) += what the first n <= elements of each payload stand for, the first payload's first:
 * ranks that hold the same payloads have the same sums, bit for bit.
 */
void gw_decode_add(const struct gw_codes *codes, size_t n, size_t threads, float *sums);

/* Codes of values, a NaN's too, and values of codes, of a type of halves. */
void gw_halves_encode(enum gw_number_type type, const float *values, size_t count, uint16_t *out);
void gw_halves_decode(enum gw_number_type type, const uint16_t *codes, size_t count, float *out);

#endif
