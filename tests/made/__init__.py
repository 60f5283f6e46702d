"""Building blocks of tests: projects, screens, a browser, an endpoint, small models."""
