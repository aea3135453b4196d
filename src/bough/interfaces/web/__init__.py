"""The dashboard: the views of the terminal, in a browser. It needs the extra `web`."""
