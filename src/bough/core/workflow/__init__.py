"""Written plans: `loading` reads the text of a workflow file as a `Plan`, and `writing` turns a plan into a file."""
