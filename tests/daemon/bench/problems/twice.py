"""A problem of peakd's own: twice the elements, which the model of bench.t gets right, and later faster."""
import torch

n = 4096


def twice(a):
    return 2.0 * a


def get_inputs():
    return [torch.randn(n)]
