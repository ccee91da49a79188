// Arrays of structs as structs of arrays and back, by the names of the members. Opt-in, since it needs Boost.Hana.
//
//   struct particle { float x, y, vx, vy; };                     // what a program keeps n of
//   struct particles { sinter::array x, y, vx, vy; };            // what it computes with
//   BOOST_HANA_ADAPT_STRUCT(particle, x, y, vx, vy);             // both in the global namespace
//   BOOST_HANA_ADAPT_STRUCT(particles, x, y, vx, vy);
//
//   auto p = from_structs<particles>(std::span<const particle>(list));   // one copy; the fields are views of it
//   p.x += p.vx;
//   std::vector<particle> moved = to_structs<particle>(p);               // one launch
#pragma once

#include "struct_fields.hpp"

#include <array>
#include <boost/hana.hpp>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter {

namespace structs {

template <class S>
concept adapted = boost::hana::Struct<S>::value;

/// Of a pair of name and accessor.
template <class Member>
constexpr const char* name_of() {
  return std::remove_cvref_t<decltype(boost::hana::first(std::declval<Member>()))>::c_str();
}

template <class S>
constexpr auto names() {
  return boost::hana::unpack(boost::hana::accessors<S>(), [](auto... member) {
    return std::array<std::string_view, sizeof...(member)>{name_of<decltype(member)>()...};
  });
}

template <class Inner, class Outer>
constexpr bool names_all_of() {
  for (const std::string_view inner : names<Inner>()) {
    bool found = false;
    for (const std::string_view outer : names<Outer>()) found = found || inner == outer;
    if (!found) return false;
  }
  return true;
}

/// The members of T, in order.
template <class T>
auto fields_of() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                "records are plain structs: of numbers, copied byte by byte");
  return boost::hana::unpack(boost::hana::accessors<T>(), [](auto... member) {
    static T one{};
    return std::array<struct_field, sizeof...(member)>{struct_field{
        name_of<decltype(member)>(), dtype_of<std::remove_cvref_t<decltype(boost::hana::second(member)(one))>>,
        static_cast<std::size_t>(reinterpret_cast<const char*>(&boost::hana::second(member)(one)) -
                                 reinterpret_cast<const char*>(&one))}...};
  });
}

/// The arrays named as the members of Arrays are.
template <class Arrays>
Arrays assembled(std::span<const array> list, std::span<const struct_field> fields) {
  Arrays result;
  boost::hana::for_each(boost::hana::accessors<Arrays>(), [&](auto member) {
    const std::string_view name = boost::hana::first(member).c_str();
    for (std::size_t k = 0; k < fields.size(); ++k)
      if (name == fields[k].name) boost::hana::second(member)(result) = list[k];
  });
  return result;
}

/// The arrays of `from`, in the order of `fields`.
template <class Arrays>
std::vector<array> ordered(const Arrays& from, std::span<const struct_field> fields) {
  std::vector<array> list(fields.size());
  boost::hana::for_each(boost::hana::accessors<Arrays>(), [&](auto member) {
    const std::string_view name = boost::hana::first(member).c_str();
    for (std::size_t k = 0; k < fields.size(); ++k)
      if (name == fields[k].name) list[k] = boost::hana::second(member)(from);
  });
  return list;
}

}  // namespace structs

/// A struct of arrays, [n] each, of the members of n structs: views of the structs' own memory; nothing is copied. The
/// structs must stay, and not change, while anything here needs them; `how` is that of from_pointer(), without strides
/// and in_place: what is written to a field goes to memory of its own. Members are numbers of any dtypes; padding is
/// skipped. Arrays needs only the members that are wanted. type_error for structs packed without alignment.
template <structs::adapted Arrays, structs::adapted T>
Arrays struct_view(std::span<T> records, const import_options& how = {}, place at = place::here()) {
  static_assert(structs::names_all_of<Arrays, std::remove_const_t<T>>(), "every array is named as a member is");
  const auto fields = structs::fields_of<std::remove_const_t<T>>();
  auto* const start = const_cast<std::remove_const_t<T>*>(records.data());
  const auto count = static_cast<std::int64_t>(records.size());
  return structs::assembled<Arrays>(structs::borrowed(start, count, {fields, sizeof(T)}, how, at), fields);
}

/// The same of a copy on the default device: one transfer, whatever the number of members.
template <structs::adapted Arrays, structs::adapted T>
Arrays from_structs(std::span<const T> records, place at = place::here()) {
  static_assert(structs::names_all_of<Arrays, T>(), "every array is named as a member is");
  const auto fields = structs::fields_of<T>();
  const auto count = static_cast<std::int64_t>(records.size());
  return structs::assembled<Arrays>(structs::copied(records.data(), count, {fields, sizeof(T)}, at), fields);
}

/// The columns of x, [n, k], as a struct of arrays, [n] each: memory of float4, say. Views; lazy. shape_error unless k
/// is the number of members.
template <structs::adapted Arrays>
Arrays from_columns(const array& x, place at = place::here()) {
  constexpr auto names = structs::names<Arrays>();
  std::array<struct_field, names.size()> fields;
  for (std::size_t k = 0; k < names.size(); ++k) fields[k] = {names[k].data(), x.type(), 0};
  return structs::assembled<Arrays>(structs::columns(x, names.size(), at), fields);
}

/// n structs of arrays, [n] each: evaluates in one launch, copies to the host and waits. Members that T doesn't have
/// are left out, padding is zero. type_error for arrays of another dtype than the member's, shape_error for other
/// shapes.
template <structs::adapted T, structs::adapted Arrays>
std::vector<T> to_structs(const Arrays& from, place at = place::here()) {
  static_assert(structs::names_all_of<T, Arrays>(), "every member is named as an array is");
  const auto fields = structs::fields_of<T>();
  const structs::layout s{fields, sizeof(T)};
  const std::vector<array> list = structs::ordered(from, fields);
  std::vector<T> records(static_cast<std::size_t>(structs::common_length(list, s, at)));
  structs::interleave(list, s, records.data(), at);
  return records;
}

/// The memory of n structs on the device, as an array [n, sizeof(T) / size of a member]: what kernels take as T*, or
/// float4*. Lazy, and one launch. type_error unless all members have one dtype.
template <structs::adapted T, structs::adapted Arrays>
array to_columns(const Arrays& from, place at = place::here()) {
  static_assert(structs::names_all_of<T, Arrays>(), "every member is named as an array is");
  const auto fields = structs::fields_of<T>();
  return structs::packed(structs::ordered(from, fields), {fields, sizeof(T)}, at);
}

}  // namespace sinter
