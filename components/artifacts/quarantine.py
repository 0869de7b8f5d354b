"""The bad records that ExampleGen left out, listed beside the manifest."""

FILE_NAME = "quarantine.json"
