// From .npy files to a .npy file: an image of bytes, linearised and weighted by a mask, in one launch between them.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

using namespace sinter;

namespace {

/// A new folder under the system's temporary one, removed at the end.
struct temporary_folder {
  std::string path = (std::filesystem::temp_directory_path() / "sinter_sample_XXXXXX").string();
  temporary_folder() {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + path);
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
};

}  // namespace

int main(int argc, char** argv) {
  return samples::run("npy_pipeline", argc, argv, [](samples::report& report) {
    constexpr std::int64_t height = 480, width = 640, channels = 3;
    const auto bytes = samples::random_values<std::uint8_t>(height * width * channels, 0, 256, 1);
    const auto weights = samples::random_values<float>(height * width, 0, 1, 2);
    const temporary_folder folder;
    const std::string image_file = folder.path + "/image.npy", mask_file = folder.path + "/mask.npy";
    const std::string result_file = folder.path + "/result.npy";
    save_npy(image_file, array(bytes, {height, width, channels}));
    save_npy(mask_file, array(weights, {height, width}));

    const auto fixed = [&] {
      array image = load_npy(image_file), mask = load_npy(mask_file);
      array linear = pow(image.astype(f32) / 255, 2.2);
      array result = linear * mask(all, all, newaxis);  // one weight for the three channels of a pixel
      save_npy(result_file, result);                    // evaluates
      return result_file;
    };
    report.row("fixed", 2e-6, fixed, [&](const std::string& file) {
      const array result = load_npy(file);
      if (!(result.extents() == shape{height, width, channels})) throw std::runtime_error(file + ": another shape");
      return samples::largest_error(result.to_vector<float>(), [&](std::size_t k) {
        return std::pow(bytes[k] / 255.0, 2.2) * static_cast<double>(weights[k / channels]);
      });
    });
  });
}
