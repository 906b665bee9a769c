"""A vision-language model in this process."""
