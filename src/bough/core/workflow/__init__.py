"""Written plans: the text of a workflow file in, a `Plan` out.

`loading` reads a file: `toml_positions` knows where everything is in it, `keys` what is allowed there, `tables` holds
one against the other, `nodes` and `fields` make steps of it, `order` checks that they can run, `problems` has the
messages for what cannot. `inputs`, `placeholders` and `command_values` put values into texts and commands, `conditions`
decides by results and moves between states. `writing` turns a plan into a file.
"""
