"""Sources that go into the sdists of tests; they run inside a build, never here."""
