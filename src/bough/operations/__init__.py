"""What a person can do, each said once: a table that every face (command line, HTTP, MCP, Python) is drawn from."""
