"""The stuck detector: is the work still making progress?

`observe_round` sees every round at its end. It is pure, and costs the same at round 400 as at round 10. After a signal
the work should change, so the caller continues with `reset_memory(memory)`; the same signal can then be raised again.

`patterns` has the table of everything it looks for, `marks` says when an act repeats another, `masks` what is
volatile, `signals` has the thresholds.
"""
