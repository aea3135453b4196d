"""A model that fails in known ways, and goals to try it on. See bench/results/2026-11-16-ablation.md."""
