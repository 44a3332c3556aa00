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
  // Starts reading these bytes: who looks at them later waits less.
  void prefetch(std::size_t offset, std::size_t bytes) const { advise(offset, bytes, true); }
  // Takes these bytes out of the memory of this process; they can still be read, from the file.
  void drop_pages(std::size_t offset, std::size_t bytes) const { advise(offset, bytes, false); }

 private:
  void advise(std::size_t offset, std::size_t bytes, bool is_wanted) const;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::learn
