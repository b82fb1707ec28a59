"""When requests are due."""
