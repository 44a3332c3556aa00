// Read-only memory-mapped files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace tutti::learn {

class MappedFile {
 public:
  // Throws IoError if the file cannot be opened or mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view text() const { return {data_, size_}; }
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Starts reading these bytes in the background (MADV_WILLNEED).
  void prefetch(std::size_t offset, std::size_t bytes) const { advise(offset, bytes, true); }
  // Removes these pages from the resident set (MADV_DONTNEED). Later accesses read the file again.
  void drop_pages(std::size_t offset, std::size_t bytes) const { advise(offset, bytes, false); }

 private:
  void advise(std::size_t offset, std::size_t bytes, bool is_wanted) const;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::learn
