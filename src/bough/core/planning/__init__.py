"""Planning turns a goal into steps and a stuck task into smaller ones, from checked answers of planners.

Everything here is pure. A model is asked with a prompt and one tool (`tool_specs`); its answer becomes steps, or
`Problems`: sentences that go back to it once (the prompt `plan_repair`), after which the answer is rejected.
`similarity` tells when a step only restates another one and when a criterion is vague; `prompt_values` has the values
of each prompt.
"""
