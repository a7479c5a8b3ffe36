"""Data-parallel training: one process, or several with torchrun.

`torchrun --nproc-per-node=N -m train -- fit ...` for N. Without `--`, torchrun takes `--run` for one of its options.

On M machines, run the same command on each, with a name for the run and the address of one of them:

    torchrun --nnodes=M --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=NAME --rdzv-endpoint=HOST:PORT --max-restarts=3
    \\
        -m train -- fit base --data FOLDER --run FOLDER

All machines must share the data and the run's folder. A step takes `accumulate` batches from each process. If a process
dies, torchrun restarts all of them, and they resume from the last saved state.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

# The groups that this process has joined. Dropping the last reference to one waits for its threads. Python does that
# without its global lock; the reducer of DistributedDataParallel holds the lock, for which a thread that still has a
# tensor waits in turn, forever.
_joined: list[Any] = []


@dataclass(frozen=True)
class World:
    """A group of processes that train one model; every method is collective, so all processes must call it."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process (rank 0) writes files and logs."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients averaged over all processes."""
        if self.size == 1:
            return module
        devices = [self.device.index] if self.device.type == "cuda" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # broadcast_buffers is renamed in PyTorch 2.13
            return DistributedDataParallel(module, device_ids=devices, broadcast_buffers=False)

    def no_sync(self, module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Accumulate gradients locally; they are reduced in the backward pass of the last batch of a step."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext()

    def sum(self, numbers: Tensor) -> Tensor:
        """Return the sum of a CPU tensor over all processes."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        return flag if self.size == 1 else bool(self.sum(torch.tensor(int(flag))))

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Wait until every process has called this (a barrier)."""
        if self.size > 1:
            self.sum(torch.zeros(()))


@contextmanager
def join(device: torch.device) -> Iterator[World]:
    """Join the processes started by torchrun; without torchrun, yield a world of one process.

    Raises:
        ValueError: several processes on MPS, which cannot exchange gradients.
    """
    if "WORLD_SIZE" not in os.environ:
        yield World(device)
        return
    if device.type == "mps":
        raise ValueError("several processes cannot train on mps together: give --device cpu, or start one process")
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    store, rank, size = next(rendezvous("env://"))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # On one node the store survives a restart, and processes would wait at the addresses of killed ones.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt-{attempt}", store)  # pyright: ignore[reportPrivateImportUsage]  # documented
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", store=store, rank=rank, world_size=size
    )
    _joined.append(dist.group.WORLD)
    try:
        yield World(device, dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
