#include <stdlib.h>

#include "cli/plot.h"

enum gw_status gw_plot_kind_calibration(const struct gw_plot_options *options,
                                        struct gw_error *error) {
    char *path = NULL;
    struct gw_cluster cluster;
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, options->subject, &path, error));
    enum gw_status status = gw_cluster_read(path, &cluster, error);
    free(path);
    GW_TRY(status);
    status = gw_plot_calibration(&cluster, options->out, options->data, error);
    gw_cluster_free(&cluster);
    return status;
}
