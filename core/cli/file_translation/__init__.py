"""Translation of files of any length, in several processes; resumable."""
