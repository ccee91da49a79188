// What emulated CUDA code and the library that runs it (jit/raw/block_runner.cpp) share: included by one, and embedded
// as text in front of what users write for the other. Sections (prelude.cuh) are for string kernels.
#ifndef SINTER_EMULATION_ABI
#define SINTER_EMULATION_ABI

//@host uint3
struct uint3 { unsigned int x, y, z; };

//@host dim3
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int columns = 1, unsigned int rows = 1, unsigned int layers = 1)
      : x(columns), y(rows), z(layers) {}
  constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

//@raw
namespace sinter_emulation {

using word = unsigned long long;

/// The threads of a block, taken one after another by whichever fiber is free to. While none has had to wait
/// (`tracked` is false), those before `next` but the last one taken have exited.
struct thread_loop {
  unsigned int next, count, exited;
  bool tracked;
  uint3 index;                   ///< of thread `next`
  unsigned int exited_bits[32];  ///< a bit for each thread; kept while `tracked`
};

/// Variables of the emulated code that belong to the processor's thread, and are set before a block runs.
struct thread_variables {
  uint3 *thread, *block;
  dim3 *threads, *blocks;
  char** dynamic_shared;
  word* dynamic_bytes;
};

/// From what the lanes in `mask` brought to what each gets.
using combine_function = void (*)(unsigned int mask, const word* values, const word* extras, word* results);

/// A place in the user's text.
struct spot {
  const char* file;
  unsigned int line;
  unsigned int site = 0;  ///< tells calls of one line apart
};

enum class barrier_kind : int { plain, count, all, any };

/// What emulated code asks of the library.
struct services {
  int (*barrier)(barrier_kind kind, int predicate, const spot& at);
  word (*exchange)(const char* name, unsigned int mask, word value, word extra, combine_function combine,
                   const spot& at);
  unsigned int (*active_mask)(const spot& at);
  void (*grid_barrier)(const spot& at);
  void (*yield)();
  /// Ends the launch with an error; doesn't return.
  void (*fault)(const char* what, const spot& at);
};

struct parameter {
  const char* type;  ///< as the compiler shows it, within the name of a function: see type_text
  word bytes;
  bool is_pointer, is_const;
  int element;  ///< sinter::dtype, -1 for none
};

/// A kernel or variable of the compiled text, in a list.
struct registration {
  const char* name;
  const parameter* parameters;
  int count;  ///< of parameters; -1: a variable
  /// Runs threads until none is left to start. `arguments[k]` points to the k-th argument.
  void (*run)(thread_loop& loop, void* const* arguments);
  void* address;
  word bytes;
  const registration* previous;
};

/// Found by its name in the compiled text's library.
struct module_table {
  int version;
  const registration* last;
  thread_variables (*variables)();
  const services* calls;
};

constexpr int abi_version = 2;

}  // namespace sinter_emulation

#endif
