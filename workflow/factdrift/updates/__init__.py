"""Two snapshots in, labelled updates out: filters, difference, new entities, rules, anomalies, scenarios."""
