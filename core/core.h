/* The functions and types that every room uses. */
#ifndef GW_CORE_CORE_H
#define GW_CORE_CORE_H

#include "core/arena.h"
#include "core/clock.h"
#include "core/curve.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/fingerprint.h"
#include "core/halves.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "core/keys.h"
#include "core/log.h"
#include "core/names.h"
#include "core/noise.h"
#include "core/outputs.h"
#include "core/portable.h"
#include "core/random.h"
#include "core/regression.h"
#include "core/statistics.h"
#include "core/status.h"
#include "core/system.h"
#include "core/terminal.h"
#include "core/text.h"
#include "core/units.h"
#include "core/values.h"
#include "core/warm_up.h"

#endif
