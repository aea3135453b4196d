"""A model that fails in known ways, and goals to try it on. See docs/design/ablation.md."""
