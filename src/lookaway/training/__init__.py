"""Memory as a reward: rewards that cannot be won by cheats, preference pairs, clients of trainers, and a server."""
