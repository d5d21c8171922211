"""What this processor has beyond NumPy's baseline, for NPY_DISABLE_CPU_FEATURES: without it, it is another machine."""

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # NumPy 1
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

print(" ".join(f for f in __cpu_dispatch__ if __cpu_features__.get(f)))
