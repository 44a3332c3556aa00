// CPU limits for ranks, so that a host with two CPUs behaves like many slow ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::bench {

// Limits the processes started with it: by a cgroup with a quota if cgroups can be created (root); otherwise the
// program is stopped and continued periodically, which can only slow it down.
class CpuQuota {
 public:
  // `share` of one CPU, above 0; 1 and more: no limit. `name` must be unique on the host.
  CpuQuota(const std::string& name, double share);
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  // The command that starts `arguments` under the limit.
  std::vector<std::string> wrapped(const std::vector<std::string>& arguments) const;
  // Whether the limit is a cgroup.
  static bool has_groups();

 private:
  double share_;
  std::filesystem::path group_;  // empty: none
};

}  // namespace tutti::bench
