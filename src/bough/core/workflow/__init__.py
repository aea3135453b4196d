"""Written plans: the text of a workflow file in, a `Plan` out.

`loading` reads a file: `places` knows where in it everything stands, `keys` and `fields` what may stand there, `nodes`
makes steps of it, `order` and `states` check that they can run, `problems` has the sentences for all that
cannot. `inputs`, `texts` and `commands` put values into texts and command lines, `conditions` decides by results,
`machine` moves between states. `writing` makes a file of a plan.
"""
