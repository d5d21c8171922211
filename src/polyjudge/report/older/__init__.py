"""Results as terminal text: one module per command, on the helpers of `base`."""
