import { STATUS } from '../../src/core/message-state.ts';

/**
 * Faults as SQL, for what the program leaves to the database: it runs once, before the program starts, in a database
 * that has the whole schema.
 */

const named = (body: string): string => `
  CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ${body} RETURN NEW; END $$;`;
/** Changes each row of a table before it is written. */
const changing = (table: string, body: string): string => `${named(body)}
  CREATE TRIGGER fault BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION fault();`;
const withSetting = (setting: string): string =>
  `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${setting}', current_database()); END $$;`;

/**
 * Makes the queue know only queued and done, as in other gateways: the messages in a dead worker's hands are sent
 * again.
 */
export const NO_INTENTS = changing('dispatch_chunk', 'NEW.intent := 0;');

/** PostgreSQL acknowledges a commit before it is on disk: it may forget an intent to send that the carrier has seen. */
export const COMMIT_BEFORE_DISK = withSetting('synchronous_commit = off');

/** PostgreSQL acknowledges a commit before a standby has it: the next failover forgets it. */
export const COMMIT_WITHOUT_STANDBY = withSetting('synchronous_commit = local');

/** One queue for all messages, without priorities, and without turns of the accounts. */
export const ONE_QUEUE = changing('dispatch_chunk', 'NEW.priority := 1; NEW.round := 0;');

/** The second copy of a message is sent as if it were the first. */
export const NO_DUPLICATE_FLAG = changing('message_state', 'NEW.possible_duplicate := false;');

/** Removes the store of unmatched receipts, as in other gateways: a receipt that matches nothing on arrival is lost. */
export const NO_PARKED_RECEIPTS = changing('receipt_unmatched', 'RETURN NULL;');

/** Sends everything in the queue of a restored database, as if the operator had confirmed it. */
export const NO_RESTORE_GUARD = changing(
  'restore_guard',
  "IF NEW.state = 'paused' THEN NEW.state := 'confirmed'; END IF;",
);

/** A balance that was read before its lock is written: it may be out of date by then. */
export const READ_THEN_WRITE = `
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    PERFORM set_config('proof.seen', json_object_agg(account_id, available_micros)::text, true) FROM credit_balance;
    RETURN NULL; END $$;
  CREATE TRIGGER note BEFORE UPDATE ON credit_balance FOR EACH STATEMENT EXECUTE FUNCTION note();
  ${named(`NEW.available_micros := (current_setting('proof.seen')::json->>NEW.account_id::text)::bigint
    + NEW.available_micros - OLD.available_micros;`)}
  CREATE TRIGGER fault BEFORE UPDATE ON credit_balance FOR EACH ROW EXECUTE FUNCTION fault();`;

/** A person who writes on WhatsApp opens no window, so that what is cheaper in it has its usual price. */
export const NO_WINDOWS = changing('conversation', 'NEW.window_expires_at := NULL;');

/** The frozen price of a message whose outcome is unknown is not settled by its receipt. */
export const UNKNOWN_NOT_HELD = changing(
  'message_state',
  `IF NEW.status = ${STATUS.UNKNOWN} THEN NEW.credit_held := false; END IF;`,
);

/** Takes a chunk of another worker at each change of the queue, as if that worker were dead. */
export const CHUNKS_OF_THE_LIVING = `
  ${named(`IF pg_trigger_depth() = 1 THEN
      UPDATE dispatch_chunk SET owner = 1 WHERE id IN (
        SELECT id FROM dispatch_chunk WHERE owner <> 1 AND intent > 0 AND owner NOT IN (SELECT owner FROM fresh WHERE owner IS NOT NULL)
        LIMIT 1 FOR UPDATE SKIP LOCKED);
    END IF;`)}
  CREATE TRIGGER fault AFTER UPDATE ON dispatch_chunk REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION fault();`;

/** Queued messages are not moved: the cell that an account leaves sends no more for it, and the new cell has none. */
export const QUEUE_STAYS = `
  ${named('DELETE FROM dispatch_chunk WHERE id = NEW.id;')}
  CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON dispatch_chunk DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('application_name') = 'heliograph account copy') EXECUTE FUNCTION fault();`;

/** An erasure does not reach what people wrote, as if a new table had been forgotten. */
export const CONVERSATIONS_STAY = `
  CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN NULL; END $$;
  CREATE TRIGGER fault BEFORE DELETE ON inbox_message FOR EACH ROW EXECUTE FUNCTION keep();`;

/** All accounts have one redirect URI for single sign-on, so that a response may come from the provider of any. */
export const ONE_REDIRECT_URI = changing('account', "NEW.sign_on_token := repeat('0', 64);");

/** An account has as many numbers looked up as it likes. */
export const NO_LOOKUP_BUDGET = changing('lookup_budget', 'NEW.allowed := NULL;');

/** Mails have no budgets, and all wait in one queue, as if they were of one account. */
export const ONE_MAIL_QUEUE = `
  CREATE OR REPLACE FUNCTION take_mail(whose bytea, per_hour integer, per_day integer) RETURNS integer
    LANGUAGE sql SECURITY DEFINER AS 'SELECT 0';
  ${named("UPDATE job SET kind = 'mail', account_id = (SELECT min(id) FROM account) WHERE id = NEW.id;")}
  CREATE TRIGGER fault AFTER INSERT ON job FOR EACH ROW WHEN (NEW.kind LIKE 'mail%') EXECUTE FUNCTION fault();`;

/** Events get places at random in the feed, so that some appear before the cursors of its readers. */
export const PLACES_AT_RANDOM = changing(
  'webhook_published',
  'NEW.position := (random() * NEW.position::text::bigint)::bigint::text::xid8;',
);

/** An approved verification stays open, so that its code can be entered again. */
export const APPROVED_STAYS_OPEN = changing(
  'verification',
  "IF NEW.status = 'APPROVED' THEN NEW.status := 'PENDING'; NEW.ended_at := NULL; END IF;",
);

/** Every session counts as one whose user has just proven to be there. */
export const ALWAYS_PROVEN = changing('user_session', "NEW.proven_at := 'infinity';");

/** The database shows every account to every request. */
export const NO_ROW_SECURITY = `DO $$ DECLARE protected regclass; BEGIN
  FOR protected IN SELECT oid::regclass FROM pg_class WHERE relrowsecurity LOOP
    EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', protected);
  END LOOP; END $$;`;
