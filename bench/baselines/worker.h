// Worker process of every measured system. A system implements Contender; serve() reads commands from its pipe, checks,
// measures and replies (bench/harness/worker_group.h is the other end).
//
//  measure <memory> <bytes> <warmup> <iterations> <batches>
//    Checks: fills the buffer with values that depend on rank and index, reduces, compares every
//    element on every rank.
//    Warms up: fills it with zeros, which stay zeros however often they are summed, and runs
//    <warmup> operations.
//    Measures: <batches> batches of <iterations> consecutive operations, with a barrier before
//    each. Replies "times" and the seconds per operation of each batch, or "error" and the
//    message.
//  quit
//
// Standard C++ and POSIX only: the MPI compilers build it without the rest of the project.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "bench/baselines/command_pipe.h"
#include "bench/baselines/contender.h"

namespace tutti::bench {
namespace detail {

// Integers small enough that sums over thousands of ranks are exact in f32 in any order; the prime period reveals a
// misplaced slice.
inline float value_at(std::size_t index, int factor) {
  return static_cast<float>((index % 1021 + 1) * static_cast<std::size_t>(factor));
}

inline void check(Contender& contender, float* data, std::size_t count) {
  const int ranks = contender.size();
  for (std::size_t i = 0; i < count; ++i) data[i] = value_at(i, contender.rank() % 5 + 1);
  int factor = 0;
  for (int rank = 0; rank < ranks; ++rank) factor += rank % 5 + 1;
  contender.all_reduce(data, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] == value_at(i, factor)) continue;
    std::ostringstream text;
    text << "wrong result on rank " << contender.rank() << ": element " << i << " of " << count
         << " is " << data[i] << ", not " << value_at(i, factor);
    throw std::runtime_error(text.str());
  }
}

inline std::string measure(Contender& contender, float* data, std::size_t count, int warmup,
                           int iterations, int batches) {
  using Clock = std::chrono::steady_clock;
  if (contender.reduces()) check(contender, data, count);
  std::memset(data, 0, count * sizeof(float));
  for (int i = 0; i < warmup; ++i) contender.all_reduce(data, count);
  std::ostringstream answer;
  answer << "times";
  for (int batch = 0; batch < batches; ++batch) {
    contender.barrier();
    auto start = Clock::now();
    for (int i = 0; i < iterations; ++i) contender.all_reduce(data, count);
    answer << ' ' << std::chrono::duration<double>(Clock::now() - start).count() / iterations;
  }
  return answer.str();
}

}  // namespace detail

// Serves commands until "quit". `folder` holds the pipes.
inline void serve(Contender& contender, const std::string& folder) {
  const std::string rank = std::to_string(contender.rank());
  CommandPipe commands(folder + "/command-" + rank);
  std::ofstream replies(folder + "/reply-" + rank);
  replies << "ready" << std::endl;
  struct Held {
    std::size_t bytes = 0;
    float* data = nullptr;
  };
  std::map<std::string, Held> buffers;
  for (std::string line; (line = commands.next()) != "quit";) {
    std::istringstream fields(line);
    std::string command, memory;
    std::size_t bytes = 0;
    int warmup = 0, iterations = 0, batches = 0;
    fields >> command >> memory >> bytes >> warmup >> iterations >> batches;
    try {
      if (!fields || command != "measure" || iterations < 1)
        throw std::invalid_argument("unknown: " + line);
      Held& held = buffers[memory];
      if (bytes != held.bytes) held = {bytes, contender.allocate(memory, bytes)};
      replies << detail::measure(contender, held.data, bytes / sizeof(float), warmup, iterations,
                                 batches)
              << std::endl;
    } catch (const std::exception& error) {
      replies << "error " << error.what() << std::endl;
    }
  }
}

}  // namespace tutti::bench
