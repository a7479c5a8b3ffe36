"""Seven named signs that a translation is bad, with thresholds from the model's own translations."""
