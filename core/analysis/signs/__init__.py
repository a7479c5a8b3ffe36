"""Seven named signs that a translation is bad, four with thresholds from the model's own translations."""
