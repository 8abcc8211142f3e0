"""What people write besides KernelBench: halves that a CPU cannot multiply, arguments by name, lists of tensors, a GPU by name, and
outputs in a dictionary that holds more than tensors."""
import torch


class Model(torch.nn.Module):
    def __init__(self, features=1, *, gain):
        super().__init__()
        self.linear = torch.nn.Linear(features, features).half()
        self.gain = gain

    def forward(self, parts, shift=None, verbose=False):
        x = torch.cat(parts, dim=0) + torch.zeros((), device="cuda", dtype=torch.float16)
        y = self.linear(x) * self.gain
        return {"y": y if shift is None else y + shift, "most": (y.argmax(-1), None), "rows": x.shape[0]}


def get_inputs():
    return [[torch.randn(5, 24).half(), torch.randn(7, 24).half()], None, True]


def get_init_inputs():
    return [[24], {"gain": 0.5}]
