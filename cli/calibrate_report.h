/* What calibrate says at its end. */
#ifndef GW_CLI_CALIBRATE_REPORT_H
#define GW_CLI_CALIBRATE_REPORT_H

#include "calibrate/calibrate.h"

/*
 * Tables of the curves and LogGP parameters, of growth laws and overlap factors if there are, and
 * what to doubt. `document` is the cluster's, as it was written to the file `out`. No line has more
 * than 100 columns, but for names that are long.
 */
void gw_calibrate_print(const struct gw_cluster *cluster, const cJSON *document,
                        const struct gw_calibration *calibration, const char *out);

/* Parts of it, each after an empty line, and nothing where the document has nothing. */
void gw_calibrate_print_growth(const cJSON *document);
void gw_calibrate_print_overlap(const cJSON *document);
void gw_calibrate_print_warnings(const cJSON *document);

#endif
