"""What tests are made of: projects, screens, a browser, an endpoint, small models."""
