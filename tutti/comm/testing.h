// Thread-ranks for the tests of communicators.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// Options for tests: no measurements and no files, then those of `text`.
inline Options test_options(const std::string& text = "") {
  Options options(comm_options());
  options.set("tune_seconds", "0");
  options.set("tuning_cache", "none");
  options.set("run_folder", "none");
  apply_option_string(options, text);
  return options;
}

// Host name of each rank: {2, 1} puts ranks 0 and 1 on host0 and rank 2 on host1. `round_robin`: one rank per host in
// turn.
inline std::vector<std::string> host_names(const std::vector<int>& ranks_per_host,
                                           bool round_robin = false) {
  std::vector<std::string> names;
  std::vector<int> left = ranks_per_host;
  const auto name = [](std::size_t host) { return "host" + std::to_string(host); };
  if (!round_robin) {
    for (std::size_t h = 0; h < left.size(); ++h) names.insert(names.end(), left[h], name(h));
    return names;
  }
  for (bool any = true; any;) {
    any = false;
    for (std::size_t h = 0; h < left.size(); ++h) {
      if (left[h]-- <= 0) continue;
      names.push_back(name(h));
      any = true;
    }
  }
  return names;
}

// Runs `body` with a communicator on every thread-rank.
inline void run_ranks(const std::vector<std::string>& hosts,
                      const std::function<void(Communicator&)>& body,
                      const Options& options = test_options()) {
  ThreadWorld world(static_cast<int>(hosts.size()), hosts);
  world.run([&](Transport& transport) {
    const auto communicator = Communicator::create(world.transport(transport.rank()), options);
    body(*communicator);
  });
}

}  // namespace tutti::comm
