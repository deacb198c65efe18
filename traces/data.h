/* Finds data that ships: models, clusters, published tables, gnuplot scripts, trainings. */
#ifndef GW_TRACES_DATA_H
#define GW_TRACES_DATA_H

#include "core/core.h"

enum gw_data_kind { GW_DATA_MODELS, GW_DATA_CLUSTERS, GW_DATA_TABLES, GW_DATA_PLOTS, GW_DATA_ACCURACY };

/*
 * Finds the folder of one kind (the caller's to free): below $GRADWEAVE_DATA if set, else as
 * installed with the program or library that holds this code, else in its source tree.
 */
enum gw_status gw_data_folder(enum gw_data_kind kind, char **folder, struct gw_error *error);

/* Finds the file for a path, or for the name of data that ships ("resnet50"). */
enum gw_status gw_data_resolve(enum gw_data_kind kind, const char *name, char **path,
                               struct gw_error *error);

/* Reads that file into the gw_model, gw_cluster or gw_paper_table at `out`. */
enum gw_status gw_data_open(enum gw_data_kind kind, const char *name, void *out,
                            struct gw_error *error);

/* Lists the names of data that ships, sorted (array and names are the caller's to free). */
enum gw_status gw_data_list(enum gw_data_kind kind, char ***names, size_t *count,
                            struct gw_error *error);

/* The same of the JSON files in any folder, without their ending. */
enum gw_status gw_data_list_folder(const char *folder, char ***names, size_t *count,
                                   struct gw_error *error);

#endif
