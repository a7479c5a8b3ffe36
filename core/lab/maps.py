"""Attention of all heads of a model in training."""

import torch
from torch import Tensor

from core.capture import AttentionMap
from core.lab.training import Training
from core.lab.variants import built
from core.text.tokenizer import BOS_ID
from core.trace import Kind


@torch.no_grad()
def attention_maps(training: Training, source: str, target: str) -> dict[Kind, list[AttentionMap]]:
    """Maps of each kind, one a layer, of a pass over a pair; none of cross-attention without cross-attention.

    The weights are copied before the pass, so that another thread may train on.
    """
    task, recorded = training.task, list[tuple[Tensor, Tensor]]()  # weights [H, Q, K], mask [Q, K]
    module, _ = built(training.variants, training.settings)
    attention = module.scaled_dot_product_attention

    def recording(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        weights = attention(queries, keys, torch.eye(keys.size(-2)), mask)  # softmax(...) times the identity
        recorded.append((weights[0], mask[0, 0].expand(weights.shape[-2:])))
        return attention(queries, keys, values, mask)

    module.scaled_dot_product_attention = recording
    with torch.device("meta"):  # draws no random numbers
        model = training.new_model(module)
    model.load_state_dict({name: value.clone() for name, value in training.model.state_dict().items()}, assign=True)
    source_ids, target_ids = task.ids(source), task.ids(target)
    fed = [BOS_ID, *target_ids[:-1]]
    model(torch.tensor([source_ids]), torch.tensor([fed]))
    sources, queries, predicted = map(task.tokens, (source_ids, fed, target_ids))
    count = training.settings.num_layers
    decoder = recorded[count:]
    kinds = len(decoder) // count  # of attention in each layer of the decoder
    maps: dict[Kind, list[AttentionMap]] = {"encoder_self": [], "decoder_self": [], "cross": []}
    for layer in range(count):
        weights, mask = recorded[layer]
        maps["encoder_self"].append(AttentionMap("encoder_self", layer, weights, sources, sources, mask=mask))
        weights, mask = decoder[kinds * layer]
        maps["decoder_self"].append(AttentionMap("decoder_self", layer, weights, queries, queries, predicted, mask))
        if kinds > 1:
            weights, mask = decoder[kinds * layer + 1]
            maps["cross"].append(AttentionMap("cross", layer, weights, queries, sources, predicted, mask))
    return maps
