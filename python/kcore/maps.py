"""Maps from samples to columns in which a kernel is, or is about, the inner product.

=======================  ===========================================================================
`EmpiricalKernelMap`     exact on the samples of the fit, from all eigenvectors of their matrix
`KernelPCA`              the components of largest variance, of centred samples
`Nystroem`               kernel values with some samples, made orthonormal
`PolynomialKernelMap`    exact: the products of features, with their factors
`TaylorMap`              of the Gaussian kernel, with a bound of its error
`RandomFourierMap`       of RBF, Laplacian and Matern, within an error that holds on average
=======================  ===========================================================================

The last three are what `Kernel.feature_map` returns. `docs/maps.md` says what each costs, and when
to use it.
"""

from kcore._decomposition import EmpiricalKernelMap
from kcore._feature_maps import PolynomialKernelMap, RandomFourierMap, TaylorMap
from kcore._kernel_pca import KernelPCA
from kcore._nystroem import Nystroem

__all__ = [
    "EmpiricalKernelMap",
    "KernelPCA",
    "Nystroem",
    "PolynomialKernelMap",
    "RandomFourierMap",
    "TaylorMap",
]
