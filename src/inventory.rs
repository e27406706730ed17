//! What the server is made of, and what each part could do at most.
