/* Where the data that ships with gradweave lies: models, clusters, published tables, gnuplot
 * scripts. */
#ifndef GW_TRACES_DATA_H
#define GW_TRACES_DATA_H

#include "core/core.h"

enum gw_data_kind { GW_DATA_MODELS, GW_DATA_CLUSTERS, GW_DATA_TABLES, GW_DATA_PLOTS };

/*
 * The folder of one kind (the caller's to free): below $GRADWEAVE_DATA if that is set, otherwise
 * as installed with the program or library that holds this code, otherwise in the source tree that
 * it was built from.
 */
enum gw_status gw_data_folder(enum gw_data_kind kind, char **folder, struct gw_error *error);

/* The file for what a user wrote: a path, or the name of data that ships ("resnet50"). */
enum gw_status gw_data_resolve(enum gw_data_kind kind, const char *name, char **path,
                               struct gw_error *error);

/* The names of what ships, sorted (both the array and the names are the caller's to free). */
enum gw_status gw_data_list(enum gw_data_kind kind, char ***names, size_t *count,
                            struct gw_error *error);

#endif
