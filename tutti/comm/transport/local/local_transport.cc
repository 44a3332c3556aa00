#include "tutti/comm/transport/local/local_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "tutti/comm/transport/local/meeting.h"
#include "tutti/comm/transport/local/pipe_notices.h"
#include "tutti/comm/transport/mpi/mpi_environment.h"

namespace tutti::comm {
namespace {

std::vector<int> ranks_of(const LocalJob& job) {
  std::vector<int> ranks(static_cast<std::size_t>(job.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(const LocalJob& job)
      : job_(job),
        meeting_(job),
        messages_(job.rank, ranks_of(job)),
        notices_(job.rank, ranks_of(job)) {
    messages_.connect(exchange_handle(messages_.handle())).raise();
    notices_.connect(exchange_handle(notices_.handle())).raise();
    meeting_.exchange("connected");  // handles open only while their rank lives
  }

  const char* name() const override { return "local"; }
  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  std::string host_name() const override {
    char host[HOST_NAME_MAX + 1] = "unknown";
    gethostname(host, sizeof host - 1);
    return host;
  }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return messages_.send(peer, channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return messages_.receive(peer, channel, data, bytes);
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    return meeting_.exchange(mine);
  }
  void notify(int peer, const std::string& text) override { notices_.send(peer, text); }
  std::optional<Notice> next_notice() override { return notices_.next(); }

 private:
  std::vector<MemoryHandle> exchange_handle(const MemoryHandle& mine) {
    std::vector<MemoryHandle> handles;
    for (const std::string& text :
         meeting_.exchange({reinterpret_cast<const char*>(&mine), sizeof mine})) {
      std::memcpy(&handles.emplace_back(), text.data(), sizeof mine);
    }
    return handles;
  }

  const LocalJob job_;
  Meeting meeting_;
  PipeSet messages_;
  PipeNotices notices_;
};

}  // namespace

LocalJob local_job_from_environment() {
  const JobEnvironment found = find_job();
  const char* const local_size = std::getenv("LOCAL_WORLD_SIZE");
  const char* const job = std::getenv("TUTTI_JOB");
  const char* const port = std::getenv("MASTER_PORT");
  if (found.kind == JobKind::kMpi) {
    throw ConfigError("DDL-6-25", fmt::format("{} started this job: use MPI.", found.launcher));
  }
  if (local_size && std::to_string(found.size) != local_size) {
    throw ConfigError("DDL-6-25",
                      fmt::format("WORLD_SIZE={} but LOCAL_WORLD_SIZE={}: ranks of several hosts "
                                  "need MPI. Start them with ddlrun or mpirun.",
                                  found.size, local_size));
  }
  return {found.rank, found.size, job ? job : port ? port : "0"};
}

std::unique_ptr<Transport> start_local(const LocalJob& job) {
  if (job.size < 1 || job.rank < 0 || job.rank >= job.size) {
    throw ConfigError("DDL-6-15", fmt::format("rank {} of {}: ranks count from 0 to one less than "
                                              "their number.",
                                              job.rank, job.size));
  }
  return std::make_unique<LocalTransport>(job);
}

}  // namespace tutti::comm
