/* Prints and writes the results of calibrate, of its check and of bench. */
#ifndef GW_REPORT_MEASUREMENTS_H
#define GW_REPORT_MEASUREMENTS_H

#include "calibrate/calibrate.h"
#include "report/report.h"

/*
 * Prints tables of the curves and LogGP parameters, of growth laws and overlap factors if the
 * cluster has them, and warnings. `document` is the cluster's, as written to the file `out`. Lines
 * have at most 100 columns, except for long names.
 */
void gw_calibration_print(const struct gw_cluster *cluster, const cJSON *document,
                          const struct gw_calibration *calibration, const char *out);

/* Prints whether measured curves still agree with the file of the cluster `name`. */
void gw_check_print(const struct gw_check *check, const char *name, double tolerance);
enum gw_status gw_check_print_json(const struct gw_check *check, const char *cluster,
                                   double tolerance, struct gw_error *error);

/* The parameters of a bench run. */
struct gw_bench_request {
    const char *shape;
    size_t elements, threads, repeats;
    double density;
    const struct gw_gpu *gpu; /* NULL: the CPU */
};

void gw_bench_print(const struct gw_bench_request *request, const struct gw_bench_result *result);
enum gw_status gw_bench_print_json(const struct gw_bench_request *request,
                                   const struct gw_bench_result *result, struct gw_error *error);

#endif
