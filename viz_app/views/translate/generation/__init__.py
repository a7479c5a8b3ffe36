"""The view Generation: the same sentence by greedy, beam, speculative and mask-predict search."""
