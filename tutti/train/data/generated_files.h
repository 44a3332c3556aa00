// Files of generated samples, `train-00000.h5`, `test-00000.h5`, `val-64-00000.h5` and so on, distributed over the
// ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace tutti::train {

// Prefix of the names of validation files, for this number of validation samples in all. Each number has its own
// prefix: the name of the directory has only the numbers of training and test samples, and files of a directory that is
// older than its validation files stay valid.
std::string val_prefix(std::int64_t samples);

struct GeneratedFiles {
  std::int64_t train = 0, test = 0, val = 0;  // samples
  std::int64_t per_file = 1;
  int digits = 5;  // of the number in a file name
  std::string val_prefix = {};
};

enum class Split { kTrain, kTest, kVal };

struct GeneratedFile {
  std::filesystem::path path;
  Split kind = Split::kTrain;
  std::int64_t number = 0;           // among the files of its split
  std::int64_t first = 0, last = 0;  // samples within the split, `last` excluded
};

// Number of the random stream of a file. It differs between all files of a directory, for any number of files per
// split.
std::uint64_t stream_of(const GeneratedFile& file);

// Called with the number of files that this rank has generated, including the fraction of the current one, and the
// number that it will generate.
using GenerateProgress = std::function<void(double done, int all)>;
// Called with the fraction of a file that is complete, from 0 to 1.
using FileProgress = std::function<void(double share)>;

using GenerateFile = std::function<void(const GeneratedFile&, const FileProgress&)>;

// Calls `make` for each missing file of this rank, in a directory that is created if needed. `progress`, if set, is
// called before the first file and whenever `make` reports progress. `make` must write a file completely or not at all,
// as H5File does. Generation can thus be interrupted and continued, and several runs may generate at once: a run waits
// for files that another run is generating. Throws IoError if the missing files would not fit on the disk, estimated
// from the files already written.
void generate_files(const std::filesystem::path& folder, const GeneratedFiles& files, int rank,
                    int ranks, const GenerateProgress& progress, const GenerateFile& make);

// Throws IoError if `needed` more bytes do not fit into `available`.
void check_room(const std::filesystem::path& folder, double needed, double available);

}  // namespace tutti::train
