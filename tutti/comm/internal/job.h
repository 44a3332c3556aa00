// State shared by all communicators of one process and job.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "tutti/comm/execution/planner.h"
#include "tutti/comm/faults/monitor.h"
#include "tutti/comm/faults/shutdown_barrier.h"
#include "tutti/comm/observe/flight_record.h"
#include "tutti/comm/observe/recorder.h"
#include "tutti/comm/transport/routes.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/options.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

struct Job {
  Job(std::shared_ptr<Transport> transport_, const Options& options_)
      : transport(std::move(transport_)),
        routes(*transport),
        options(options_),
        mode(mode_of(options)),
        recorder(options, flight, transport->rank(), transport->host_name()),
        monitor(*transport, recorder, options) {}

  std::shared_ptr<Transport> transport;
  Routes routes;
  Options options;
  const plan::Mode mode;
  std::optional<auth::Secret> secret;  // only with several hosts
  const std::shared_ptr<Arena> arena = std::make_shared<Arena>();
  FlightRecord flight;
  Recorder recorder;
  topo::LinkTable links;  // measured links; empty before the measurement
  // All members of a communicator use the same number; later communicators have higher numbers.
  std::atomic<int> next_communicator = 0;
  Monitor monitor;
  std::unique_ptr<ShutdownBarrier>
      shutdown_barrier;  // set when the communicator of all ranks is destroyed
};

}  // namespace tutti::comm
