// Output files at a path chosen by the user, replaced atomically.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tutti::os {

// Throws IoError (DDL-9-02) with the reason of the system if `path` cannot be written. Call it before a long
// computation whose result goes there. An existing file is not changed, and no new one remains.
void check_writable(const std::filesystem::path& path);

// Calls `write` with the path of a draft next to `path`, then flushes the draft to disk and renames it to `path`. An
// existing file is replaced in one step and passes on its permissions; symbolic links are followed. If `write` throws
// or the disk is full, the draft is removed and `path` is unchanged. Devices and pipes, such as /dev/stdout, are
// written directly. Throws IoError (DDL-9-02), or what `write` throws.
void write_whole(const std::filesystem::path& path,
                 const std::function<void(const std::filesystem::path& draft)>& write);

// Same, with the content `text`.
void write_whole(const std::filesystem::path& path, std::string_view text);

}  // namespace tutti::os
