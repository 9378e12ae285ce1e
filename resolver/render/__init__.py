"""From verdicts to text and JSON that people and scripts can act on."""
