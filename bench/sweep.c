/* Speed of sweeps: points that one core answers in a second of its own time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "study/grid.h"

/* Seconds for which a grid is answered again and again. */
static const double enough_s = 2;

/* ResNet-50 by all pipelines on clusters that ship. */
static const struct row {
    const char *title;
    const char *cluster, *workers, *density, *bandwidth;
} rows[] = {
    {"box-4x1gbit, by growth laws", "box-4x1gbit", "2:64:log6", "1e-4:1e-1:log8", "0.1x:10x:log3"},
    {"box-4x1gbit, as measured", "box-4x1gbit", "2,3,4", "1e-4:1e-1:log16", "0.1x:10x:log3"},
    {"p102-1gbe-16", "p102-1gbe-16", "2:64:log6", "1e-4:1e-1:log24", "0.1x:10x:log3"},
};

static enum gw_status measure_row(const struct row *row, struct gw_error *error) {
    const struct gw_grid_request request = {.texts = {[GW_AXIS_MODEL] = "resnet50",
                                                      [GW_AXIS_CLUSTER] = row->cluster,
                                                      [GW_AXIS_WORKERS] = row->workers,
                                                      [GW_AXIS_DENSITY] = row->density,
                                                      [GW_AXIS_BANDWIDTH] = row->bandwidth}};
    struct gw_grid grid = {0};
    struct gw_prediction *prediction = calloc(1, sizeof *prediction);
    enum gw_status status = prediction == NULL ? gw_fail_memory(error, "sweeping")
                                               : gw_grid_open(&request, &grid, error);
    clock_t start = clock();
    double seconds = 0;
    uint64_t done = 0;
    while (status == GW_OK && seconds < enough_s) {
        for (uint64_t i = 0; i < grid.point_count; i++) {
            struct gw_point point = gw_grid_point(&grid, i);
            gw_point_predict(&grid, &point, prediction);
        }
        done += grid.point_count;
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    if (status == GW_OK) {
        printf("| %s | %llu | %.0f |\n", row->title, (unsigned long long)grid.point_count,
               (double)done / seconds);
    }
    gw_grid_close(&grid);
    free(prediction);
    return status;
}

int main(void) {
    struct gw_error error;
    printf("| cluster | points of the grid | points a second |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (measure_row(&rows[i], &error) != GW_OK) {
            (void)fprintf(stderr, "sweep: %s\n", error.message);
            return GW_FAILED;
        }
    }
    return GW_OK;
}
