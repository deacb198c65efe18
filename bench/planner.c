/* How long the optimal plan takes to find, on random networks: planner [TENSORS...], default 161
 * and 1000. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/planner.h"

/* Sizes and times as real networks have them: many small tensors, a few that carry the weight. */
static void make_network(struct gw_random *random, struct gw_model *model) {
    double total_s = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        bool small = gw_random_below(random, 3) > 0;
        double elements = small ? (double)(UINT64_C(64) << gw_random_below(random, 6))
                                : 64 * pow(2.4e6 / 64, gw_random_uniform(random));
        model->tensors[i].elements = (uint64_t)elements;
        model->tensors[i].backward_s = gw_random_uniform(random) * (small ? 0.02 : 1);
        total_s += model->tensors[i].backward_s;
    }
    for (size_t i = 0; i < model->tensor_count; i++) {
        model->tensors[i].backward_s *= 0.12 * (double)model->tensor_count / 161 / total_s;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of five networks; *proven says whether all were solved. */
static double median_s(size_t tensor_count, double alpha_s, bool *proven) {
    enum { networks = 5 };
    double seconds[networks];
    struct gw_curve compress = {.per_nlog2n_s = 2.19e-10};
    struct gw_curve exchange = {.fixed_s = alpha_s, .per_unit_s = 2.72e-7};
    for (int i = 0; i < networks; i++) {
        struct gw_random *random = NULL;
        struct gw_error error = {0};
        struct gw_plan plan;
        struct gw_tensor *tensors = calloc(tensor_count, sizeof *tensors);
        struct gw_model model = {.name = (char[]){"random"},
                                 .bytes_per_element = 4,
                                 .forward_s = 0.06,
                                 .tensor_count = tensor_count,
                                 .tensors = tensors};
        struct gw_planning planning = {.model = &model,
                                       .workers = 16,
                                       .compressor = "topk",
                                       .density = 0.001,
                                       .compress = &compress,
                                       .exchange = &exchange};
        if (tensors == NULL || gw_random_open(&random, 1, (uint64_t)i, &error) != GW_OK) {
            exit(GW_FAILED);
        }
        make_network(random, &model);
        double started_s = gw_clock_now_s();
        if (gw_planner_plan(&planning, "optimal", &plan, &error) != GW_OK) {
            (void)fprintf(stderr, "planner: %s\n", error.message);
            exit(GW_FAILED);
        }
        seconds[i] = gw_clock_now_s() - started_s;
        *proven = *proven && plan.lower_bound_s == plan.iteration_s;
        gw_plan_free(&plan);
        gw_random_close(random);
        free(tensors);
    }
    qsort(seconds, networks, sizeof *seconds, by_value);
    return seconds[networks / 2];
}

int main(int argc, char **argv) {
    static const double alphas_s[] = {1e-5, 1e-3, 3e-3, 2e-2, 1e-1};
    static const size_t defaults[] = {161, 1000};
    size_t sizes = argc > 1 ? (size_t)argc - 1 : sizeof defaults / sizeof *defaults;
    printf("| tensors | alpha = 10 us | 1 ms | 3 ms | 20 ms | 100 ms |\n");
    for (size_t s = 0; s < sizes; s++) {
        size_t tensor_count = argc > 1 ? strtoull(argv[s + 1], NULL, 10) : defaults[s];
        printf("| %zu |", tensor_count);
        for (size_t a = 0; a < sizeof alphas_s / sizeof *alphas_s; a++) {
            bool proven = true;
            char text[GW_UNITS_SIZE];
            double seconds = median_s(tensor_count, alphas_s[a], &proven);
            printf(" %s%s |", gw_format_seconds(seconds, text), proven ? "" : " (cut short)");
            (void)fflush(stdout);
        }
        printf("\n");
    }
    return 0;
}
