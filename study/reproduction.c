#include "study/reproduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "study/predict.h"
#include "study/scenario.h"

/* ---- one number ------------------------------------------------------------------------------ */

/* The mean over all iterations that are counted. */
static enum gw_status emulate_row(const struct gw_paper_row *row,
                                  const struct gw_scenario *scenario,
                                  const struct gw_algorithm *algorithm, enum gw_quantity quantity,
                                  double *out, struct gw_error *error) {
    const struct gw_gradient_emulation settings = {.model = scenario->model->name,
                                                   .algorithm = algorithm->name,
                                                   .density = scenario->density,
                                                   .warmup = row->warm_up,
                                                   .iterations = row->iterations,
                                                   .decay = row->decay,
                                                   .elements = row->elements,
                                                   .seed = 1,
                                                   .threads = gw_cores()};
    struct gw_pipeline pipeline;
    struct gw_counts counts = {0};
    GW_TRY(gw_pipeline_open(scenario, algorithm, NULL, &pipeline, error));
    enum gw_status status = gw_emulate_gradients(&pipeline.schedule, &settings, &counts, error);
    double sum = 0;
    for (size_t i = 0; i < row->iterations && status == GW_OK; i++) {
        sum += quantity == GW_QUANTITY_DENSITY ? gw_counts_density(&counts, i) / scenario->density
                                               : gw_counts_padding(&counts, i);
    }
    *out = sum / (double)row->iterations;
    gw_counts_free(&counts);
    gw_pipeline_close(&pipeline);
    return status;
}

static double quantity_of(enum gw_quantity quantity, const struct gw_result *result,
                          double samples) {
    switch (quantity) {
    case GW_QUANTITY_GROUPS:
        return (double)result->groups;
    case GW_QUANTITY_COMPUTE_S:
        return result->breakdown.forward_s + result->breakdown.backward_s;
    case GW_QUANTITY_COMPRESS_S:
        return result->breakdown.compress_s;
    case GW_QUANTITY_EXPOSED_S:
        return result->breakdown.exposed_comm_s;
    case GW_QUANTITY_COMMUNICATION_S:
        return result->comm_s;
    case GW_QUANTITY_SAMPLES_PER_S:
        return samples * (double)result->workers / result->iteration_s;
    default:
        return result->iteration_s;
    }
}

static enum gw_status find_value(const struct gw_paper_row *row,
                                 const struct gw_paper_column *column,
                                 const struct gw_scenario *scenario, double *out,
                                 struct gw_error *error) {
    const struct gw_choice_changes changes = {.policy = column->policy,
                                              .compressor = column->compressor};
    const struct gw_prediction_options options = {0};
    const struct gw_algorithm *preset = NULL;
    struct gw_algorithm algorithm;
    struct gw_result result;
    GW_TRY(gw_algorithm_find(column->algorithm, &preset, error));
    GW_TRY(gw_algorithm_change(preset, &changes, &algorithm, error));
    if (column->quantity == GW_QUANTITY_DENSITY || column->quantity == GW_QUANTITY_PADDING) {
        return emulate_row(row, scenario, &algorithm, column->quantity, out, error);
    }
    GW_TRY(gw_predict(scenario, &algorithm, &options, &result, error));
    *out = quantity_of(column->quantity, &result, row->samples);
    return GW_OK;
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* A model or a cluster that the table has, or that ships. */
static enum gw_status open_scenario(const struct gw_paper_row *row, struct gw_scenario *out,
                                    struct gw_error *error) {
    const struct gw_scenario_options asked = {.density = row->density, .workers = row->workers};
    const struct gw_json *model = &row->model;
    const struct gw_json *cluster = &row->cluster;
    struct gw_scenario_inputs read;
    GW_TRY(cJSON_IsString(model->node)
               ? gw_model_open(model->node->valuestring, &read.model, error)
               : gw_fields_decode(&gw_model_fields, model->node, model->file, &read.model, error));
    enum gw_status status = cJSON_IsString(cluster->node)
                                ? gw_cluster_open(cluster->node->valuestring, &read.cluster, error)
                                : gw_fields_decode(&gw_cluster_fields, cluster->node, cluster->file,
                                                   &read.cluster, error);
    if (status != GW_OK) {
        gw_model_free(&read.model);
        return status;
    }
    return gw_scenario_ask(&asked, read.model, read.cluster, out, error);
}

/* Whether the row has a published number in the column, or in a ratio of it. */
static bool is_needed(const struct gw_paper_table *table, const struct gw_paper_row *row,
                      size_t column) {
    bool needed = row->cells[column].is_there;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct gw_paper_column *other = &table->columns[i];
        bool is_part = other->quantity == GW_QUANTITY_RATIO &&
                       (other->over == column || other->under == column);
        needed = needed || (is_part && row->cells[i].is_there);
    }
    return needed;
}

