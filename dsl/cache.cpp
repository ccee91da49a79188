#include "dsl/cache.hpp"

#include "jit/build.hpp"
#include "jit/cache/bundle.hpp"
#include "jit/cache/settings.hpp"

#include <vector>

namespace sinter {

namespace {

static_assert(static_cast<int>(cache_mode::read_write) == static_cast<int>(jit::cache_mode::read_write));
static_assert(static_cast<int>(cache_mode::read_only) == static_cast<int>(jit::cache_mode::read_only));
static_assert(static_cast<int>(cache_mode::memory) == static_cast<int>(jit::cache_mode::memory));
static_assert(static_cast<int>(cache_mode::off) == static_cast<int>(jit::cache_mode::off));

}  // namespace

void set_cache(const cache_options& options) {
  jit::set_cache({options.directory, options.max_bytes, static_cast<jit::cache_mode>(options.mode)});
}

cache_options get_cache() {
  const jit::cache_settings s = jit::current_cache();
  return {s.directory.empty() ? jit::usual_cache_directory() : s.directory, s.max_bytes,
          static_cast<cache_mode>(s.mode)};
}

void export_kernels(const std::string& path, std::initializer_list<std::string> targets) {
  jit::export_kernels(path, std::vector<std::string>(targets));
}

void load_kernels(const std::string& path) { jit::load_bundle(path); }

void precompile_all(std::span<const array* const> arrays) {
  std::vector<jit::node*> roots;
  for (const array* a : arrays) roots.push_back(a->node());
  jit::precompile(roots, {});
}

void set_compile_mode(compile_mode m) {
  jit::current_options().compiling = m == compile_mode::async ? jit::compile_mode::async : jit::compile_mode::sync;
}

compile_mode get_compile_mode() {
  return jit::compiles_later(jit::current_options()) ? compile_mode::async : compile_mode::sync;
}

}  // namespace sinter
