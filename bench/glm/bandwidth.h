// Measurement of the memory read bandwidth.
#pragma once

namespace tutti::bench {

// Returns the bytes per second with which all CPUs together read an array much larger than their caches; the maximum of
// several runs.
double read_bandwidth();

}  // namespace tutti::bench
