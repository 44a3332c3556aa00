// The ranks of a running job as seen by ddlrun: connections, output and exits of their agents.
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/auth/accept_queue.h"
#include "tutti/launch/job/job.h"
#include "tutti/launch/net/frames.h"
#include "tutti/launch/output/buffer_pool.h"
#include "tutti/launch/output/job_output.h"
#include "tutti/launch/output/line_output.h"
#include "tutti/os/process.h"

namespace tutti::launch {

struct RankExit {
  int rank = 0;
  int code = 0, signal = 0;
  std::int64_t when_ns = 0;  // monotonic clock of this host
  bool was_stopped = false;  // the program had been asked to end
};

class JobRanks {
 public:
  struct Events {
    std::function<void(const RankExit&)> exited;  // any code; output may still follow
    std::function<void(int rank)> ended;          // all its output has been received
    std::function<void(int rank)> lost;           // its connection broke before the program exited
  };
  // Listens for agents. Throws IoError if no address of the spec can be bound.
  JobRanks(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output, Events events);

  // "<address> <port> ..." for TUTTI_WATCH: the sockets to which agents connect.
  std::string listen_addresses() const;

  // Appends the files to poll; handle() then expects exactly these with their events.
  void add_files(std::vector<pollfd>* files);
  void handle(std::span<const pollfd> files);
  // Grants credit to ranks whose output has been consumed. Call it after the output has made progress.
  void grant_credit();

  // Asks all ranks to end, including those that connect later. Until then the agents of failed ranks keep running: if
  // they exited, mpirun would end the other ranks, which may still have something to report.
  void stop_all();
  // Passes on lines that were held long enough, or everything.
  void flush(bool everything);
  bool has_waiting_output() const;
  bool has_pending_handshakes() const { return queue_.pending() > 0; }

  int connected() const;
  bool all_have_ended() const;
  bool has_connected(int rank) const { return ranks_[rank]->has_connected; }
  bool has_ended(int rank) const { return ranks_[rank]->has_ended; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::string& host_of(int rank) const;
  // " Its last lines (...):\n..." for the error message.
  std::string final_output(int rank) const;

 private:
  struct Rank {
    Rank(const std::string& tag, JobRanks& ranks, std::shared_ptr<runs::LogFile> log_file);
    os::UniqueFd socket;
    FrameReader reader;
    LineOutput output, errors;
    LastLines last_lines;
    std::shared_ptr<runs::LogFile> log;
    std::array<std::uint32_t, 2> owed{};  // credit to return, for output and errors
    std::int64_t clock_offset_ns = 0;     // offset from the rank's clock to this host's
    bool has_connected = false, has_exited = false, has_failed = false, has_ended = false;
  };
  // An authenticated connection whose rank is not yet known.
  struct Arrival {
    os::UniqueFd socket;
    FrameReader reader;
  };
  template <class Take>
  bool read_frames(const os::UniqueFd& socket, FrameReader& reader, Take take);
  bool is_shared(std::string_view text) const;
  void print(int file, std::string_view text);
  void accept_agents();
  void read_arrival(Arrival& arrival);
  void welcome(const Hello& hello, Arrival& arrival);
  void read_rank(int number);
  bool take_frame(int number, char kind, std::string_view body);
  void take_output(Rank& rank, char kind, std::string_view text);
  void take_exit(int number, const Exit& exit);
  void end_rank(int number);

  const JobSpec& spec_;
  runs::JobFolder& folder_;
  JobOutput& output_;
  Events events_;
  std::uint32_t window_ = 0;
  auth::AcceptQueue queue_;
  BufferPool pool_;
  std::shared_ptr<BufferPool::Buffer> buffer_;                   // buffer that is being read into
  std::vector<std::pair<std::string, os::UniqueFd>> listeners_;  // by address
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Arrival>> arrivals_;
  std::vector<os::UniqueFd> failed_;  // agents waiting for permission to exit
  std::size_t polled_arrivals_ = 0;
  bool stops_all_ = false;
};

}  // namespace tutti::launch
