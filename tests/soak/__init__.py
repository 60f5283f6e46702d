"""A soak: scripted persons do random ordinary work in a real browser, and after every act what must hold is checked."""
