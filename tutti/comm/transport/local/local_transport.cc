#include "tutti/comm/transport/local/local_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "tutti/comm/transport/local/rendezvous.h"
#include "tutti/comm/transport/local/wire_oob_channel.h"
#include "tutti/comm/transport/shm/pipe.h"
#include "tutti/comm/transport/tcp/tcp_wire.h"
#include "tutti/os/environment.h"
#include "tutti/os/launcher_environment.h"

namespace tutti::comm {
namespace {

std::vector<int> ranks_of(const LocalJob& job) {
  std::vector<int> ranks(static_cast<std::size_t>(job.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Used for one host and for several; only the wires differ.
class RendezvousTransport : public Transport {
 public:
  RendezvousTransport(const LocalJob& job, Rendezvous rendezvous, std::unique_ptr<Wire> messages,
                      std::unique_ptr<Wire> oob_wire)
      : job_(job),
        rendezvous_(std::move(rendezvous)),
        messages_(std::move(messages)),
        oob_wire_(std::move(oob_wire)),
        oob_channel_(*oob_wire_, job.size) {}

  const char* name() const override { return has_pipes() ? "local" : "tcp"; }
  bool has_pipes() const override { return job_.master.empty(); }
  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  std::string host_name() const override { return os::host_name(); }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return messages_->send(peer, channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return messages_->receive(peer, channel, data, bytes);
  }
  std::uint64_t events() const override { return messages_->events(); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override {
    return messages_->wait(seen, nanoseconds);
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    return rendezvous_.exchange(mine);
  }
  std::optional<auth::Secret> secret() const override { return rendezvous_.secret(); }
  void notify(int peer, const std::string& text) override { oob_channel_.send(peer, text); }
  std::optional<OutOfBandMessage> next_oob_message() override { return oob_channel_.next(); }

 private:
  const LocalJob job_;
  Rendezvous rendezvous_;
  std::unique_ptr<Wire> messages_;
  std::unique_ptr<Wire> oob_wire_;
  WireOobChannel oob_channel_;
};

std::unique_ptr<Wire> connect_pipes(const LocalJob& job, Rendezvous& rendezvous) {
  auto pipes = std::make_unique<PipeSet>(job.rank, ranks_of(job));
  const MemoryHandle mine = pipes->handle();
  std::vector<MemoryHandle> handles;
  for (const std::string& text :
       rendezvous.exchange({reinterpret_cast<const char*>(&mine), sizeof mine})) {
    std::memcpy(&handles.emplace_back(), text.data(), sizeof mine);
  }
  pipes->connect(handles).throw_if_error();
  rendezvous.exchange("connected");  // a handle can be opened only while its rank is alive
  return pipes;
}

std::unique_ptr<Wire> connect_tcp(const LocalJob& job, Rendezvous& rendezvous,
                                  const std::string& interfaces, bool for_oob) {
  auto tcp = std::make_unique<TcpWire>(job.rank, rendezvous.secret(), interfaces);
  tcp->connect(rendezvous.exchange(tcp->offer()));
  if (!for_oob) return tcp;
  tcp->connect_to_all();  // the first message may be a failure notice
  rendezvous.exchange("connected");
  return tcp;
}

const char* text_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

bool is_loopback(const std::string& host) {
  return host.empty() || host == "localhost" || host.starts_with("127.") || host == "::1";
}

int rendezvous_port() {
  const int own = std::atoi(text_of("TUTTI_PORT"));
  const int port = own > 0 ? own : std::atoi(text_of("MASTER_PORT")) + 1;
  if (port > 1 && port < 65536) return port;
  throw ConfigError("DDL-6-25",
                    "the job has several hosts but no rendezvous port: set MASTER_ADDR and "
                    "MASTER_PORT as torchrun does, or start it with ddlrun or mpirun.");
}

}  // namespace

LocalJob local_job_from_environment() {
  const os::JobEnvironment found = os::find_job();
  if (found.kind == os::JobKind::kMpi) {
    throw ConfigError("DDL-6-25", fmt::format("{} started this job: use MPI.", found.launcher));
  }
  const std::string local_size = text_of("LOCAL_WORLD_SIZE"), master = text_of("MASTER_ADDR");
  const std::string job = text_of("TUTTI_JOB"), port = text_of("MASTER_PORT");
  LocalJob local{.rank = found.rank,
                 .size = found.size,
                 .id = !job.empty()    ? job
                       : !port.empty() ? port
                                       : "0",
                 .secret = auth::Secret::from_environment()};
  const bool is_one_host =
      local_size.empty() ? is_loopback(master) : local_size == std::to_string(found.size);
  if (is_one_host || found.size == 1) return local;
  if (master.empty()) {
    throw ConfigError(
        "DDL-6-25",
        fmt::format("WORLD_SIZE={} but LOCAL_WORLD_SIZE={}: ranks of several hosts rendezvous at "
                    "MASTER_ADDR and MASTER_PORT. Set them, or start the job "
                    "with ddlrun or mpirun.",
                    found.size, local_size));
  }
  local.master = master;
  local.port = rendezvous_port();
  return local;
}

std::unique_ptr<Transport> start_local(const LocalJob& job, const std::string& interfaces) {
  if (job.size < 1 || job.rank < 0 || job.rank >= job.size) {
    throw ConfigError("DDL-6-15", fmt::format("rank {} of {}: ranks count from 0 to one less than "
                                              "their number.",
                                              job.rank, job.size));
  }
  Rendezvous rendezvous(job);
  const auto connect = [&](bool for_oob) {
    return job.master.empty() ? connect_pipes(job, rendezvous)
                              : connect_tcp(job, rendezvous, interfaces, for_oob);
  };
  auto messages = connect(false);
  auto oob_wire = connect(true);
  return std::make_unique<RendezvousTransport>(job, std::move(rendezvous), std::move(messages),
                                               std::move(oob_wire));
}

}  // namespace tutti::comm
