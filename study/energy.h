/* Energy of gradients, the sum of their squares, that compressors keep. */
#ifndef GW_STUDY_ENERGY_H
#define GW_STUDY_ENERGY_H

#include "methods/methods.h"

/*
 * Finds the share of a bell-shaped gradient's energy that one worker sends in one iteration,
 * without a residual; to 1%, within milliseconds. Compressors with thresholds get the one that
 * selects as many elements as asked for. Codes keep all but the energy of their rounding.
 */
enum gw_status gw_energy_kept(const struct gw_compressor *compressor, double density, double *share,
                              struct gw_error *error);

#endif
