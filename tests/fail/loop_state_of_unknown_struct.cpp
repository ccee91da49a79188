// A struct is a state once BOOST_HANA_ADAPT_STRUCT names its arrays.
// expect: no matching function for call to .*for_loop
#include <sinter/sinter.hpp>
#include <sinter/struct_state.hpp>

struct orbit {
  sinter::array re, im;
};

orbit turned(const orbit& start) {
  return sinter::for_loop(3, start, [](const orbit& s) { return orbit{s.im, s.re}; });
}
