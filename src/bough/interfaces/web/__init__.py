"""The dashboard: the same views as the terminal's, in a browser. Needs the extra `web`."""
