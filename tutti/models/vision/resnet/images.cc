#include "tutti/models/vision/resnet/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/data/made_files.h"

namespace tutti::models::resnet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20151210;
constexpr int kCifarSide = 32;

void make_file(const fs::path& path, const ImagePlan& plan, std::int64_t count,
               std::uint64_t number) {
  train::Random random(train::mixed_seed(kSeed, number));
  train::H5File file(path, train::H5File::Mode::kCreate);
  std::vector<float> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const int shape = static_cast<int>(i % plan.classes);
    const std::vector<std::uint8_t> bytes = draw_picture(shape, plan.side, random);
    const std::vector<float> values(bytes.begin(), bytes.end());
    file.append("data", std::vector<std::int64_t>{3, plan.side, plan.side}, values);
    labels.push_back(static_cast<float>(shape));
  }
  file.append("label", {}, labels);
  file.close();
}

[[noreturn]] void complain(const fs::path& path, const char* what) {
  throw IoError("DDL-7-76", fmt::format("{}: {}.", path.string(), what));
}

void read_cifar(const fs::path& path, ImageSet& set) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t record = 1 + std::size_t{3} * kCifarSide * kCifarSide;
  if (bytes.empty() || bytes.size() % record != 0)
    complain(path, "the size of a CIFAR-10 file must be a multiple of 3073 bytes");
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    set.labels.push_back(static_cast<std::uint8_t>(bytes[at]));
    set.pixels.insert(set.pixels.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      bytes.begin() + static_cast<std::ptrdiff_t>(at + record));
  }
  set.side = kCifarSide;
}

void read_h5(const fs::path& path, ImageSet& set) {
  const train::H5File file(path, train::H5File::Mode::kRead);
  const std::vector<std::int64_t> shape = file.shape("data");
  if (shape.size() != 4 || shape[1] != 3 || shape[2] != shape[3] ||
      (set.side != 0 && set.side != shape[2]))
    complain(path, "`data` must be (N,3,H,H) with the same H in all files");
  set.side = static_cast<int>(shape[2]);
  std::vector<float> labels(static_cast<std::size_t>(shape[0])), picture(set.picture_bytes());
  file.read("label", 0, shape[0], labels);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    file.read("data", row, 1, picture);
    for (float value : picture)
      set.pixels.push_back(static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)));
    set.labels.push_back(std::lround(labels[static_cast<std::size_t>(row)]));
  }
}

// What one picture looks like in a batch: where it is taken from.
struct View {
  int right = 0, down = 0;
  bool is_mirrored = false;
};

// What a shift leaves empty is filled with the nearest pixel.
void copy_picture(const std::uint8_t* picture, int side, const View& view, float* out) {
  for (int row = 0; row < side; ++row)
    for (int column = 0; column < side; ++column, out += 3) {
      const int from = view.is_mirrored ? side - 1 - column : column;
      const int y = std::clamp(row + view.down, 0, side - 1),
                x = std::clamp(from + view.right, 0, side - 1);
      for (int c = 0; c < 3; ++c) out[c] = float(picture[(c * side + y) * side + x]);
    }
}

}  // namespace

ImagePlan image_plan(std::int64_t train, std::int64_t test, int side, int classes) {
  const std::int64_t most = std::max(train, test);
  return {side, std::min(classes, kShapes), train, test,
          static_cast<int>(std::clamp<std::int64_t>(most / 1000, 2, 64))};
}

void generate(const fs::path& folder, const ImagePlan& plan, int rank, int ranks,
              const std::function<void(int, int)>& progress) {
  const train::MadeFiles files{.train = plan.files, .test = plan.files, .digits = 3};
  train::make_files(folder, files, rank, ranks, progress, [&](const train::MadeFile& file) {
    make_file(file.path, plan, (file.is_train ? plan.train : plan.test) / plan.files,
              static_cast<std::uint64_t>(file.number + (file.is_train ? 0 : plan.files)));
  });
}

ImageSet read_images(const fs::path& folder, const std::string& name) {
  ImageSet set;
  if (fs::is_regular_file(folder / name)) {
    if (fs::path(name).extension() == ".bin")
      read_cifar(folder / name, set);
    else
      read_h5(folder / name, set);
    return set;
  }
  for (const fs::path& path : train::h5_files(folder))
    if (path.filename().string().starts_with(name)) read_h5(path, set);
  if (set.labels.empty() && name == "test" && fs::exists(folder / "test_batch.bin"))
    read_cifar(folder / "test_batch.bin", set);
  for (int i = 1; set.labels.empty() || i > 1; ++i) {
    const fs::path path = folder / fmt::format("data_batch_{}.bin", i);
    if (name != "train" || !fs::exists(path)) break;
    read_cifar(path, set);
  }
  if (set.labels.empty())
    complain(folder,
             "there are no pictures: neither train*.h5 and test*.h5, nor data_batch_1.bin and "
             "test_batch.bin of CIFAR-10. Set `data` to a folder that has them, or leave it empty");
  return set;
}

ChannelScale scale_of(const ImageSet& set) {
  ChannelScale scale;
  const std::size_t plane = std::size_t(set.side) * set.side;
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t at = c * plane; at < set.pixels.size(); at += 3 * plane)
      for (std::size_t i = at; i < at + plane; ++i) {
        sum += set.pixels[i];
        squares += double{float(set.pixels[i])} * set.pixels[i];
      }
    const double count = std::max(1.0, double(set.labels.size() * plane)), mean = sum / count;
    scale.mean[c] = static_cast<float>(mean);
    scale.spread[c] = static_cast<float>(std::sqrt(std::max(1.0, squares / count - mean * mean)));
  }
  return scale;
}

void fill_batch(const ImageSet& set, std::span<const std::int64_t> indices, bool augments,
                float* out) {
  std::uint64_t seed = indices.size();  // of the batch: another one in every epoch
  for (std::int64_t index : indices) seed = train::mixed_seed(seed, std::uint64_t(index));
  train::Random random(seed);
  const int reach = set.side / 8;
  for (std::int64_t index : indices) {
    View view;
    if (augments) {
      const auto places = static_cast<std::uint64_t>(2 * reach + 1);
      view = {int(random.below(places)) - reach, int(random.below(places)) - reach,
              random.below(2) == 1};
    }
    copy_picture(set.pixels.data() + static_cast<std::size_t>(index) * set.picture_bytes(),
                 set.side, view, out);
    out += set.picture_bytes();
  }
}

}  // namespace tutti::models::resnet
