#include "tutti/core/prefix.h"

namespace tutti {

std::filesystem::path prefix() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

}  // namespace tutti
