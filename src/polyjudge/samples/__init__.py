"""The embedded sample panel."""
