"""The scorer behind HTTP: requests, the queue, replicas on Ray Serve, and a client with retries."""
