/*
 * A paper's table or figure, and the way to compute its numbers: "schema": "gradweave/table@1"
 * (docs/files.md). A row asks a question, a column selects a figure of the answer, and a cell has
 * the published number.
 */
#ifndef GW_TRACES_PAPER_TABLE_H
#define GW_TRACES_PAPER_TABLE_H

#include "core/core.h"

/* The figure of an answer that a cell compares. */
enum gw_quantity {
    GW_QUANTITY_GROUPS,
    GW_QUANTITY_ITERATION_S,
    GW_QUANTITY_COMPUTE_S, /* forward and backward */
    GW_QUANTITY_COMPRESS_S,
    GW_QUANTITY_EXPOSED_S,
    GW_QUANTITY_COMMUNICATION_S,
    GW_QUANTITY_SAMPLES_PER_S, /* of all workers */
    GW_QUANTITY_DENSITY,       /* selected in training, over the density that was asked for */
    GW_QUANTITY_PADDING,       /* f(t) = P max k / sum k, in training */
    GW_QUANTITY_RATIO,         /* of two other columns */
    GW_QUANTITIES
};

struct gw_paper_column {
    char *name;
    enum gw_quantity quantity;
    char *algorithm, *policy, *compressor; /* these NULL: the algorithm's own */
    size_t over, under;                    /* of a ratio: the columns' numbers */
};

/* A published number, or the text's claim about it; all 0 if a table has none. */
struct gw_paper_cell {
    bool is_there;
    double published;   /* NAN: a figure that is drawn alone, or text */
    char *fitted;       /* name of the input fitted to it; NULL: none */
    double least, most; /* bounds that the text claims; NAN: none */
};

struct gw_paper_row {
    char *name;
    struct gw_json model, cluster; /* a name, or a document */
    double density, samples;       /* samples: of a worker in an iteration; 0: not said */
    size_t workers;                /* 0: the cluster's */
    /* Sizes of an emulated training; `elements` 0: there is none. */
    size_t elements, warm_up, iterations, decay;
    size_t cell_count;
    struct gw_paper_cell *cells; /* [column_count] */
};

/* The origin of a number: "published", "released" (with the paper's code), "measured", "fitted" or
 * "assumed". */
struct gw_paper_input {
    char *what, *origin;
};

struct gw_paper_table {
    cJSON *document; /* of which models and clusters are */
    char *path, *name, *title, *source, *unit;
    size_t column_count, row_count, input_count, note_count;
    struct gw_paper_column *columns;
    struct gw_paper_row *rows;
    struct gw_paper_input *inputs;
    char **notes;
};

GW_DOCUMENT(gw_paper_table)

#endif
