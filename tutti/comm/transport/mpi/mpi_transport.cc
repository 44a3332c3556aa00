#include "tutti/comm/transport/mpi/mpi_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/mpi/mpi_collectives.h"
#include "tutti/comm/transport/mpi/mpi_environment.h"
#include "tutti/comm/transport/mpi/mpi_oob_channel.h"
#include "tutti/comm/transport/mpi/mpi_transfer.h"
#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"
#include "tutti/os/environment.h"
#include "tutti/os/launcher_environment.h"

namespace tutti::comm {
namespace {

Mutex start_mutex;
int owning_transports = 0;  // the last one finalizes MPI

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  const auto lock = MpiCalls::guard();
  mpi_result(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup").throw_if_error();
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

class MpiTransport : public Transport {
 public:
  MpiTransport(MPI_Comm communicator, bool owns_mpi);
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  const char* name() const override { return "mpi"; }
  std::string description() const override { return "mpi_" + mpi_library(); }
  bool yields_to_tcp() const override { return true; }
  bool starts_once() const override { return true; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host_name() const override { return host_name_; }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return MpiTransfer::send(messages_, peer, channel, data, bytes, cancel_state_);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return MpiTransfer::receive(messages_, peer, channel, data, bytes, cancel_state_);
  }
  std::vector<std::string> exchange(const std::string& mine) override;
  void notify(int peer, const std::string& text) override { oob_channel_.send(peer, text); }
  std::optional<OutOfBandMessage> next_oob_message() override { return oob_channel_.next(); }
  void abandon() override { cancel_state_->has_lost_rank = true; }
  bool finish(StallHandler& stall_handler) override {
    has_passed_final_barrier_ =
        final_barrier([&](std::int64_t waited) { return stall_handler.on_stall(-1, waited); });
    return *has_passed_final_barrier_;
  }

  VendorCollectives* vendor() override { return &collectives_; }

 private:
  // Waits by polling, so other threads can enter MPI between polls.
  static void wait_for(MPI_Request request, const char* call);
  void check_tags() const;
  // Barrier; returns true if all ranks have called it. `on_stall` receives the nanoseconds waited; a failure ends the
  // wait.
  bool final_barrier(const std::function<Result(std::int64_t)>& on_stall);

  const bool owns_mpi_;
  MPI_Comm messages_;
  MPI_Comm oob_communicator_;
  MPI_Comm set_up_;  // for exchange and collectives, which MPI orders per communicator
  int rank_ = 0;
  int size_ = 1;
  std::string host_name_;
  const std::shared_ptr<MpiCancelState> cancel_state_ = std::make_shared<MpiCancelState>();
  MpiOobChannel oob_channel_;
  MpiCollectives collectives_;
  std::optional<bool> has_passed_final_barrier_;  // result of `finish`
};

MpiTransport::MpiTransport(MPI_Comm communicator, bool owns_mpi)
    : owns_mpi_(owns_mpi),
      messages_(duplicate(communicator)),
      oob_communicator_(duplicate(communicator)),
      set_up_(duplicate(communicator)),
      oob_channel_(oob_communicator_),
      collectives_(set_up_, cancel_state_) {
  const auto lock = MpiCalls::guard();
  MPI_Comm_rank(messages_, &rank_);
  MPI_Comm_size(messages_, &size_);
  host_name_ = os::host_name();
  check_tags();
}

void MpiTransport::check_tags() const {
  int* highest = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(messages_, MPI_TAG_UB, &highest, &is_set);
  if (!is_set || *highest >= kMaxChannel) return;
  throw ConfigError("DDL-6-18",
                    fmt::format("this MPI has message tags up to {} only, {} are needed: "
                                "use Open MPI or MPICH.",
                                *highest, kMaxChannel));
}

void MpiTransport::wait_for(MPI_Request request, const char* call) {
  int code = MPI_SUCCESS;
  wait_politely([&] {
    const auto lock = MpiCalls::guard();
    int flag = 0;
    code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag || code != MPI_SUCCESS;
  });
  mpi_result(code, call).throw_if_error();
}

std::vector<std::string> MpiTransport::exchange(const std::string& mine) {
  const auto start = [](const auto& call, const char* name) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const auto lock = MpiCalls::guard();
      mpi_result(call(&request), name).throw_if_error();
    }
    wait_for(request, name);
  };
  const int my_size = static_cast<int>(mine.size());
  std::vector<int> sizes(size_), offsets(size_);
  start(
      [&](MPI_Request* request) {
        return MPI_Iallgather(&my_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, set_up_, request);
      },
      "MPI_Iallgather");
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), 0);
  std::string whole(static_cast<std::size_t>(offsets.back() + sizes.back()), ' ');
  start(
      [&](MPI_Request* request) {
        return MPI_Iallgatherv(mine.data(), my_size, MPI_CHAR, whole.data(), sizes.data(),
                               offsets.data(), MPI_CHAR, set_up_, request);
      },
      "MPI_Iallgatherv");
  std::vector<std::string> all;
  for (int rank = 0; rank < size_; ++rank) all.push_back(whole.substr(offsets[rank], sizes[rank]));
  return all;
}

