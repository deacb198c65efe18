/* Prints models and clusters, measured or made. */
#ifndef GW_REPORT_MADE_H
#define GW_REPORT_MADE_H

#include "report/report.h"

/* Prints the model's times and its largest tensors. */
void gw_print_model(const struct gw_model *model);

/* Prints the times of the cluster's collectives and compressors, with their margins. */
void gw_print_cluster(const struct gw_cluster *cluster);

#endif
