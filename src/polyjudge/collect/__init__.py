"""Running the judges: plan, rubrics, items, store, cost."""
