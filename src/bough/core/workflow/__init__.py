"""Written plans: the text of a workflow file in, a `Plan` out.

`loading` reads a file: `keys` knows what is allowed in its tables and holds them against that, `nodes` has their order
and what each can refer to, `problems` has the messages for what cannot run, and where it is.
`inputs`, `placeholders` and `command_values` put values into texts and commands, `conditions` decides by results and
moves between states. `writing` turns a plan into a file.
"""
