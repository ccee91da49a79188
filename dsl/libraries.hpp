// Switches for the libraries of routines that some operations are done by, when they are installed. They apply to what
// is recorded later, in the whole process. Opt-in: not part of <sinter/sinter.hpp>.
//
// Products of matrices (matmul, dot, tensordot, einsum) of floats or complex numbers go to a BLAS when they have at
// least 32 x 32 x 32 multiplications and no extent below 4, and neither factor is a one-hot matrix: cuBLAS, or on the
// cpu device OpenBLAS or another one, opened when first needed. It sums f32 in f32, and f16 and bf16 in f32. Its
// operands are computed and stored first; transposed matrices and other views with rows or columns along memory are
// read where they are (also conj of a transposed one). What is made of the result is a launch of its own, but for what
// the call itself can do when nothing else reads the product: a number as factor, and on cuda, where cuBLASLt is there,
// also a second array (c0 * number), a bias along the last axis, and maximum(.., 0): all of
// maximum(2 * matmul(a, b) + 3 * c0 + bias, 0) is one call. Such numbers are rounded once, at the end;
// math_mode::strict keeps the steps apart. Where the library is missing one warning is given, and generated kernels
// compute the products; so they do all else, and loops inside kernels: as sums that fuse, f32 in f64.
#pragma once

namespace sinter {

/// How products of f32 and c64 matrices are computed on cuda. `ieee`: in f32 throughout. `tf32`: factors are rounded to
/// 11 significant bits first (relative errors of about 1e-3 instead of 1e-7), which tensor cores do several times as
/// fast. Applies when the product is computed.
enum class matmul_precision : unsigned char { ieee, tf32 };
void set_matmul_precision(matmul_precision p);
matmul_precision get_matmul_precision();

/// `false`: as if no library were installed: generated kernels do what they can. So does SINTER_LIBRARIES=off in the
/// environment. SINTER_BLAS names another library for the cpu device (with the C interface and 32-bit integers).
void set_use_libraries(bool on);
bool get_use_libraries();

}  // namespace sinter
