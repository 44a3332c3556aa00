// Files of made samples, `train-00000.h5`, `test-00000.h5`, `val-64-00000.h5` and so on, dealt to
// ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace tutti::train {

// How the names begin of files by which the best weights are chosen, when there are to be so many
// samples in all. Other counts have other names: a folder is named after its training and test
// samples, and those of a folder that is older than its validation files stay as they are.
std::string val_prefix(std::int64_t samples);

struct GeneratedFiles {
  std::int64_t train = 0, test = 0, val = 0;  // samples
  std::int64_t per_file = 1;
  int digits = 5;  // of the number in a file's name
  std::string val_prefix = {};
};

enum class Split { kTrain, kTest, kVal };

struct GeneratedFile {
  std::filesystem::path path;
  Split kind = Split::kTrain;
  std::int64_t number = 0;           // among the files of its kind
  std::int64_t first = 0, last = 0;  // samples among those of its kind, `last` excluded
};

// A number for the random numbers of a file by which no two files of a folder are alike, however
// many there are of each kind.
std::uint64_t stream_of(const GeneratedFile& file);

// Hears how many files of this rank are made, the share of one that is being made with them, and
// how many will be.
using GenerateProgress = std::function<void(double done, int all)>;
// Hears which share of a file is made, from 0 to 1.
using FileProgress = std::function<void(double share)>;

using GenerateFile = std::function<void(const GeneratedFile&, const FileProgress&)>;

// Calls `make` for each file of this rank that is not there yet, in a folder that it makes;
// `progress`, when given, is called before the first and whenever `make` tells of its file. `make`
// must write a file whole or not at all, as H5File does. Files can then be made in several starts,
// and by several runs at once: a file that another run is making is waited for. Throws IoError when
// what is missing, judged by what was made, would not fit on the disk.
void generate_files(const std::filesystem::path& folder, const GeneratedFiles& files, int rank,
                    int ranks, const GenerateProgress& progress, const GenerateFile& make);

// Throws IoError when `needed` bytes more do not fit into `available`.
void check_room(const std::filesystem::path& folder, double needed, double available);

}  // namespace tutti::train
