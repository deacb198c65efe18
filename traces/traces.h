/* Includes all data that rooms exchange: models, clusters, plans, timelines, results. */
#ifndef GW_TRACES_TRACES_H
#define GW_TRACES_TRACES_H

#include "traces/accuracy.h"
#include "traces/cluster.h"
#include "traces/counts.h"
#include "traces/data.h"
#include "traces/gradients.h"
#include "traces/margins.h"
#include "traces/model.h"
#include "traces/paper_table.h"
#include "traces/plan.h"
#include "traces/result.h"
#include "traces/timeline.h"
#include "traces/validation.h"

#endif
