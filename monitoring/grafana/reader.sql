-- The role that Grafana reads the database with: figures of the server, and counts; no texts, no phone numbers, no secrets.
-- Run it in the database of the gateway, as a superuser or as a role that has BYPASSRLS itself, after the first start, and
-- then set a password: ALTER ROLE heliograph_grafana PASSWORD '…'
-- BYPASSRLS, because the tables of accounts are under row-level security and would look empty.
CREATE ROLE heliograph_grafana LOGIN BYPASSRLS CONNECTION LIMIT 10;
ALTER ROLE heliograph_grafana SET statement_timeout = '10s';
ALTER ROLE heliograph_grafana SET default_transaction_read_only = on;
GRANT pg_monitor TO heliograph_grafana;
GRANT SELECT (id, name, status) ON account TO heliograph_grafana;
GRANT SELECT (id, name) ON connection TO heliograph_grafana;
GRANT SELECT (connection_id, minute, accepted, refused, retried, unknown) ON connection_minute TO heliograph_grafana;
GRANT SELECT (connection_id, worker, binds_up, binds_wanted, in_flight, per_second, fault, updated_at)
  ON connection_status TO heliograph_grafana;
GRANT SELECT (account_id, connection_id, size, intent, available_at) ON dispatch_chunk TO heliograph_grafana;
GRANT SELECT (account_id, hour, sent, delivered, failed, unsent) ON traffic_hour TO heliograph_grafana;
GRANT SELECT (account_id, status, failing_since) ON webhook_endpoint TO heliograph_grafana;
GRANT SELECT (account_id) ON webhook_retry TO heliograph_grafana;
GRANT SELECT (account_id, available_micros, currency, unlimited) ON credit_balance TO heliograph_grafana;
GRANT SELECT (account_id) ON unknown_outcome TO heliograph_grafana;
GRANT SELECT (connection_id) ON receipt_unmatched TO heliograph_grafana;
GRANT SELECT (id) ON lost_chunk TO heliograph_grafana;
