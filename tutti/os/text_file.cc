#include "tutti/os/text_file.h"

#include <fstream>
#include <sstream>

namespace tutti::os {

std::string read_text(const std::filesystem::path& file) {
  const std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;  // operator<< ignores a directory; a stream iterator would throw
  text << stream.rdbuf();
  return text.str();
}

}  // namespace tutti::os
