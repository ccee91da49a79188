#!/usr/bin/env python3
"""Arrays to and from NumPy, PyTorch and CuPy through DLPack, without copies.

    samples/torch_interop.py build/samples/libtorch_interop.so

Prints a line for each library and device; a library that isn't installed is skipped, and says so. What it shows:
capsules are taken once and renamed, streams are named by whoever reads, deleters run when the last user is gone.
"""
import ctypes
import gc
import importlib
import sys
import weakref

api = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "build/samples/libtorch_interop.so")
POINTER, BOOL, INT64 = ctypes.c_void_p, ctypes.c_bool, ctypes.c_int64
api.interop_error.restype = ctypes.c_char_p
for name, result, arguments in [
    ("interop_stream", INT64, [ctypes.c_int32, ctypes.c_int32]),
    ("interop_import", POINTER, [POINTER, BOOL, BOOL]),
    ("interop_export", POINTER, [POINTER, BOOL, INT64]),
    ("interop_delete", None, [POINTER, BOOL]),
    ("interop_device", None, [POINTER, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int32)]),
    ("interop_pointer", POINTER, [POINTER]),
    ("interop_double", POINTER, [POINTER]),
    ("interop_increment", BOOL, [POINTER]),
    ("interop_free", None, [POINTER]),
]:
    getattr(api, name).restype = result
    getattr(api, name).argtypes = arguments

# A capsule keeps the pointer to its name: these live as long as the process.
NEW = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}
capsules = ctypes.pythonapi
capsules.PyCapsule_IsValid.argtypes = [POINTER, ctypes.c_char_p]
capsules.PyCapsule_GetPointer.argtypes = [POINTER, ctypes.c_char_p]
capsules.PyCapsule_GetPointer.restype = POINTER
capsules.PyCapsule_SetName.argtypes = [POINTER, ctypes.c_char_p]
DESTRUCTOR = ctypes.CFUNCTYPE(None, POINTER)
capsules.PyCapsule_New.argtypes = [POINTER, ctypes.c_char_p, DESTRUCTOR]
capsules.PyCapsule_New.restype = ctypes.py_object


@DESTRUCTOR
def drop(capsule):
    """Of a capsule that nobody took."""
    for versioned, name in NEW.items():
        if capsules.PyCapsule_IsValid(capsule, name):
            api.interop_delete(capsules.PyCapsule_GetPointer(capsule, name), versioned)


class Array:
    """An array of the library, as Python sees it."""

    def __init__(self, handle):
        self.handle = handle
        if not handle:
            raise RuntimeError(api.interop_error().decode())

    def __del__(self):
        api.interop_free(self.handle)

    @staticmethod
    def take(capsule, in_place=False):
        for versioned, name in NEW.items():
            if capsules.PyCapsule_IsValid(id(capsule), name):
                pointer = capsules.PyCapsule_GetPointer(id(capsule), name)
                taken = Array(api.interop_import(pointer, versioned, in_place))
                capsules.PyCapsule_SetName(id(capsule), USED[versioned])
                return taken
        raise RuntimeError("the capsule was taken already, or holds no tensor")

    @staticmethod
    def of(tensor, in_place=False):
        kind, number = tensor.__dlpack_device__()
        stream = api.interop_stream(int(kind), number)
        return Array.take(tensor.__dlpack__(stream=stream) if stream != -1 else tensor.__dlpack__(), in_place)

    def __dlpack_device__(self):
        kind, number = ctypes.c_int32(), ctypes.c_int32()
        api.interop_device(self.handle, kind, number)
        return kind.value, number.value

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        pointer = api.interop_export(self.handle, versioned, 1 if stream is None else stream)
        if not pointer:
            raise RuntimeError(api.interop_error().decode())
        return capsules.PyCapsule_New(pointer, NEW[versioned], drop)

    def pointer(self):
        return api.interop_pointer(self.handle)

    def doubled(self):
        return Array(api.interop_double(self.handle))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_library(make, back, address, equal, dtypes):
    """`make(dtype)` is a tensor [3, 4] of small numbers; `back` takes an object with __dlpack__."""
    for dtype in dtypes:
        x = make(dtype)
        a = Array.of(x)
        check(a.pointer() == address(x), f"{dtype}: the memory is shared on the way in")
        y = back(a)
        check(address(y) == address(x), f"{dtype}: and on the way out")
        check(equal(y, x), f"{dtype}: values")
        check(equal(back(a.doubled()), x + x), f"{dtype}: computed values")
        for view in (x.T, x[1:, ::2], x[::2, 1]):
            check(equal(back(Array.of(view)), view), f"{dtype}: strides {view.shape}")
            check(equal(back(Array.of(view).doubled()), view + view), f"{dtype}: computed of strides {view.shape}")
    x = make(dtypes[0])
    capsule = x.__dlpack__()
    Array.take(capsule)
    try:
        Array.take(capsule)
        check(False, "a capsule is taken once")
    except RuntimeError as e:
        check("taken already" in str(e), str(e))
    before = x + 1
    written = Array.of(x, in_place=True)
    check(api.interop_increment(written.handle), api.interop_error().decode())
    check(equal(x, before), "writes in place reach the tensor")
    kept = Array.of(x)
    check(api.interop_increment(kept.handle), api.interop_error().decode())
    check(equal(x, before), "others don't")
    unused = a.__dlpack__()  # nobody takes it: its destructor gives it back
    del unused
    gc.collect()


def numpy_rows(np):
    def make(dtype):
        return np.arange(12).reshape(3, 4).astype(dtype)

    names = ["float32", "float64", "float16", "complex64", "complex128"]
    names += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    check_library(make, np.from_dlpack, lambda x: x.__array_interface__["data"][0], np.array_equal, names)

    class Tracked(np.ndarray):
        pass

    x = make("float32").view(Tracked)
    gone = weakref.ref(x)
    a = Array.of(x)
    del x
    gc.collect()
    check(gone() is not None, "the array keeps the tensor alive")
    del a
    gc.collect()
    check(gone() is None, "and lets it go")
    yield "cpu"


def torch_rows(torch):
    types = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
    types += [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        check_library(
            lambda dtype: torch.arange(12, device=device).reshape(3, 4).to(dtype), torch.from_dlpack,
            lambda x: x.data_ptr(), torch.equal, types)
        yield device


def cupy_rows(cupy):
    types = ["float32", "float64", "float16", "complex64", "complex128", "int8", "int32", "int64", "uint8", "uint32"]
    check_library(
        lambda dtype: cupy.arange(12).reshape(3, 4).astype(dtype), cupy.from_dlpack, lambda x: x.data.ptr,
        lambda a, b: bool((a == b).all()), types)
    yield "cuda"


failures = 0
for library, rows in [("numpy", numpy_rows), ("torch", torch_rows), ("cupy", cupy_rows)]:
    try:
        module = importlib.import_module(library)
    except ImportError as e:
        print(f"sample=torch_interop form={library} skipped: {e}")
        continue
    try:
        for device in rows(module):
            print(f"sample=torch_interop form={library} device={device} version={module.__version__} ok=true")
    except Exception as e:
        failures += 1
        print(f"sample=torch_interop form={library} ok=false {type(e).__name__}: {e}")
sys.exit(1 if failures else 0)
