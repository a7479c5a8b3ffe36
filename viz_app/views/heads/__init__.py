"""The page Heads: what each attention head looks at, and which word translates which."""
