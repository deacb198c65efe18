/* What measurements look like: of calibrate, of its check, of bench. */
#ifndef GW_REPORT_MEASUREMENTS_H
#define GW_REPORT_MEASUREMENTS_H

#include "calibrate/calibrate.h"
#include "report/report.h"

/*
 * Tables of the curves and LogGP parameters, of growth laws and overlap factors if there are, and
 * what to doubt. `document` is the cluster's, as it was written to the file `out`. No line has more
 * than 100 columns, but for names that are long.
 */
void gw_calibration_print(const struct gw_cluster *cluster, const cJSON *document,
                          const struct gw_calibration *calibration, const char *out);

/* Whether the cluster `name`, as it was asked for, is still as its file says. */
void gw_check_print(const struct gw_check *check, const char *name, double tolerance);
enum gw_status gw_check_print_json(const struct gw_check *check, const char *cluster,
                                   double tolerance, struct gw_error *error);

/* What bench was asked for. */
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
