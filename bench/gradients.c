/* How long gradients take to make: gradients [ELEMENTS], of each shape, the best of three. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernels.h"

int main(int argc, char **argv) {
    size_t elements = argc > 1 ? strtoull(argv[1], NULL, 10) : 25000000;
    float *out = calloc(elements, sizeof *out);
    if (out == NULL || elements == 0) {
        (void)fprintf(stderr, "gradients: expected a number of elements that memory can hold\n");
        return GW_BAD_INPUT;
    }
    for (int d = -1; d < GW_SHAPES; d++) {
        const struct gw_gradients_spec spec = {.shape = (enum gw_shape)(d < 0 ? 0 : d),
                                               .scale = 1e-3,
                                               .freedom = 2,
                                               .drift = 1,
                                               .sizes = &elements,
                                               .tensor_count = 1};
        struct gw_gradients *gradients = NULL;
        enum gw_status status = gw_gradients_open(&gradients, &spec, NULL);
        double best_s = INFINITY;
        for (uint32_t t = 0; status == GW_OK && t < 3; t++) {
            double start_s = gw_clock_now_s();
            if (d < 0) {
                status = gw_gradient_fill(out, elements, 1e-3, 1, t, NULL);
            } else {
                gw_gradients_fill(gradients, t, out);
            }
            best_s = fmin(best_s, gw_clock_now_s() - start_s);
        }
        printf("%-20s %.3f s, %.1f ns an element\n", d < 0 ? "normal, by GSL" : gw_shape_names[d],
               best_s, 1e9 * best_s / (double)elements);
        gw_gradients_close(gradients);
    }
    free(out);
    return 0;
}
