"""What sections are made of: facts, tables, charts, markup."""
