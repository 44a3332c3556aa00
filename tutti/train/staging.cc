#include "tutti/train/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/os/atomic_file.h"

// Staging copies files from shared storage to a directory of every host:
//
// 1. Rank 0 lists the files with their sizes and broadcasts the list.
// 2. Every rank checks which files are missing on its host or have another size; an all-reduce determines those missing
//    on any host.
// 3. For each of them, one rank (round-robin) reads the file in chunks and broadcasts every chunk. The first rank of
//    each host appends it to a temporary file, which is renamed when it is complete.
//
// Shared storage is thus read once per file, whatever the number of hosts, and only one chunk is in memory at a time.
namespace tutti::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kChunkBytes = 8 << 20;

struct File {
  std::string name;  // relative to the directory
  std::int64_t bytes = 0;
};

Buffer buffer_of(std::span<char> bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), DType::kU8};
}

std::string list_of(const fs::path& source) {
  std::vector<std::pair<std::string, std::uintmax_t>> found;
  for (const auto& entry : fs::recursive_directory_iterator(source))
    if (entry.is_regular_file())
      found.emplace_back(fs::relative(entry.path(), source).string(), entry.file_size());
  std::sort(found.begin(), found.end());
  std::string text;
  for (const auto& [name, bytes] : found) text += fmt::format("{} {}\n", bytes, name);
  return text;
}

// Rank 0 lists the files, so that shared storage is accessed once.
std::vector<File> agreed_files(comm::Communicator& communicator, const fs::path& source) {
  std::string text = communicator.rank() == 0 ? list_of(source) : "";
  auto bytes = static_cast<std::int64_t>(text.size());
  communicator.broadcast(Buffer::of(std::span(&bytes, 1)), 0, {.name = "staging: list"});
  text.resize(static_cast<std::size_t>(bytes));
  communicator.broadcast(buffer_of(text), 0, {.name = "staging: list"});
  std::vector<File> files;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    files.push_back({line.substr(space + 1), std::stoll(line.substr(0, space))});
  }
  return files;
}

// 1 for each file that is missing on some host.
std::vector<float> missing(comm::Communicator& communicator, const std::vector<File>& files,
                           const fs::path& local) {
  std::vector<float> lacks;
  for (const File& file : files) {
    std::error_code ignored;
    const auto bytes = fs::file_size(local / file.name, ignored);
    lacks.push_back(ignored || static_cast<std::int64_t>(bytes) != file.bytes ? 1.f : 0.f);
  }
  if (!lacks.empty())
    communicator.all_reduce(Buffer::of(std::span(lacks)), ReduceOp::kMax,
                            {.name = "staging: missing"});
  return lacks;
}

void pass(comm::Communicator& communicator, const File& file, int reader, const fs::path& source,
          const fs::path& local) {
  std::ifstream in;
  if (communicator.rank() == reader) in.open(source / file.name, std::ios::binary);
  // Two runs may stage to the same directory at once.
  os::AtomicFile copy(local / file.name);
  std::optional<std::ofstream> out;
  if (communicator.local_rank() == 0) {
    fs::create_directories(copy.draft().parent_path());
    out.emplace(copy.draft(), std::ios::binary);
  }
  std::vector<char> chunk;
  for (std::int64_t at = 0; at < file.bytes; at += kChunkBytes) {
    chunk.resize(static_cast<std::size_t>(std::min(kChunkBytes, file.bytes - at)));
    if (communicator.rank() == reader &&
        !in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())))
      throw IoError(
          "DDL-7-85",
          fmt::format("Cannot read {}. Check that it is complete and readable on every host.",
                      (source / file.name).string()));
    communicator.broadcast(buffer_of(chunk), reader, {.name = "staging: data"});
    if (out) out->write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
  }
  if (!out) return;
  out->close();
  if (!*out || copy.commit())
    throw IoError(
        "DDL-7-86",
        fmt::format(
            "Cannot write {}. Check the free space, or set `staging_dir` to another directory.",
            copy.target().string()));
}

}  // namespace

fs::path stage_files(comm::Communicator& communicator, const fs::path& source,
                     const fs::path& local) {
  const std::vector<File> files = agreed_files(communicator, source);
  const std::vector<float> lacks = missing(communicator, files, local);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (lacks[i] > 0)
      pass(communicator, files[i], static_cast<int>(i) % communicator.size(), source, local);
  communicator.barrier({.name = "staging: done"});
  return local;
}

}  // namespace tutti::train
