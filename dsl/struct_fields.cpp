// Structs are rows of bytes: memory full of them is a matrix of each of their dtypes, and a member a column of one.
#include "dsl/struct_fields.hpp"

#include "dsl/create.hpp"
#include "dsl/foreign_internal.hpp"
#include "dsl/join.hpp"
#include "dsl/record_internal.hpp"
#include "jit/engine.hpp"
#include "runtime/backend.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace sinter::structs {

namespace {

using jit::axis_map;

/// Column `k` of the bytes of `count` structs seen as rows of `type`.
array column(const array& bytes, std::int64_t count, std::int64_t row_bytes, dtype type, std::int64_t k,
             const place& at) {
  using memory = runtime::reference<runtime::buffer>;
  const shape rows{count, row_bytes / size_of(type)};
  const jit::node_ref n = jit::make_buffer_node(memory::share(bytes.node()->values()), type, rows, at);
  const axis_map map[] = {{0, 1, 0}, {k, 0, -1}};
  return wrap(jit::make_view(n.get(), map, shape{count}, at));
}

array member(const array& bytes, std::int64_t count, const layout& s, const struct_field& f, const place& at) {
  const auto row = static_cast<std::int64_t>(s.bytes), offset = static_cast<std::int64_t>(f.offset);
  const auto fits = [&](std::int64_t size) { return row % size == 0 && offset % size == 0; };
  const std::int64_t size = size_of(f.type);
  if (fits(size)) return column(bytes, count, row, f.type, offset / size, at);
  if (!is_complex(f.type) || !fits(size / 2))
    throw_type_error(fmt::format("member {} of {} is {} bytes into structs of {}: not aligned", f.name,
                                 to_string(f.type), f.offset, s.bytes),
                     at, "don't pack the struct");
  // Complex numbers are aligned as their parts are.
  const dtype part = f.type == c64 ? f32 : f64;
  const array re = column(bytes, count, row, part, offset * 2 / size, at);
  const array im = column(bytes, count, row, part, offset * 2 / size + 1, at);
  return record(jit::op::make_complex, re, im, at);
}

std::vector<array> members(const array& bytes, std::int64_t count, const layout& s, const place& at) {
  std::vector<array> list;
  for (const struct_field& f : s.fields) list.push_back(member(bytes, count, s, f, at));
  return list;
}

shape bytes_of(std::int64_t count, const layout& s) {
  checked_bytes(shape{count, static_cast<std::int64_t>(s.bytes)}, u8);
  return shape{count * static_cast<std::int64_t>(s.bytes)};
}

void check_type(const array& a, const struct_field& f, const place& at) {
  if (a.type() != f.type)
    throw_type_error(fmt::format("member {} is {}, its array {}", f.name, to_string(f.type), to_string(a.type())), at,
                     fmt::format("x.astype({}) converts", to_string(f.type)));
}

bool have_one_type(const layout& s) {
  for (const struct_field& f : s.fields)
    if (f.type != s.fields[0].type) return false;
  return static_cast<std::int64_t>(s.bytes) % size_of(s.fields[0].type) == 0;
}

}  // namespace

std::vector<array> borrowed(void* records, std::int64_t count, const layout& s, const import_options& how,
                            const place& at) {
  if (how.in_place || !how.strides.empty())
    throw_type_error("struct_view: views of structs have no strides of their own, and aren't written in place", at,
                     "to_structs makes new structs");
  for (const struct_field& f : s.fields)  // every member's alignment divides the struct's: one address tells
    if (reinterpret_cast<std::uintptr_t>(records) %
            static_cast<std::uintptr_t>(is_complex(f.type) ? size_of(f.type) / 2 : size_of(f.type)) !=
        0)
      throw_type_error(fmt::format("struct_view: the address {} is not aligned for member {} of {}", records, f.name,
                                   to_string(f.type)),
                       at);
  const array bytes = from_pointer(records, u8, bytes_of(count, s), how, at);
  return members(bytes, count, s, at);
}

std::vector<array> copied(const void* records, std::int64_t count, const layout& s, const place& at) {
  return members(array(records, u8, bytes_of(count, s), at), count, s, at);
}

std::vector<array> columns(const array& x, std::size_t count, const place& at) {
  if (x.rank() != 2 || x.extents()[1] != static_cast<std::int64_t>(count))
    throw_shape_error(fmt::format("from_columns: shape {} for a struct of {} members", to_string(x.extents()), count),
                      at, "a column for each member");
  std::vector<array> list;
  for (std::int64_t k = 0; k < x.extents()[1]; ++k) {
    const axis_map map[] = {{0, 1, 0}, {k, 0, -1}};
    list.push_back(wrap(jit::make_view(x.node(), map, shape{x.extents()[0]}, at)));
  }
  return list;
}

std::int64_t common_length(std::span<const array> fields, const layout& s, const place& at) {
  for (std::size_t k = 0; k < fields.size(); ++k) {
    check_type(fields[k], s.fields[k], at);
    if (fields[k].rank() != 1 || fields[k].size() != fields[0].size())
      throw_shape_error(fmt::format("structs: member {} has shape {}, member {} {}", s.fields[k].name,
                                    to_string(fields[k].extents()), s.fields[0].name, to_string(fields[0].extents())),
                        at, "each array has one axis, and all have the same length");
  }
  return fields.empty() ? 0 : fields[0].size();
}

array packed(std::span<const array> fields, const layout& s, const place& at) {
  const std::int64_t count = common_length(fields, s, at);
  if (fields.empty() || !have_one_type(s))
    throw_type_error("to_columns: the members are of several dtypes, so no array can be their memory", at,
                     "to_structs makes structs of any members on the host");
  const dtype type = s.fields[0].type;
  std::vector<array> all_columns(s.bytes / static_cast<std::size_t>(size_of(type)), zeros(shape{count}, type, at));
  for (std::size_t k = 0; k < fields.size(); ++k)
    all_columns[s.fields[k].offset / static_cast<std::size_t>(size_of(type))] = fields[k];
  return stack(all_columns, 1, at);
}

void interleave(std::span<const array> fields, const layout& s, void* records, const place& at) {
  const auto count = static_cast<std::size_t>(common_length(fields, s, at));
  if (count == 0) return;
  if (have_one_type(s)) {
    jit::read(packed(fields, s, at).node(), records, count * s.bytes, at);
    return;
  }
  eval_all(fields, at);
  std::memset(records, 0, count * s.bytes);
  std::vector<std::byte> values;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const auto size = static_cast<std::size_t>(size_of(s.fields[k].type));
    values.resize(count * size);
    jit::read(fields[k].node(), values.data(), values.size(), at);
    std::byte* to = static_cast<std::byte*>(records) + s.fields[k].offset;
    for (std::size_t n = 0; n < count; ++n) std::memcpy(to + n * s.bytes, &values[n * size], size);
  }
}

}  // namespace sinter::structs
