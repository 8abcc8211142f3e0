"""A problem of peakd's own: thrice the elements, which the model of bench.t gets right when it is told what is wrong."""
import torch

n = 4096


def thrice(a):
    return 3.0 * a


def get_inputs():
    return [torch.randn(n)]
