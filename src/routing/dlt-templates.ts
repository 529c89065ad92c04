import type { Pool } from 'pg';
import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { DLT_TAGS } from '../channels/message-tlvs.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { cStringValue } from '../smpp/wire.ts';
import { notifyRoutingChange } from './connection-store.ts';

const TEMPLATE = columns({
  id: as<number>('t.id'),
  ownerId: as<number>('t.owner_id'),
  account: as<string>('(SELECT name FROM account WHERE id = t.owner_id)'),
  header: as<string>('t.header'),
  entityId: as<string>('t.entity_id'),
  templateId: as<string>('t.template_id'),
  /** The chain of telemarketers; null: the carrier adds it. */
  chain: as<string | null>('t.chain'),
  /** The text with `{#var#}` for each variable. */
  text: as<string>('t.text'),
});
/** A text that an account has registered with India's operators (DLT). */
export type DltTemplate = RowOf<typeof TEMPLATE>;
export type NewDltTemplate = Omit<DltTemplate, 'id' | 'account'>;

export const listDltTemplates = (db: Db): Promise<DltTemplate[]> =>
  many(db, sql`SELECT ${TEMPLATE} FROM dlt_template t ORDER BY t.owner_id, t.header, t.template_id`);

/** Inserts a template, or changes the one with this id of this header. */
const insertDltTemplate = (db: Db, t: NewDltTemplate): Promise<DltTemplate> =>
  one(
    db,
    sql`INSERT INTO dlt_template AS t (owner_id, header, entity_id, template_id, chain, text)
        VALUES (${t.ownerId}, ${t.header}, ${t.entityId}, ${t.templateId}, ${t.chain}, ${t.text})
        ON CONFLICT (owner_id, header, template_id) DO UPDATE SET entity_id = excluded.entity_id,
          chain = excluded.chain, text = excluded.text
        RETURNING ${TEMPLATE}`,
  );

const deleteDltTemplate = (db: Db, { id }: { id: number }): Promise<DltTemplate | undefined> =>
  maybeOne(db, sql`DELETE FROM dlt_template t WHERE t.id = ${id} RETURNING ${TEMPLATE}`);

type By = { readonly by: string };

/**
 * Records a template, or changes it; running processes follow immediately. Call it in a transaction. Errors: 400 for a
 * text of variables alone, which every message would match.
 */
export async function setDltTemplate(tx: Db, { by, ...template }: NewDltTemplate & By): Promise<DltTemplate> {
  if (template.text.split(VARIABLE).every((literal) => literal.trim() === ''))
    throw invalidFields([{ field: 'text', message: 'must have more than variables' }]);
  const made = await insertDltTemplate(tx, template);
  await recordChange(tx, { by, action: 'dlt-template.set' }, made);
  return made;
}

/** Removes a template. Errors: 404. */
export async function removeDltTemplate(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const gone = Number.isSafeInteger(id) ? await deleteDltTemplate(tx, { id }) : undefined;
  if (!gone) throw new AppError('not_found', { message: 'There is no such template' });
  await recordChange(tx, { by, action: 'dlt-template.remove' }, gone);
}

async function recordChange(tx: Db, { by, action }: By & { action: string }, template: DltTemplate): Promise<void> {
  const { ownerId, header, templateId } = template;
  await recordAudit(tx, operatorAuthor(ownerId, by), {
    action,
    subject: `dlt-template:${templateId}`,
    detail: { header },
  });
  await notifyRoutingChange(tx);
}

/** The text of a message as it is checked. `destination` is in E.164 with its plus. */
type CheckedText = {
  readonly accountId: number;
  readonly destination: string;
  readonly sender: string;
  readonly body: string;
};

/** The parameters of the template that a text matches, or the reason why it matches none. */
export type DltMatch = { readonly tlvs: ReadonlyMap<number, Uint8Array> } | { readonly fault: string };

export type DltTemplates = {
  /** Matches a text with the templates of its account and sender; null if it needs none. */
  match(checked: CheckedText): DltMatch | null;
};

/** Templates of no account: no text needs one. */
export const NO_DLT_TEMPLATES: DltTemplates = { match: () => null };

const INDIA = '+91';

/**
 * Creates the templates in memory, because they are needed for every SMS to India; `reload` them after each change. An
 * account without templates is not checked.
 */
