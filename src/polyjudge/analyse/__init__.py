"""Pure functions on a panel: Panel in, frozen result out."""
