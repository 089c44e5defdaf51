"""Vendors with APIs of their own, as scenes: Replicate, Hugging Face's tasks, llama.cpp, assistants, knowledge bases, Adaline's ids."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
