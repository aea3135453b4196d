"""Written plans: the text of a workflow file in, a `Plan` out.

`loading` reads a file: `toml_positions` knows where everything is in it, `keys` and `fields` what is allowed there,
`nodes` makes steps of it, `order` and `state_machine` check that they can run, `problems` has the messages for what
cannot. `inputs`, `placeholders` and `command_quoting` put values into texts and command lines, `conditions` decides by
results, `transitions` moves between states. `writing` turns a plan into a file.
"""
