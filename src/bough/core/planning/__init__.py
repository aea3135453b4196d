"""Planning turns a goal into steps, and a stuck task into smaller ones, from answers of planning models that it checks.
What is wrong with an answer goes back to the model once, as `Problems`; after that the answer is rejected."""
