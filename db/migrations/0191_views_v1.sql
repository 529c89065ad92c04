-- Views that stay (docs/data-model.md): what they are called, and what their columns are called and mean, does not change.
-- A break would get views called v2_…, beside these. Tables may change below them: a migration that does so drops the view
-- and creates it again. They read with the rights of who reads, so row-level security holds as for the tables.

CREATE FUNCTION v1_time_of(id uuid) RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN to_timestamp(('x' || translate("left"(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0);
COMMENT ON FUNCTION v1_time_of IS 'The time at which an ID (UUIDv7) was made';

CREATE FUNCTION v1_first_id(at timestamptz) RETURNS uuid LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
COMMENT ON FUNCTION v1_first_id IS 'The smallest ID (UUIDv7) that can be made at a time: for conditions on id, which leave other days unread';

CREATE VIEW v1_message WITH (security_invoker = true) AS
SELECT m.account_id,
       m.id,
       v1_time_of(m.id) AS accepted_at,
       m.client_id,
       m.channel,
       m.source,
       m.campaign_id,
       m.simulation,
       m.sender,
       m.destination,
       m.body,
       m.parts,
       m.price_micros / 1e6 AS price,
       coalesce(s.credit_returned, false) AS price_returned,
       CASE coalesce(s.status, 1)
         WHEN 0 THEN 'UNKNOWN'
         WHEN 1 THEN 'ACCEPTED'
         WHEN 2 THEN 'REJECTED'
         WHEN 3 THEN 'DELIVERED'
         WHEN 4 THEN 'EXPIRED'
         WHEN 5 THEN 'DELETED'
         WHEN 6 THEN 'UNDELIVERABLE'
         WHEN 9 THEN 'ERROR'
         WHEN 10 THEN 'DISABLED'
         WHEN 11 THEN 'UNSUPPORTED'
         WHEN 12 THEN 'CONVERSATION_CLOSED'
       END AS status,
       s.error_code,
       s.error_text,
       coalesce(s.possible_duplicate, false) AS possible_duplicate,
       m.scheduled_at,
       s.submitted_at,
       s.done_at,
       s.read_at
FROM message m LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id;

CREATE VIEW v1_inbound_message WITH (security_invoker = true) AS
SELECT account_id, id, received_at, channel, source, destination, message_type, body FROM inbound_message;

CREATE VIEW v1_traffic_day WITH (security_invoker = true) AS
SELECT account_id,
       day,
       nullif(campaign_id, 0) AS campaign_id,
       CASE channel WHEN 1 THEN 'SMS' WHEN 2 THEN 'RCS' WHEN 4 THEN 'WHATSAPP' END AS channel,
       sum(sent)::bigint AS sent,
       sum(delivered)::bigint AS delivered,
       sum(read)::bigint AS read,
       sum(failed)::bigint AS failed,
       sum(unsent)::bigint AS unsent,
       sum(cost_micros) / 1e6 AS cost
FROM (SELECT account_id, day, campaign_id, channel, sent, delivered, read, failed, unsent, cost_micros FROM traffic_day
      UNION ALL
      -- Hours that are not folded into their day yet, and those that a late receipt has opened again.
      SELECT account_id, (hour AT TIME ZONE 'UTC')::date, campaign_id, channel,
             sent, delivered, read, failed, unsent, cost_micros
      FROM traffic_hour WHERE shard >= 0) t
GROUP BY account_id, day, campaign_id, channel;

CREATE VIEW v1_ledger WITH (security_invoker = true) AS
SELECT account_id, id, created_at, kind, from_book, to_book, amount_micros / 1e6 AS amount, messages, reference
FROM ledger_entry;

CREATE VIEW v1_contact WITH (security_invoker = true) AS
SELECT c.account_id,
       c.id,
       c.full_name,
       c.first_name,
       c.last_name,
       c.gender,
       c.phone_number,
       c.email,
       c.country,
       c.is_test,
       (SELECT coalesce(jsonb_object_agg(f.name, c.custom_fields -> f.id::text), '{}')
        FROM custom_field f
        WHERE f.account_id = c.account_id AND c.custom_fields ? f.id::text) AS custom_fields,
       c.created_at,
       c.updated_at
FROM contact c;

CREATE VIEW v1_opt_out WITH (security_invoker = true) AS
SELECT account_id, phone_number, channel, source, created_at FROM opt_out;

CREATE VIEW v1_conversation WITH (security_invoker = true) AS
SELECT account_id, chat_id, channel, peer, identity, profile_name, assignee_id, archived, unread, created_at, last_at,
       last_direction, last_text
FROM conversation;

CREATE VIEW v1_campaign WITH (security_invoker = true) AS
SELECT c.account_id,
       c.id,
       c.name,
       c.sending_mode,
       CASE c.status WHEN 0 THEN 'DRAFT' WHEN 1 THEN 'READY' WHEN 2 THEN 'SENDING' WHEN 3 THEN 'COMPLETED' WHEN 4 THEN 'FAILED' END
         AS status,
       c.failure_reason,
       coalesce(r.recipients, c.total_destinations) AS recipients,
       coalesce(r.skipped, 0) AS skipped,
       coalesce(r.messages, 0) AS messages,
       c.estimated_micros / 1e6 AS estimated_cost,
       c.created_at,
       c.scheduled_at,
       c.confirmed_at,
       c.started_at,
       c.completed_at,
       c.cancelled_at
FROM campaign c LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id;

CREATE VIEW v1_webhook_delivery WITH (security_invoker = true) AS
SELECT account_id, id, message_id, kind, at, state, attempts, response_code, duration_ms, failure FROM webhook_delivery;
