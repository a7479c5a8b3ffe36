"""The view Patching: activations of one sentence put into the pass of another."""
