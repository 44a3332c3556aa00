#include "tutti/models/nets/data_folder.h"

#include <stdlib.h>

namespace tutti::models {

namespace fs = std::filesystem;

fs::path data_folder(const std::string& name) {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  const fs::path base = cache && *cache ? fs::path(cache)
                        : home && *home ? fs::path(home) / ".cache"
                                        : fs::temp_directory_path();
  return base / "tutti" / name;
}

double value_of(const train::Metrics& metrics, std::string_view name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return 0;
}

}  // namespace tutti::models
