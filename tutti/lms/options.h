// Options of large model support.
//
// The names lms, lms_frac, swapout_threshold, swapin_ahead, swapin_groupby, sync_mode, autotune and autotune_plot and
// their meaning are those of IBM's LMS for Caffe and TensorFlow.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/core/options.h"

namespace tutti::lms {

// Order of the choices of the option `mode`.
enum class Mode { kAuto, kSwap, kRecompute, kFull, kOff };

const OptionTable& lms_options();

// Bytes of a tile by the value of the option `tiling`; 0: untiled. Throws ConfigError (DDL-1-02) if it is malformed.
std::int64_t tile_bytes_of(const std::string& tiling);

}  // namespace tutti::lms
