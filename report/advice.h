/* Prints and writes advice on training a network on a cluster. */
#ifndef GW_REPORT_ADVICE_H
#define GW_REPORT_ADVICE_H

#include "report/report.h"
#include "study/advice.h"

/* Prints text, or (json) the document "gradweave/advice@1"; `price`: of a worker's hour, or 0. */
enum gw_status gw_print_advice(const struct gw_advice *advice, double price, bool json,
                               struct gw_error *error);

/* Formats a place's pipeline with its policy if that was changed. Returns `out`. */
enum { GW_ADVICE_NAME_SIZE = 96 };
const char *gw_advice_name(const struct gw_advice *advice, size_t place,
                           char out[GW_ADVICE_NAME_SIZE]);

/* Writes the members of the advice document into the writer's open object. */
void gw_advice_write(const struct gw_advice *advice, double price, struct gw_json_writer *writer);

#endif
