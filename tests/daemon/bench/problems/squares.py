"""A problem of peakd's own: squares, which the model of bench.t always gets wrong."""
import torch

n = 512


def squares(a):
    return a * a


def get_inputs():
    return [torch.randn(n)]
