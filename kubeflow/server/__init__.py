"""The API server: connections, runs, schedules."""
