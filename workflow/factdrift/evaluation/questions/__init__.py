"""What is asked: tables of benchmarks as questions, without any model."""
