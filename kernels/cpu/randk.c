/* Random-k: the same k indices on all workers, so that only values need to be sent. The indices are
 * the first k numbers of a pseudo-random permutation of the n; a bitmap sorts them. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic.h"
#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"

/* Looks for NaNs among the selected elements only. */
static enum gw_status select_randk(const struct gw_task *task, struct gw_selection *out,
                                   struct gw_error *error) {
    struct gw_permutation permutation =
        gw_permutation_of(task->n, gw_mix_pair(task->seed, task->iteration));
    size_t words = task->n / 64 + 1;
    GW_TRY(gw_accumulate(task, 0, task->n, error));
    GW_TRY(gw_selection_reserve(out, task->k, error));
    GW_TRY(gw_workspace_reserve(task->workspace, words * sizeof(uint64_t), error));
    uint64_t *marks = task->workspace->memory;
    memset(marks, 0, words * sizeof *marks);
    for (size_t place = 0; place < task->k; place++) {
        size_t index = (size_t)gw_permutation_at(&permutation, place);
        marks[index / 64] |= (uint64_t)1 << index % 64;
    }
    out->count = 0;
    for (size_t word = 0; word < words; word++) {
        for (uint64_t left = marks[word]; left != 0; left &= left - 1) {
            size_t index = word * 64 + (size_t)__builtin_ctzll(left);
            if (isnan(task->u[index])) {
                return gw_fail_nan(index, task->n, error);
            }
            out->entries[out->count++] =
                (struct gw_entry){.value = task->u[index], .index = (uint32_t)index};
        }
    }
    return GW_OK;
}

const struct gw_kernel gw_kernel_randk = {.select = select_randk};
