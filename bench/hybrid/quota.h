// A share of a processor for a rank, so that a host of two behaves like many slow ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::bench {

// Limits what is started with it. Where control groups may be made (root), by a group of its own
// with a quota; elsewhere the program is stopped and continued in turn, which only makes it slower
// than others.
class CpuQuota {
 public:
  // `share` of one processor, above 0; 1 and more: no limit. `name` is unique on the host.
  CpuQuota(const std::string& name, double share);
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  // The command that starts `arguments` under the limit.
  std::vector<std::string> wrapped(const std::vector<std::string>& arguments) const;
  // Whether the kernel keeps the limit, or stops in turn do.
  static bool has_groups();

 private:
  double share_;
  std::filesystem::path group_;  // empty: none
};

}  // namespace tutti::bench
