"""The text protocol, in which a model that cannot call tools does the same work. It writes files, edits and one command
in fenced blocks; they are parsed here into the calls that another model would have made."""
