#include "dsl/npz.hpp"

#include "dsl/zip_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sinter {

namespace {

constexpr std::string_view suffix = ".npy";

/// An archive and its directory.
struct archive {
  file_context context;
  std::uint64_t size = 0;
  file_handle file;
  std::vector<zip_member> members;

  archive(const std::string& path, const place& at) : context{path, at}, file(open_for_reading(context, size)) {
    members = read_zip_directory(file.get(), size, context);
    std::set<std::string_view> names;
    for (const zip_member& m : members)
      if (!names.insert(m.name).second) context.fail(fmt::format("it has two members called {}", m.name));
  }

  array load(const zip_member& m) const {
    const file_context c{fmt::format("{}: {}", context.path, m.name), context.at};
    zip_source from(file.get(), size, m, c);
    array a = read_npy(from);
    from.finish();
    return a;
  }
};

bool is_array(const zip_member& m) { return m.name.size() > suffix.size() && m.name.ends_with(suffix); }
std::string name_of(const zip_member& m) { return m.name.substr(0, m.name.size() - suffix.size()); }

}  // namespace

std::vector<named_array> load_npz(const std::string& path, place at) {
  const archive a(path, at);
  std::vector<named_array> found;
  for (const zip_member& m : a.members) {
    if (!is_array(m))
      a.context.fail(fmt::format("its member {} is no array", m.name), "load_npz(path, name) reads one of the others");
    found.push_back({name_of(m), a.load(m)});
  }
  return found;
}

array load_npz(const std::string& path, const std::string& name, place at) {
  const archive a(path, at);
  std::string names;
  for (const zip_member& m : a.members) {
    if (!is_array(m)) continue;
    if (name_of(m) == name) return a.load(m);
    names += (names.empty() ? "" : ", ") + name_of(m);
  }
  a.context.fail(fmt::format("it has no array called {}", name),
                 names.empty() ? "it has none at all" : "it has " + names);
}

std::vector<std::string> npz_names(const std::string& path, place at) {
  const archive a(path, at);
  std::vector<std::string> names;
  for (const zip_member& m : a.members)
    if (is_array(m)) names.push_back(name_of(m));
  return names;
}

void save_npz(const std::string& path, std::initializer_list<named_array> arrays, place at) {
  save_npz(path, std::span<const named_array>(arrays.begin(), arrays.size()), at);
}

void save_npz(const std::string& path, std::span<const named_array> arrays, place at) {
  const file_context c{path, at};
  std::set<std::string_view> names;
  std::vector<array> values;
  for (const named_array& a : arrays) {
    check_numpy_has(a.values.type(), fmt::format("save_npz: {}", a.name), at);
    if (a.name.empty()) c.fail("an array without a name");
    if (a.name.size() > 0xffff - suffix.size()) c.fail("a name of more than 65531 bytes");
    if (!names.insert(a.name).second) c.fail(fmt::format("two arrays are called {}", a.name));
    values.push_back(a.values);
  }
  eval_all(values, at);
  new_file f(c);
  zip_writer zip(f);
  for (const named_array& a : arrays)
    zip.add(a.name + std::string(suffix), npy_header_of(a.values), npy_values_of(a.values, at));
  zip.finish();
  f.commit();
}

}  // namespace sinter
