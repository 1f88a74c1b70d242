"""INV...: constraints between settings that a framework asserts only inside the job, or that public reports show."""
