// Libraries of others (BLAS, FFT, ...), opened at run time: nothing of them is linked, and a program runs without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// A library that stays open until the end of the process, or the reason why there is none.
class library {
 public:
  /// The first of `names` (file names that the loader looks for, or paths) that can be opened and has all of `symbols`.
  /// `what` and `package` are for the reason: "BLAS", "libopenblas0 (Debian, Ubuntu)".
  library(std::string_view what, const std::vector<std::string>& names, std::string_view package,
          const std::vector<std::string>& symbols = {});

  explicit operator bool() const { return handle_ != nullptr; }
  /// Null when it isn't there.
  void* find(const std::string& symbol) const;
  template <class Function>
  Function* find(const std::string& symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }
  /// Where it was found.
  const std::string& path() const { return path_; }
  /// Why there is none, what has been looked for, and which package has it; empty when it is open.
  const std::string& absence() const { return absence_; }

 private:
  void* handle_ = nullptr;
  std::string path_, absence_;
};

/// Where a library of the CUDA toolkit may be: what CUDA_HOME names, what the loader finds, the usual folder.
/// `versions`: of its name, the newest first.
std::vector<std::string> cuda_library_names(std::string_view stem, const std::vector<int>& versions);

}  // namespace sinter::runtime