static enum gw_status find_row(struct gw_reproduction *found, size_t number,
                               const struct gw_scenario *scenario, struct gw_error *error) {
    const struct gw_paper_table *table = &found->table;
    const struct gw_paper_row *row = &table->rows[number];
    struct gw_reproduced_cell *cells = &found->cells[number * table->column_count];
    for (size_t i = 0; i < table->column_count; i++) {
        const struct gw_paper_column *column = &table->columns[i];
        cells[i] = (struct gw_reproduced_cell){
            .value = NAN, .error = NAN, .fitted = row->cells[i].fitted != NULL};
        if (!is_needed(table, row, i)) {
            continue;
        }
        if (column->quantity == GW_QUANTITY_RATIO) {
            cells[i].value = cells[column->over].value / cells[column->under].value;
            cells[i].fitted =
                cells[i].fitted || cells[column->over].fitted || cells[column->under].fitted;
        } else {
            GW_TRY(find_value(row, column, scenario, &cells[i].value, error));
        }
        const struct gw_paper_cell *published = &row->cells[i];
        if (published->is_there) {
            cells[i].error = cells[i].value / published->published - 1;
            cells[i].claimed = !isnan(published->least) || !isnan(published->most);
            cells[i].holds =
                !(cells[i].value < published->least) && !(cells[i].value > published->most);
        }
    }
    return GW_OK;
}

/* ---- how well -------------------------------------------------------------------------------- */

static void count_cell(struct gw_reproduction *found, const struct gw_reproduced_cell *cell) {
    if (cell->claimed) {
        found->claims++;
        found->holding += cell->holds;
    }
    if (isnan(cell->error) || cell->fitted) {
        return;
    }
    double off = fabs(cell->error);
    found->unfitted++;
    found->within_10 += off <= 0.1;
    found->within_20 += off <= 0.2;
    found->mean_error += off;
    found->largest_error = fmax(found->largest_error, off);
}

/* Compares every two numbers of a row that are of one quantity. */
static void count_pairs(struct gw_reproduction *found, size_t number) {
    const struct gw_paper_table *table = &found->table;
    const struct gw_paper_cell *published = table->rows[number].cells;
    const struct gw_reproduced_cell *cells = &found->cells[number * table->column_count];
    for (size_t i = 0; i < table->column_count; i++) {
        for (size_t k = 0; k < i; k++) {
            bool alike = table->columns[i].quantity == table->columns[k].quantity &&
                         table->columns[i].quantity != GW_QUANTITY_RATIO;
            bool known = !isnan(cells[i].error) && !isnan(cells[k].error) && !cells[i].fitted &&
                         !cells[k].fitted;
            double apart = published[i].published - published[k].published;
            if (alike && known && fabs(apart) > 0) {
                found->pairs++;
                found->ordered += (cells[i].value - cells[k].value) * apart > 0;
            }
        }
    }
}

enum gw_status gw_reproduce(const char *name, struct gw_reproduction *out, struct gw_error *error) {
    const struct gw_paper_table *table = &out->table;
    *out = (struct gw_reproduction){0};
    GW_TRY(gw_data_open(GW_DATA_TABLES, name, &out->table, error));
    out->cells =
        gw_arena_zeros(&out->arena, table->row_count * table->column_count + 1, sizeof *out->cells);
    GW_TRY(gw_arena_check(&out->arena, "reproducing a table", error));
    for (size_t i = 0; i < table->row_count; i++) {
        struct gw_scenario scenario;
        GW_TRY(open_scenario(&table->rows[i], &scenario, error));
        enum gw_status status = find_row(out, i, &scenario, error);
        gw_scenario_close(&scenario);
        GW_TRY(status);
        for (size_t k = 0; k < table->column_count; k++) {
            count_cell(out, &out->cells[i * table->column_count + k]);
        }
        count_pairs(out, i);
    }
    out->mean_error /= out->unfitted > 0 ? (double)out->unfitted : 1;
    return GW_OK;
}

void gw_reproduction_free(struct gw_reproduction *reproduction) {
    gw_paper_table_free(&reproduction->table);
    gw_arena_free(&reproduction->arena);
}
