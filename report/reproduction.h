/* Prints and writes published tables beside gradweave's results. */
#ifndef GW_REPORT_REPRODUCTION_H
#define GW_REPORT_REPRODUCTION_H

#include "report/report.h"
#include "study/reproduction.h"

/* Prints the reproduction as text. */
void gw_print_reproduction(const struct gw_reproduction *reproduction);

/* Prints the cells of one or several as "gradweave/reproduction@1" with this `name`. */
enum gw_status gw_print_reproductions(const struct gw_reproduction *reproductions, size_t count,
                                      const char *name, struct gw_error *error);

#endif
