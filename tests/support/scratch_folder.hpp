// A folder for one test, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <string>

#include <ftw.h>
#include <unistd.h>

namespace sinter_test {

class scratch_folder {
 public:
  scratch_folder() : path_("/tmp/sinter-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    nftw(
        path_.c_str(), [](const char* path, const struct stat*, int, FTW*) { return remove(path); }, 16,
        FTW_DEPTH | FTW_PHYS);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sinter_test
