"""Written plans: read the text of a workflow file as a `Plan`.

`loading` reads a file: `keys` checks its tables against the allowed keys, `nodes` knows the order of the tables and
what each can refer to, and `problems` collects messages about what cannot run, with line numbers. `inputs` and
`placeholders` put values into texts and commands; `control_flow` evaluates conditions on results, and transitions
between states. `writing` turns a plan into a file.
"""
