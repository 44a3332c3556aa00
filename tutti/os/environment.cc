#include "tutti/os/environment.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace tutti::os {

Environment own_environment() {
  Environment all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != text.npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return all;
}

const char* get_variable(const char* name) {
  return std::getenv(name);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::filesystem::path prefix() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

void set_openblas_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

}  // namespace tutti::os
