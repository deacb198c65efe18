/* Energy of gradients, the sum of their squares, that compressors keep. */
#ifndef GW_STUDY_ENERGY_H
#define GW_STUDY_ENERGY_H

#include "methods/methods.h"
#include "traces/gradients.h"
#include "traces/traces.h"

/*
 * Finds the share of a bell-shaped gradient's energy that one worker sends in one iteration,
 * without a residual; to 1%, within milliseconds. Compressors with thresholds get the one that
 * selects as many elements as asked for. Codes keep all but the energy of their rounding. NAN for
 * factors, of which no sample without shapes tells.
 */
enum gw_status gw_energy_kept(const struct gw_compressor *compressor, double density, double *share,
                              struct gw_error *error);

/*
 * Finds the share of the whole gradient's energy that each tensor loses if it goes that way: lost
 * [tensors]. By recorded gradients a tensor has the energy of its samples by all workers in the
 * last iterations, of which the compressor keeps what it selects; without any (NULL) every tensor
 * has as much of a bell-shaped gradient's energy as of its elements. Factors keep what they find in
 * matrices of which all elements were recorded; of others what they would of independent numbers:
 * little, at least as much of a gradient's.
 */
enum gw_status gw_energy_lost(const struct gw_model *model, const struct gw_way *way,
                              const struct gw_recorded_gradients *recorded, double *lost,
                              struct gw_error *error);

#endif
