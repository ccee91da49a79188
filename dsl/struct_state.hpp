// Structs as states of while_loop, for_loop and if_else: opt-in, since it needs Boost.Hana.
//
//   struct orbit { sinter::array re, im, n; };
//   BOOST_HANA_ADAPT_STRUCT(orbit, re, im, n);   // in the global namespace
#pragma once

#include "loops.hpp"

#include <boost/hana.hpp>

namespace sinter {

template <class S>
  requires boost::hana::Struct<S>::value
struct loop_state<S> {
  template <class F>
  static void each(S& state, F&& f) {
    boost::hana::for_each(boost::hana::accessors<S>(), [&](auto accessor) {
      auto& part = boost::hana::second(accessor)(state);
      loop_state<std::remove_cvref_t<decltype(part)>>::each(part, f);
    });
  }
};

}  // namespace sinter
