/* From a scenario - a model on a cluster - to its answer: plans, predictions, rankings. */
#ifndef GW_STUDY_STUDY_H
#define GW_STUDY_STUDY_H

#include "study/plans.h"
#include "study/predict.h"
#include "study/rank.h"
#include "study/scenario.h"
#include "study/validate.h"

#endif
