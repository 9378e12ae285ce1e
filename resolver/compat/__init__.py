"""The compatibility database: schema, loading, rules over its facts."""
