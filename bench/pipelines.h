/* gradweave's own schedules for ResNet-50, on a cluster of any size. */
#ifndef GW_BENCH_PIPELINES_H
#define GW_BENCH_PIPELINES_H

#include "methods/schedule.h"
#include "traces/traces.h"

/* A cluster that ships, whose nodes have one worker each; its network is 10 Gb/s and 5 us. */
struct bench_pipeline {
    struct gw_model model;
    struct gw_cluster cluster;
    struct gw_network network;
    struct gw_plan plan;
    struct gw_schedule schedule;
};

/* Groups are those that the algorithm's policy makes for `workers`. */
enum gw_status bench_pipeline_open(struct bench_pipeline *out, const char *algorithm,
                                   size_t workers, struct gw_error *error);
void bench_pipeline_close(struct bench_pipeline *pipeline);

#endif
