"""Whatever says how tests are found and run.

- `compare`: which module looks at which file. `shell`, `recipes`: command lines, and lists of them.
- `settings`, `reach`: pytest's settings, and which tests a check runs.
- `make`, `node`, `packages`, `builds`: Makefiles, JavaScript projects, package managers, and all other tools."""
