import type { Pool } from 'pg';
import { type Db, many, maybeOne, one, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { isUuid } from '../core/ids.ts';
import type { Client } from './sign-in.ts';

/** A client on one of its binds. */
export type Asker = {
  readonly client: Client;
  /** interface_version of the bind. */
  readonly version: number;
};

/** Message id as the client receives it in a submit_sm_resp. */
export type ShownId = {
  /** True for a number of the counter: a row has to keep it, as it does not follow from the message's id. */
  readonly isCounted: boolean;
  /** Writes the id for the message with this id of ours. */
  of(messageId: string): string;
};

const VERSION_3_3 = 0x33;
/**
 * The numbers that fit message_id for clients of SMPP 3.3, which has 8 characters and a NUL; SMPP 3.4 (5.2.23) has 64.
 */
const SMPP_3_3 = { hex: 16 ** 8, decimal: 10 ** 8 };
/** Numbers that a process takes from the counter at once; those it has not used when it ends are skipped. */
const BLOCK = 1000;

const HEX = /^[0-9a-f]{32}$/;
const HEX_LENGTH = 32;
const COUNTED = /^[0-9a-f]{1,19}$/;

/** Returns an id that a client sends back, in the form in which it received it. */
function asShown(text: string): string {
  const written = text.toLowerCase();
  return written.length < HEX_LENGTH ? written.replace(/^0+(?=.)/, '') : written;
}

const hexOf = (id: string): string => id.replaceAll('-', '');
const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * Creates the ids that clients receive: our UUID, as such or in hexadecimal digits, or a number from the counter of
 * the credential: in up to 8 hexadecimal digits for SMPP 3.3, or in decimal ones, which a client may keep in 64 bits.
 */
export function createMessageIds({ pool }: { readonly pool: Pool }) {
  const blocks = new Map<number, Promise<{ next: number; readonly end: number }>>();

  async function count({ accountId, id }: Client): Promise<number> {
    for (;;) {
      const current = blocks.get(id) ?? reserve(accountId, id);
      const block = await current;
      if (block.next < block.end) return block.next++;
      if (blocks.get(id) === current) blocks.delete(id);
    }
  }

  function reserve(accountId: number, id: number) {
    const block = reserveNumbers(pool, { accountId, id }).then((end) => ({ next: end - BLOCK, end }));
    blocks.set(id, block);
    block.catch(() => blocks.delete(id));
    return block;
  }

  return {
    /** Returns the id for a new message, or for the group of a submit_multi. */
    async next({ client, version }: Asker): Promise<ShownId> {
      const isOld = version <= VERSION_3_3;
      const isDecimal = client.messageIds === 'decimal';
      if (!isOld && !isDecimal)
        return { isCounted: false, of: (messageId) => (client.messageIds === 'hex' ? hexOf(messageId) : messageId) };
      const number = await count(client);
      const fitting = isOld ? number % SMPP_3_3[isDecimal ? 'decimal' : 'hex'] : number;
      const text = fitting.toString(isDecimal ? 10 : 16);
      return { isCounted: true, of: () => text };
    },

    /** Returns the id that a client has named itself, for the message that takes its place. */
    named(text: string): ShownId {
      const shownId = asShown(text);
      return { isCounted: COUNTED.test(shownId), of: () => shownId };
    },

    /** Returns the id for the response to a submit: for one that was repeated with its client id, that of the first. */
    async told(
      { client: { accountId } }: Asker,
      shown: ShownId,
      { clientId, messageId }: { readonly clientId: string | null; readonly messageId: string },
    ): Promise<string> {
      if (!shown.isCounted || clientId === null) return shown.of(messageId);
      // It was not submitted over SMPP first: our own id is found again too.
      return (await findShownId(tenant(pool, { accountId }), { accountId, messageId })) ?? messageId;
    },

    /**
     * Reads an id that a client sends back, in either case, with or without leading zeros. Returns our id of the message;
     * undefined when it is none of ours, or that of several messages of a submit_multi.
     */
    async read({ client: { accountId, id } }: Asker, text: string): Promise<string | undefined> {
      const shownId = asShown(text);
      if (isUuid(shownId)) return shownId;
      if (HEX.test(shownId)) return uuidOf(shownId);
      if (!COUNTED.test(shownId)) return undefined;
      const found = await findByShownId(tenant(pool, { accountId }), { accountId, credentialId: id, shownId });
      return found.length === 1 ? found[0]?.id : undefined;
    },
  };
}

export type MessageIds = ReturnType<typeof createMessageIds>;

/** Takes a block of numbers from the counter of a credential. Returns the end of the block, exclusive. */
async function reserveNumbers(db: Db, { accountId, id }: { accountId: number; id: number }): Promise<number> {
  const row = await one<{ end: number }>(
    db,
    sql`UPDATE smpp_credential SET next_message_number = next_message_number + ${BLOCK}
        WHERE account_id = ${accountId} AND id = ${id} RETURNING next_message_number AS "end"`,
  );
  return row.end;
}

async function findShownId(
  db: Db,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<string | undefined> {
  const row = await maybeOne<{ shownId: string }>(
    db,
    sql`SELECT shown_id AS "shownId" FROM smpp_receipt WHERE account_id = ${accountId} AND message_id = ${messageId}`,
  );
  return row?.shownId;
}

/** Finds the messages of a credential with this id: at most two, as more than one is none. */
const findByShownId = (
  db: Db,
  { accountId, credentialId, shownId }: { accountId: number; credentialId: number; shownId: string },
): Promise<{ id: string }[]> =>
  many(
    db,
    sql`SELECT message_id AS id FROM smpp_receipt
        WHERE account_id = ${accountId} AND credential_id = ${credentialId} AND shown_id = ${shownId} LIMIT 2`,
  );
