"""The stuck detector: is the work still moving?

`see` is shown every round at its end. It is pure, and costs the same at round 400 as at round 10. After a signal the
work is meant to change, so the caller continues with `afresh(watch)`; the same signal can then be raised again.

`patterns` has the table of everything that is looked for, `marks` says when an act repeats another, `masks` what is
volatile, `signals` has the thresholds.
"""
