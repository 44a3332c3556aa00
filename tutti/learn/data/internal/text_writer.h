// Buffered writer of text files.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::learn {

// Throws IoError if the disk is full. (fmt's file aborts in its destructor.)
class TextWriter {
 public:
  explicit TextWriter(std::filesystem::path path)
      : path_(std::move(path)), file_(path_, std::ios::binary) {
    check();
  }

  template <class... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    if (text_.size() >= kPieceBytes) write();
  }

  // Writes the rest of the buffer. Must be called; otherwise the end of the file may be missing.
  void finish() {
    write();
    file_.close();
    check();
  }

 private:
  static constexpr std::size_t kPieceBytes = 1 << 20;

  void write() {
    file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    check();
    text_.clear();
  }
  void check() const {
    if (file_) return;
    const int error = errno;
    throw IoError("DDL-9-02", fmt::format("{}: cannot write the file: {}.", path_.string(),
                                          std::strerror(error)));
  }

  std::filesystem::path path_;
  std::ofstream file_;
  std::string text_;
};

}  // namespace tutti::learn
