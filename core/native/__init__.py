"""Steps of decoding in C++, optional."""
