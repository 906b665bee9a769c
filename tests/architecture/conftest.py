# Collecting it would put it on the path, and with it its plugins into every other test.
collect_ignore = ["contributed_package"]
