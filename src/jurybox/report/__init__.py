"""What a run says: estimates per system and rubric, text tables, pages and exports. Reads the store, writes no SQL."""
