/* What a model and a cluster look like, however they came to be. */
#ifndef GW_REPORT_MADE_H
#define GW_REPORT_MADE_H

#include "report/report.h"

/* Its times and its largest tensors, for a person; or all of it as the document "gradweave/model@1"
 * is, without what nothing reads. */
void gw_print_model(const struct gw_model *model);
enum gw_status gw_print_model_document(const struct gw_model *model, struct gw_error *error);

/* What its collectives and compressors take, and how well that is known, for a person. */
void gw_print_cluster(const struct gw_cluster *cluster);

#endif
