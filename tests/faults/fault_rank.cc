// A rank that injects a fault, for faults_test.py: `fault_rank SCENARIO [OPTIONS]`.
//
// All ranks make two calls and print "ready RANK PROCESS". Then rank 1 or all of them run the
// scenario. At the end a rank prints "end RANK CODE" and exits with that code: 0 success,
// 3 CommError, 4 TimeoutError.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace {

using namespace tutti;  // NOLINT: a small program
using comm::Communicator;

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void all_reduce(Communicator& comm, std::int64_t count = 1000, DType dtype = DType::kF32,
                ReduceOp op = ReduceOp::kSum, std::string_view name = "weights") {
  std::vector<double> memory(static_cast<std::size_t>(count), 1);
  comm.all_reduce(Buffer{memory.data(), count, dtype}, op, {.name = name});
}

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

// A rank that computes and polls for failures now and then.
[[noreturn]] void compute(Communicator& comm) {
  for (;;) {
    comm.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

using Scenario = std::function<void(Communicator&, bool is_culprit)>;
const std::map<std::string, Scenario> kScenarios = {
    {"fine", [](Communicator& comm, bool) { comm.barrier(); }},
    {"others wait",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) sleep_for_ever();
       all_reduce(comm);
     }},
    {"others compute",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) sleep_for_ever();
       compute(comm);
     }},
    {"others sleep", [](Communicator&, bool) { sleep_for_ever(); }},
    {"all but one wait for a message",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) sleep_for_ever();
       char byte = 0;
       comm.receive(Buffer{&byte, 1, DType::kU8}, 1);
     }},
    {"end late",
     [](Communicator&, bool is_culprit) {
       while (is_culprit && !std::filesystem::exists("release")) {
         std::this_thread::sleep_for(std::chrono::milliseconds(5));
       }
     }},
    {"fork",
     [](Communicator& comm, bool is_culprit) {
       const pid_t child = is_culprit ? ::fork() : 0;
       if (is_culprit && child == 0) {
         try {
           comm.barrier();
           ::_exit(1);
         } catch (const ConfigError& error) {
           if (error.code() != "DDL-4-65") ::_exit(2);
         }
         return;  // like a worker that does not leave with _exit: destroys its copy of `comm`
       }
       int status = 0;
       if (is_culprit && (::waitpid(child, &status, 0) != child || status != 0)) ::_exit(5);
       all_reduce(comm);
     }},
    {"cycle of receives",
     [](Communicator& comm, bool) {
       char byte = 0;
       comm.receive(Buffer{&byte, 1, DType::kU8}, (comm.rank() + 1) % comm.size(), 7);
     }},
    {"collective and receive",
     [](Communicator& comm, bool is_culprit) {
       char byte = 0;
       if (is_culprit) return comm.receive(Buffer{&byte, 1, DType::kU8}, 0, 1000);
       all_reduce(comm);
     }},
    {"stop",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) ::raise(SIGSTOP);
       all_reduce(comm);
       comm.barrier();
     }},
    {"missing",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) compute(comm);
       all_reduce(comm);
     }},
    {"leave",
     [](Communicator& comm, bool is_culprit) {
       if (!is_culprit) all_reduce(comm);
     }},
    {"vanish",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) ::_exit(0);
       all_reduce(comm);
     }},
    {"count",
     [](Communicator& comm, bool is_culprit) { all_reduce(comm, is_culprit ? 1001 : 1000); }},
    {"dtype",
     [](Communicator& comm, bool is_culprit) {
       all_reduce(comm, 1000, is_culprit ? DType::kF64 : DType::kF32);
     }},
    {"op",
     [](Communicator& comm, bool is_culprit) {
       all_reduce(comm, 1000, DType::kF32, is_culprit ? ReduceOp::kMax : ReduceOp::kSum);
     }},
    {"name",
     [](Communicator& comm, bool is_culprit) {
       all_reduce(comm, 1000, DType::kF32, ReduceOp::kSum, is_culprit ? "bias" : "weights");
     }},
    {"collective",
     [](Communicator& comm, bool is_culprit) {
       if (is_culprit) return comm.barrier();
       all_reduce(comm);
     }},
    {"disagree and vanish",
     [](Communicator& comm, bool is_culprit) {
       if (comm.rank() > 1) compute(comm);
       try {
         all_reduce(comm, is_culprit ? 1001 : 1000);
       } catch (const CommError&) {
         ::_exit(3);  // like a program that exits without a leave notice
       }
     }},
    {"signal",
     [](Communicator& comm, bool) {
       ::raise(SIGUSR1);
       const std::filesystem::path folder = ::getenv("TUTTI_RUN_FOLDER");
       const auto file = folder / fmt::format("flight-rank{}.json", comm.rank());
       while (!std::filesystem::exists(file)) {
         std::this_thread::sleep_for(std::chrono::milliseconds(5));
       }
       comm.barrier();
     }},
};

int run(const std::string& scenario, const std::string& text) {
  Options options = comm::environment_options();
  options.set("tune_seconds", "0");  // tuning would issue additional calls
  comm::apply_option_string(options, text);
  const auto comm = Communicator::from_environment(options);
  log::set_tag(fmt::format("rank {}", comm->rank()));
  int code = 0;
  try {
    all_reduce(*comm);
    comm->barrier();
    say(fmt::format("ready {} {}", comm->rank(), ::getpid()));
    kScenarios.at(scenario)(*comm, comm->rank() == 1);
  } catch (const CommError&) {
    code = 3;
  } catch (const TimeoutError&) {
    code = 4;
  }
  say(fmt::format("end {} {}", comm->rank(), code));
  return code;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? argv[1] : "fine", argc > 2 ? argv[2] : "");
} catch (const std::exception& error) {
  fmt::print(stderr, "fault_rank: {}\n", error.what());
  return 1;
}
