"""Planning turns a goal into steps, and a stuck task into smaller ones, from answers of planning models that it checks.

Nothing here has side effects. A model gets a prompt and one tool (`tool_specs`); its answer becomes steps, or
`Problems`: sentences that go back to the model once (the prompt `plan_repair`), after which the answer is rejected.
`similarity` finds steps that only restate another one, and vague criteria; `prompt_values` has the values that fill
each prompt.
"""
