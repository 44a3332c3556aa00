// Result files that a user names: complete or absent.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tutti::os {

// Throws IoError with the system's own words when `path` cannot be written; to be asked before
// hours of work are. Leaves nothing behind, and what is there as it is.
void check_writable(const std::filesystem::path& path);

// Has `write` fill a file beside `path` that then takes its place, with one step and its
// permissions. Where it throws or the disk is full, the file is gone and what was at `path` is as
// it was. What is no plain file, as /dev/stdout or a pipe, is written to directly.
void write_whole(const std::filesystem::path& path,
                 const std::function<void(const std::filesystem::path& draft)>& write);

// The same with a text.
void write_whole(const std::filesystem::path& path, std::string_view text);

}  // namespace tutti::os
