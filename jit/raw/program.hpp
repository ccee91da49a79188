// Users' CUDA C++ programs: source or an image from a file, compiled and loaded once for each device, and their
// kernels. Programs are interned by text and options and live as long as the process: pointers to them and their
// kernels stay good, objects made of the same text share one module, its variables too. Thread-safe.
#pragma once

#include "jit/raw/declaration.hpp"
#include "runtime/error.hpp"
#include "runtime/module.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::runtime { struct buffer; }

namespace sinter::jit {

class raw_program;
class emulated_module;  // jit/raw/emulated_module.hpp

/// A kernel of an emulation.
struct emulated_kernel {
  emulated_module* module;
  const raw_function* function;
};

/// A kernel on one device, ready to launch.
struct raw_entry {
  raw_program* program = nullptr;
  runtime::device* where = nullptr;
  std::string name;                       ///< as asked for
  std::vector<raw_parameter> parameters;  ///< in order
  bool knows_parameters = false;          ///< false: neither the driver nor the source tells how many there are
  runtime::kernel_facts facts;
  runtime::buffer* variables = nullptr;  ///< stands for what a launch may change besides its outputs; null: nothing
  bool strides = false;  ///< its source mentions gridDim or has loops: a thread may do more than one element's work

  /// Where it runs: a CUDA function, replaced when its module is built anew; or the emulation's.
  std::atomic<runtime::module_function*> code{nullptr};
  std::atomic<const emulated_kernel*> emulated{nullptr};

  std::atomic<int> usual_threads{0};  ///< of a block in for_each(); 0: not asked for yet
  std::mutex warning;
  std::atomic<bool> has_warned{false};
  std::vector<place> warned;  ///< lines that were told about their launch's shape
};

class raw_program {
 public:
  explicit raw_program(raw_source source);
  raw_program(std::string name, std::string path, std::vector<std::byte> bytes, const place& site);
  ~raw_program();

  const std::string& name() const { return source_.name; }
  const place& site() const { return source_.site; }
  const raw_declarations& declarations() const { return declared_; }

  /// More kernels that the next compilation is to make.
  void want(const std::vector<std::string>& expressions);
  /// The kernel on `d`, compiled if need be. compile_error, the same at each call; error when there is no such kernel;
  /// device_error when an image can't run there.
  raw_entry& entry(const std::string& name, runtime::device& d);
  /// The __device__ or __constant__ variable. error when there is none.
  raw_global variable(const std::string& name, runtime::device& d, const place& at);
  /// Compiles for `d` unless that is done; what the compiler said.
  std::string compile(runtime::device& d);

 private:
  struct loaded;

  loaded& on(runtime::device& d);
  raw_entry& add_entry(loaded& l, const std::string& name);
  void find_code(loaded& l, raw_entry& e);
  void find_cuda_code(loaded& l, raw_entry& e);
  void find_emulated_code(loaded& l, raw_entry& e);
  bool resolve(loaded& l, raw_entry& e);
  bool resolve_emulated(loaded& l, raw_entry& e);
  void load_file(loaded& l);
  void make_ready(loaded& l);
  std::vector<std::string> wanted_with(const std::string& name);
  void build_first(loaded& l, const std::string& name);
  void build(loaded& l, std::vector<std::string> expressions);
  void emulate_first(loaded& l, const std::string& name);
  void emulate(loaded& l, std::vector<std::string> expressions);
  void build_more(loaded& l, const std::string& expression);
  void keep_variables(loaded& l, runtime::module& from, runtime::module& to);
  void tell_of_warnings(const loaded& l) const;
  void describe(loaded& l, raw_entry& e);
  [[noreturn]] void no_such_kernel(const std::string& name) const;
  [[noreturn]] void fail(loaded& l, const compile_error& e, const std::string& name);

  const raw_source source_;
  std::vector<std::string> wanted_;  ///< what to compile at first
  std::string path_;              ///< of an image; empty: a source
  std::vector<std::byte> image_;  ///< likewise
  raw_declarations declared_;
  std::mutex guard_;
  std::vector<std::unique_ptr<loaded>> devices_;
};

/// The program of that text and those options.
raw_program& find_program(raw_source source);
/// The program in a file: cubin, PTX or fatbin. io_error when it can't be read.
raw_program& load_program(const std::string& path, const place& at);

}  // namespace sinter::jit
