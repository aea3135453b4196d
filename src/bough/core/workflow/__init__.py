"""Written plans: the text of a workflow file becomes a `Plan`.

`loading` reads a file: `keys` checks its tables against the allowed keys, `nodes` has their order and what each can
refer to, `problems` has the messages for what cannot run, and its place. `inputs`, `placeholders` and `command_values`
put values into texts and commands, `conditions` decides by results and moves between states. `writing` turns a plan
into a file.
"""
