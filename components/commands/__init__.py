"""Commands that need nothing above the components."""
