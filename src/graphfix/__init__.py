"""graphfix finds and repairs misuse of PyTorch's autograd graph."""

__version__ = "0.1.0"
