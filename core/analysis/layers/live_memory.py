"""Memory of a computation, counted from the tensors that its operations return."""

import weakref
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveMemory(TorchDispatchMode):
    """Count memory allocated inside a `with` block, on any device, without scratch space within one operation.

    Attributes:
        live: bytes allocated in the block and not yet freed.
        peak: maximum of `live`.
        largest: bytes of the largest single allocation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = self.largest = 0
        self._seen: set[int] = set()

    def __enter__(self) -> "LiveMemory":
        super().__enter__()
        return self

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        came_in = {
            leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)
        }
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self._count(leaf, came_in)
        return out

    def _count(self, tensor: Tensor, came_in: set[int]) -> None:
        """Count a storage once; views share it, and inputs of the block are not counted."""
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
        if not size or address in self._seen or address in came_in:
            return
        self._seen.add(address)
        self.live += size
        self.peak, self.largest = max(self.peak, self.live), max(self.largest, size)
        weakref.finalize(storage, self._freed, address, size)

    def _freed(self, address: int, size: int) -> None:
        self._seen.discard(address)
        self.live -= size
