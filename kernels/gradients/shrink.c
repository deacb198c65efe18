/* Groups of a reduced size, which represent whole ones (kernels/gradients/emulation.h). */
#include <math.h>

#include "core/arena.h"
#include "kernels/gradients/emulation.h"

static double clamp(double x, double low, double high) {
    return fmin(fmax(x, low), high);
}

/*
 * Divides the elements among the tensors in proportion, each with at least one; they add up to all.
 */
static void share_elements(const struct gw_slice *slice, const size_t *layers,
                           struct gw_shrunk *out) {
    double share = (double)out->elements / (double)slice->size.elements;
    double end = 0;
    double taken = 0;
    for (size_t i = 0; i < slice->size.tensors; i++) {
        end += (double)layers[slice->first_layer + i];
        double others = (double)(slice->size.tensors - i - 1);
        double place = clamp(round(end * share), taken + 1, (double)out->elements - others);
        out->layers[i] = (size_t)(place - taken);
        taken = place;
    }
}

enum gw_status gw_shrink(const struct gw_slice *slice, const size_t *layers, double reduction,
                         size_t least_kept, struct gw_arena *arena, struct gw_shrunk *out,
                         struct gw_error *error) {
    double n = (double)slice->size.elements;
    double k = (double)slice->kept;
    double kept = clamp(round(k / reduction), fmin((double)least_kept, k), k);
    double elements = clamp(round(n * kept / k), (double)slice->size.tensors, n);
    *out = (struct gw_shrunk){.elements = (size_t)elements,
                              .kept = (size_t)fmax(1, round(elements * k / n)),
                              .layers =
                                  gw_arena_zeros(arena, slice->size.tensors, sizeof *out->layers)};
    GW_TRY(gw_arena_check(arena, "emulation", error));
    share_elements(slice, layers, out);
    return GW_OK;
}

uint64_t gw_grown_count(const struct gw_slice *slice, const struct gw_shrunk *shrunk,
                        size_t count) {
    if (count <= shrunk->kept) {
        return (uint64_t)round((double)count * (double)slice->kept / (double)shrunk->kept);
    }
    double share = (double)(count - shrunk->kept) / (double)(shrunk->elements - shrunk->kept);
    return slice->kept + (uint64_t)round(share * (double)(slice->size.elements - slice->kept));
}