export function createDltTemplates(pool: Pool): DltTemplates & { reload(): Promise<void> } {
  let byAccount: ReadonlyMap<number, ReadonlyMap<string, readonly Compiled[]>> = new Map();
  return {
    match({ accountId, destination, sender, body }) {
      const own = destination.startsWith(INDIA) ? byAccount.get(accountId) : undefined;
      if (own === undefined) return null;
      const templates = own.get(sender.toLowerCase());
      return templates
        ? matchAny(templates, body)
        : { fault: `no DLT template is registered for the header ${sender}` };
    },
    async reload() {
      const compiled = (await listDltTemplates(pool)).map(compile);
      byAccount = new Map(
        [...Map.groupBy(compiled, ({ ownerId }) => ownerId)].map(([ownerId, templates]) => [
          ownerId,
          Map.groupBy(templates, ({ header }) => header.toLowerCase()),
        ]),
      );
    },
  };
}

const VARIABLE = '{#var#}';

type Compiled = DltTemplate & {
  /** The literal texts around the variables: one more than these, and possibly empty. */
  readonly literals: readonly Literal[];
  readonly tlvs: ReadonlyMap<number, Uint8Array>;
};

/** A literal with its table of borders (Knuth, Morris and Pratt), so that a search takes linear time. */
type Literal = { readonly text: string; readonly borders: readonly number[] };

function compile(template: DltTemplate): Compiled {
  const { entityId, templateId, chain } = template;
  return {
    ...template,
    literals: literalsOf(template.text),
    tlvs: new Map([
      [DLT_TAGS.entityId, cStringValue(entityId)],
      [DLT_TAGS.templateId, cStringValue(templateId)],
      ...(chain === null ? [] : [[DLT_TAGS.chain, cStringValue(chain)] as const]),
    ]),
  };
}

/** Splits the text of a template at its variables. */
export const literalsOf = (template: string): readonly Literal[] =>
  template.split(VARIABLE).map((text) => ({ text, borders: bordersOf(text) }));

function matchAny(templates: readonly Compiled[], text: string): DltMatch {
  let nearest: { readonly template: Compiled; readonly miss: Miss } | undefined;
  for (const template of templates) {
    const miss = missOf(template.literals, text);
    if (miss === null) return { tlvs: template.tlvs };
    if (nearest === undefined || miss.at > nearest.miss.at) nearest = { template, miss };
  }
  return { fault: nearest ? describe(nearest.template, nearest.miss, text) : 'no DLT template is registered' };
}

/** The first difference of a text from a template: the place, and the literal that is expected there. */
type Miss = { readonly at: number; readonly expected: string };

/**
 * Compares a text with the literals of a template, between which anything may stand. Returns null if it matches. Each
 * literal is taken where it first occurs, which leaves most for the others: the time is proportional to the length of
 * text and template.
 */
export function missOf(literals: readonly Literal[], text: string): Miss | null {
  const [first, ...others] = literals;
  const last = others.pop();
  const start = first?.text ?? '';
  const same = commonLength(text, start, 0);
  if (same < start.length) return { at: same, expected: start.slice(same) };
  let at = start.length;
  if (last === undefined) return at === text.length ? null : { at, expected: '' };
  for (const literal of others) {
    const found = find(literal, text, at);
    if (found < 0) return { at, expected: literal.text };
    at = found + literal.text.length;
  }
  return text.length - at >= last.text.length && text.endsWith(last.text) ? null : { at, expected: last.text };
}

function commonLength(text: string, start: string, from: number): number {
  let length = 0;
  while (length < start.length && text[from + length] === start[length]) length++;
  return length;
}

function bordersOf(text: string): number[] {
  const borders = [0];
  for (let at = 1, length = 0; at < text.length; at++) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[at] === text[length]) length++;
    borders.push(length);
  }
  return borders;
}

/** Returns the place of a literal in a text, from a place on; -1 if there is none. */
function find({ text: literal, borders }: Literal, text: string, from: number): number {
  if (literal === '') return from;
  let length = 0;
  for (let at = from; at < text.length; at++) {
    while (length > 0 && text[at] !== literal[length]) length = borders[length - 1] ?? 0;
    if (text[at] === literal[length]) length++;
    if (length === literal.length) return at + 1 - length;
  }
  return -1;
}

const SHOWN = 20;

function describe({ templateId }: Compiled, { at, expected }: Miss, text: string): string {
  const wanted = expected === '' ? 'the end' : `"${expected.slice(0, SHOWN)}"`;
  const found = at >= text.length ? 'the end' : `"${text.slice(at, at + SHOWN)}"`;
  return `the text matches no DLT template; the nearest is ${templateId}: from character ${at + 1} on, ${wanted} is expected instead of ${found}`;
}
