"""The Markdown folder of the person: file names, file form, reading and durable writing; decides nothing."""
