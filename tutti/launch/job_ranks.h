// The ranks of a running job as ddlrun sees them: their agents' connections, output and ends.
#pragma once

#include <poll.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/launch/frames.h"
#include "tutti/launch/job.h"
#include "tutti/launch/line_output.h"
#include "tutti/launch/process.h"

namespace tutti::launch {

struct RankEnd {
  int rank = 0;
  int code = 0, signal = 0;
  double ago = 0;            // seconds since its end
  bool was_stopped = false;  // somebody wanted it to end
};

class JobRanks {
 public:
  struct Listener {
    std::function<void(int file, std::string_view text)> put;  // output for the user
    std::function<void(const RankEnd&)> ended;                 // also with code 0
    std::function<void(int rank)> lost;  // its connection broke before it had ended
  };
  // Opens the door for agents; throws IoError when there is no port to be had.
  JobRanks(const JobSpec& spec, RunFolder& folder, Listener listener);

  // What agents need to find us, for TUTTI_WATCH and TUTTI_WATCH_KEY.
  std::string place() const;
  const std::string& key() const { return key_; }

  // What to wait for; then `hear` what is there.
  void add_files(std::vector<pollfd>* files) const;
  void hear();

  // Tells all to end; those that come later too. Until then, mpirun does not learn that a rank has
  // failed: others may still have something to say.
  void stop_all();
  // Passes on lines that have begun and waited long enough, or everything.
  void flush(bool everything);
  bool has_waiting_output() const;

  int connected() const;
  bool all_have_ended() const;
  bool has_come(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->has_come; }
  bool has_ended(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->has_ended; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::string& host_of(int rank) const;
  // " Its last lines (...):\n..." for the message about its end.
  std::string last_words(int rank) const;

 private:
  struct Rank {
    Rank(const std::string& tag, const Listener& listener, const std::filesystem::path& log_path);
    File socket;
    FrameReader heard;
    LineOutput output, errors;
    LastLines last_lines;
    std::ofstream log;
    bool has_come = false, has_ended = false;
  };
  struct Visitor {
    File socket;
    FrameReader heard;
  };
  void admit();
  void hear_visitor(Visitor& visitor);
  void welcome(int number, Visitor& visitor);
  void hear_rank(int number);
  void end_rank(int number, const std::string& how);

  const JobSpec& spec_;
  RunFolder& folder_;
  Listener listener_;
  std::string key_;
  File door_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::vector<File> failed_;  // of agents that wait to be let go
  bool stops_all_ = false;
};

}  // namespace tutti::launch
