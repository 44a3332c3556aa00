#include "tutti/topo/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tutti/core/bytes.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

constexpr double kMemoryTolerance = 0.02;

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Compares two machines field by field and collects the differences.
class Comparison {
 public:
  Comparison(const Machine& a, const Machine& b) : a_(a), b_(b) {}

  void compare(const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b)
      sentences_.push_back(fmt::format("{} has {}, {} has {}.", a_.name, of_a, b_.name, of_b));
  }
  void compare_counts(std::int64_t of_a, std::int64_t of_b, std::string_view noun) {
    compare(plural(of_a, noun), plural(of_b, noun));
  }
  std::vector<std::string> take() { return std::move(sentences_); }

 private:
  const Machine& a_;
  const Machine& b_;
  std::vector<std::string> sentences_;
};

std::string describe_caches(const Machine& machine) {
  std::string text;
  for (const Cache& cache : machine.caches) {
    text += fmt::format("{}{} x L{} {} of {} shared by {}", text.empty() ? "" : ", ", cache.count,
                        cache.level, cache.kind, format_bytes(cache.bytes), cache.shared_by);
  }
  return text.empty() ? "no known caches" : text;
}

std::string describe_accelerators(const Machine& machine) {
  std::string text;
  for (const Accelerator& accelerator : machine.accelerators) {
    text +=
        fmt::format("{}{} ({}{}{})", text.empty() ? "" : ", ", accelerator.name, accelerator.model,
                    accelerator.memory ? ", " + format_bytes(accelerator.memory) : "",
                    accelerator.socket < 0 ? "" : fmt::format(", socket {}", accelerator.socket));
  }
  return text.empty() ? "no accelerators" : "the accelerators " + text;
}

std::string describe_cores(const Machine& machine) {
  std::string text;
  for (const Socket& socket : machine.sockets) {
    text += fmt::format("{}{}", text.empty() ? "" : " + ", socket.cores.size());
  }
  return text + " cores on its sockets";
}

double gigabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / 0x1p30;
}

// "Intel(R) Xeon(R) Processor @ 2.30GHz" becomes "intel-r-xeon-r-processor-2.30ghz".
std::string slug(std::string_view text) {
  std::string result;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '.') {
      result += static_cast<char>(std::tolower(c));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

}  // namespace

int Machine::core_count() const {
  std::size_t count = 0;
  for (const Socket& socket : sockets) count += socket.cores.size();
  return static_cast<int>(count);
}

int Machine::cpu_count() const {
  std::size_t count = 0;
  for (const Socket& socket : sockets) {
    for (const CpuList& core : socket.cores) count += core.size();
  }
  return static_cast<int>(count);
}

int Machine::usable_cpus() const {
  int usable = static_cast<int>(allowed_cpus.size());
  if (cpu_quota > 0) usable = std::min(usable, static_cast<int>(std::ceil(cpu_quota)));
  return std::max(usable, 1);
}

std::string tuning_key(const Machine& machine) {
  std::string key = fmt::format("{}-{}s-{}c-{}t", slug(machine.cpu_model), machine.sockets.size(),
                                machine.core_count(), machine.cpu_count());
  for (const Cache& cache : machine.caches) {
    if (cache.level >= 2) key += fmt::format("-l{}-{}", cache.level, format_bytes(cache.bytes));
  }
  const double size = std::max(gigabytes(machine.memory), 1.0);
  return key + fmt::format("-{}GiB", std::llround(std::exp2(std::round(std::log2(size)))));
}

std::vector<std::string> differences(const Machine& a, const Machine& b) {
  Comparison comparison(a, b);
  comparison.compare("the processor " + a.cpu_model, "the processor " + b.cpu_model);
  comparison.compare_counts(std::ssize(a.sockets), std::ssize(b.sockets), "socket");
  comparison.compare(describe_cores(a), describe_cores(b));
  comparison.compare_counts(a.cpu_count(), b.cpu_count(), "processing unit");
  comparison.compare_counts(std::ssize(a.numa_nodes), std::ssize(b.numa_nodes), "NUMA node");
  comparison.compare(describe_caches(a), describe_caches(b));
  const double larger = static_cast<double>(std::max(a.memory, b.memory));
  if (std::abs(static_cast<double>(a.memory - b.memory)) > kMemoryTolerance * larger) {
    comparison.compare(fmt::format("{:.1f} GiB of memory", gigabytes(a.memory)),
                       fmt::format("{:.1f} GiB of memory", gigabytes(b.memory)));
  }
  comparison.compare(describe_accelerators(a), describe_accelerators(b));
  comparison.compare("the usable CPUs " + format_list(a.allowed_cpus),
                     "the usable CPUs " + format_list(b.allowed_cpus));
  comparison.compare(a.cpu_quota ? fmt::format("a quota of {} CPUs", a.cpu_quota) : "no CPU quota",
                     b.cpu_quota ? fmt::format("a quota of {} CPUs", b.cpu_quota) : "no CPU quota");
  return comparison.take();
}

}  // namespace tutti::topo
