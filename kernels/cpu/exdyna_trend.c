/*
 * ExDyna with a threshold that does not drift (kernels/exdyna_state.h, gw_exdyna_track): the
 * published rule ends at an edge of its band of 10%, or outside while scales shrink.
 */
#include "kernels/exdyna.h"

extern const struct gw_compressor gw_compressor_exdyna_trend;

const struct gw_compressor gw_compressor_exdyna_trend = {
    .name = "exdyna-trend",
    .title = "ExDyna, with a threshold that follows the trend of scales",
    .paper = "this project, after Yoon and Oh, 2024",
    .joint = true,
    .select = gw_exdyna_select,
    .reference = gw_exdyna_select_reference,
    .open = gw_exdyna_open,
    .close = gw_exdyna_close,
    .observe = gw_exdyna_observe_trend,
};
