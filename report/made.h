/* What a model and a cluster look like, however they came to be. */
#ifndef GW_REPORT_MADE_H
#define GW_REPORT_MADE_H

#include "report/report.h"

/* Its times and its largest tensors, for a person. */
void gw_print_model(const struct gw_model *model);

/* What its collectives and compressors take, and how well that is known, for a person. */
void gw_print_cluster(const struct gw_cluster *cluster);

#endif
