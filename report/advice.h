/* What to do about a network on a cluster, on one screen. */
#ifndef GW_REPORT_ADVICE_H
#define GW_REPORT_ADVICE_H

#include "report/report.h"
#include "study/advice.h"

/* For a person, or as the document "gradweave/advice@1"; `price` of a worker's hour, or 0. */
enum gw_status gw_print_advice(const struct gw_advice *advice, double price, bool json,
                               struct gw_error *error);

/* The pipeline in that place by its name, and by its plan where that is not its own. Returns `out`.
 */
enum { GW_ADVICE_NAME_SIZE = 96 };
const char *gw_advice_name(const struct gw_advice *advice, size_t place,
                           char out[GW_ADVICE_NAME_SIZE]);

/* The document's members, into one that is being written. */
void gw_advice_write(const struct gw_advice *advice, double price, struct gw_json_writer *writer);

#endif
