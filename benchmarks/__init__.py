"""Benchmarks that anyone can repeat; not part of the installed package."""
