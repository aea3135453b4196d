"""The pure heart of bough: types, folds and policies. No I/O, no async, no clock, no logging."""
