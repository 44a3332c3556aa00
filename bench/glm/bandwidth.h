// What reading memory can give at best.
#pragma once

namespace tutti::bench {

// Bytes per second with which all processors together read an array far larger than their caches;
// the best of several readings.
double read_bandwidth();

}  // namespace tutti::bench
