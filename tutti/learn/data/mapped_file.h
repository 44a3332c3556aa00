// A file in memory, as the operating system maps it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace tutti::learn {

class MappedFile {
 public:
  // Throws IoError when the file cannot be opened or mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view text() const { return {data_, size_}; }
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::learn
