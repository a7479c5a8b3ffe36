"""Text to tokens and back: tokenizers, sentences, white space, and text files."""
