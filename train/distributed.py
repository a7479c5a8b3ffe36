"""One process or many: `python -m train fit ...` is one, `torchrun --nproc-per-node=N -m train -- fit ...` is N.

The `--` keeps torchrun from taking our `--run` for the beginning of an option of its own.

On M machines, run the same on each, with a name for the run and the address of one of them:

    torchrun --nnodes=M --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=NAME --rdzv-endpoint=HOST:PORT --max-restarts=3
    \\
        -m train -- fit base --data FOLDER --run FOLDER

All of them must see the data and the run's folder. A step sees `accumulate` batches from each process. Where a process
dies, torchrun starts all of them again, and they go on from the last state saved.
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


@dataclass(frozen=True)
class World:
    """The processes that train one model together, seen from one of them; all of them call every method."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes files and talks."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with gradients that are the mean over all processes."""
        if self.size == 1:
            return module
        devices = [self.device.index] if self.device.type == "cuda" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # broadcast_buffers has another name from PyTorch 2.13 on
            return DistributedDataParallel(module, device_ids=devices, broadcast_buffers=False)

    def no_sync(self, module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """For the batches of a step but its last: gradients add up here and are exchanged only then."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext()

    def sum(self, numbers: Tensor) -> Tensor:
        """The sum over all processes of numbers on the CPU."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        return flag if self.size == 1 else bool(self.sum(torch.tensor(int(flag))))

    def gather(self, thing: Any) -> list[Any]:
        """What every process has, by rank."""
        things = [thing] * self.size
        if self.size > 1:
            dist.all_gather_object(things, thing)
        return things

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            self.sum(torch.zeros(()))


@contextmanager
def join(device: torch.device) -> Iterator[World]:
    """Be one of the processes that torchrun started, or alone where it did not."""
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
        # On one node the store outlives a restart, and the addresses of killed processes in it would be waited for.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt-{attempt}", store)  # pyright: ignore[reportPrivateImportUsage]  # it is documented
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", store=store, rank=rank, world_size=size
    )
    try:
        yield World(device, dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