bool MpiTransport::final_barrier(const std::function<Result(std::int64_t)>& on_stall) {
  if (cancel_state_->has_abandoned || cancel_state_->has_lost_rank) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const auto lock = MpiCalls::guard();
    if (MPI_Ibarrier(set_up_, &request) != MPI_SUCCESS) return false;
  }
  bool met = false;
  const std::int64_t start = now_ns();
  wait_politely([&] {
    const bool is_flushed = oob_channel_.flush();
    if (cancel_state_->has_lost_rank || !on_stall(now_ns() - start)) return true;
    const auto lock = MpiCalls::guard();
    int flag = 0;
    const int code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    met = flag && code == MPI_SUCCESS;
    return (flag && is_flushed) || code != MPI_SUCCESS;
  });
  return met;
}

// MPI_Finalize waits for all ranks without a limit, so it is called only when all of them are known to arrive. A
// transport without `finish` never had a communicator, so no monitor observes the other ranks.
MpiTransport::~MpiTransport() {
  if (!mpi_is_running()) return;
  constexpr std::int64_t kUnwatchedLimit = 10'000'000'000;
  if (!has_passed_final_barrier_) {
    has_passed_final_barrier_ = final_barrier([](std::int64_t waited) {
      return waited < kUnwatchedLimit ? Result::ok()
                                      : Result::failure(ErrorKind::kTimeout, "DDL-6-11",
                                                        "it did not complete within the timeout.");
    });
  }
  const MutexLock lock(start_mutex);
  const bool is_last = owns_mpi_ && --owning_transports == 0;
  if (!*has_passed_final_barrier_) {
    wait_politely([&] { return oob_channel_.flush(); }, 0.5);
    log::warning("not all ranks reached the end of the job: MPI is not finalized.");
    return;
  }
  collectives_.free_groups();
  const auto inside = MpiCalls::guard();
  MPI_Comm_free(&set_up_);
  MPI_Comm_free(&oob_communicator_);
  MPI_Comm_free(&messages_);
  if (is_last) MPI_Finalize();
}

// Under the launcher of a different MPI, each rank would be alone in a job of size 1.
void check_launcher() {
  const os::JobEnvironment job = os::find_job();
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (job.kind != os::JobKind::kMpi || job.size < 0 || job.size == size) return;
  throw ConfigError(
      "DDL-6-12",
      fmt::format("{} started {} ranks, but MPI found {}: this library uses {}. Start it with the "
                  "mpirun of that MPI, or build it with -DTUTTI_MPI= for yours.",
                  job.launcher, job.size, size, mpi_library()));
}

}  // namespace

bool has_mpi() {
  return true;
}

// Shortens "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." to name and version.
std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.size(), version.find_first_of(",\n")));
  std::replace(version.begin(), version.end(), '\t', ' ');
  return version;
}

bool mpi_is_running() {
  int is_initialised = 0, is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  return is_initialised && !is_finalised;
}

std::unique_ptr<Transport> start_mpi() {
  const MutexLock lock(start_mutex);
  int is_finalised = 0;
  MPI_Finalized(&is_finalised);
  if (is_finalised) {
    throw ConfigError("DDL-6-13",
                      "MPI was finalized and cannot start again in this process: keep the first "
                      "communicator until the end of the program.");
  }
  const bool owns = !mpi_is_running() || owning_transports > 0;
  int level = MPI_THREAD_SINGLE;
  if (!mpi_is_running()) {
    apply_mpi_settings();
    mpi_result(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread")
        .throw_if_error();
    // MPICH uses the error handler of MPI_COMM_WORLD for messages of every communicator.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_launcher();
  }
  MPI_Query_thread(&level);
  MpiCalls::set_thread_level(level);
  auto transport = std::make_unique<MpiTransport>(MPI_COMM_WORLD, owns);
  owning_transports += owns;
  return transport;
}

std::unique_ptr<Transport> join_mpi(const void* communicator) {
  if (!mpi_is_running()) {
    throw ConfigError("DDL-6-13",
                      "the program passed a communicator, but MPI is not running: call "
                      "MPI_Init_thread first and MPI_Finalize last.");
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  MpiCalls::set_thread_level(level);
  return std::make_unique<MpiTransport>(*static_cast<const MPI_Comm*>(communicator), false);
}

}  // namespace tutti::comm
