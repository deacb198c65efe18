/* Messages between two ranks, whose times give LogGP parameters; private to this room. */
#ifndef GW_CALIBRATE_MESSAGES_H
#define GW_CALIBRATE_MESSAGES_H

#include "calibrate/calibrate.h"
#include "calibrate/report.h"

/* LogGP parameters, of one pair of ranks within a node and one between nodes, if there are such. */
enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

#endif
