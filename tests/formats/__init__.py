"""Reading and writing of file formats."""
