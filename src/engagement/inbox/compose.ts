import type { Pool } from 'pg';
import { tenant } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { type Draft, newDraft } from '../../messaging/sending/draft.ts';
import { readRcsSend, readWhatsappSend } from '../../messaging/sending/rich/read.ts';
import type { FileLink } from './answer.ts';
import type { ReplyIn } from './schema.ts';
import type { Endpoints } from './sql.ts';
import type { ThreadMedia } from './thread/sql.ts';

/**
 * Finds a file of the account, with the links by which networks and people get it. Undefined: there is no such file.
 */
export type FindFile = (accountId: number, mediaId: number) => Promise<(FileLink & { name: string }) | undefined>;

/** A reply as it is sent, and as the thread stores it. */
export type ComposedReply = {
  readonly draft: Draft;
  readonly messageType: 'TEXT' | 'IMAGE' | 'VIDEO' | 'TEMPLATE';
  readonly media: ThreadMedia | null;
  /** The links to the file of `media`, for the response to the request. */
  readonly file: FileLink | null;
};

type Tenant = Pick<Actor, 'accountId'>;
type Deps = { readonly pool: Pool; readonly clock: Clock; readonly findFile: FindFile };
type Content = Pick<ReplyIn, 'text' | 'mediaId' | 'template'>;

/** The limit of the RBM API. */
const MAX_RCS_CHARACTERS = 3072;

/** Composes a reply for the channel of its conversation. Errors: 400 naming the faulty fields. */
export async function composeReply(deps: Deps, actor: Tenant, ends: Endpoints, input: Content): Promise<ComposedReply> {
  const { text, mediaId, template } = input;
  const given = Object.entries({ text, mediaId, template }).filter(([, value]) => value !== undefined);
  if (given.length !== 1)
    throw invalidFields(
      ['text', 'mediaId', 'template'].map((field) => ({
        field,
        message: 'exactly one of text, mediaId and template is required',
      })),
    );
  if (ends.channel === 'SMS' && text === undefined)
    throw invalidFields([{ field: given[0]?.[0] ?? 'text', message: 'is not possible on SMS: send a text' }]);
  if (mediaId !== undefined) return composeMedia(deps, actor, ends, mediaId);
  const draft = await composeTextOrTemplate(deps, actor, ends, input);
  return { draft: fromInbox(draft), messageType: template ? 'TEMPLATE' : 'TEXT', media: null, file: null };
}

const fromInbox = (draft: Draft): Draft => ({ ...draft, source: 'INBOX', isKnownNumber: true });

async function composeTextOrTemplate(
  deps: Deps,
  actor: Tenant,
  ends: Endpoints,
  { text = '', template }: Content,
): Promise<Draft> {
  const { channel, peer: destination, identity } = ends;
  if (channel === 'SMS') return smsDraft(ends, text);
  const [db, now] = [tenant(deps.pool, actor), deps.clock.now()];
  if (channel === 'WHATSAPP') {
    const body = template ? { template } : { body: { type: 'TEXT', text } as const };
    return readWhatsappSend(db, actor, { phoneNumberId: identity, destination, ...body }, now);
  }
  if (text.length > MAX_RCS_CHARACTERS)
    throw invalidFields([{ field: 'text', message: `must have at most ${MAX_RCS_CHARACTERS} characters on RCS` }]);
  const body = template ? toRcsTemplate(template) : { body: { type: 'TEXT', text } as const };
  return readRcsSend(db, actor, { agentId: identity, destination, ...body }, now);
}

function toRcsTemplate({ id, variables }: NonNullable<ReplyIn['template']>) {
  if (id === undefined) throw invalidFields([{ field: 'template.id', message: 'is required on RCS' }]);
  return { templateId: id, ...(variables && { variables }) };
}

const smsDraft = ({ peer, identity }: Endpoints, body: string): Draft =>
  newDraft({ channel: 'SMS', source: 'INBOX', destination: peer, isKnownNumber: true, sender: identity, body });

async function composeMedia(deps: Deps, actor: Tenant, ends: Endpoints, mediaId: number): Promise<ComposedReply> {
  const file = await deps.findFile(actor.accountId, mediaId);
  if (!file) throw invalidFields([{ field: 'mediaId', message: 'does not exist' }]);
  const messageType = file.mimeType.startsWith('video/') ? 'VIDEO' : 'IMAGE';
  const { channel, peer: destination, identity } = ends;
  const [db, now] = [tenant(deps.pool, actor), deps.clock.now()];
  const draft =
    channel === 'WHATSAPP'
      ? readWhatsappSend(db, actor, { phoneNumberId: identity, destination, body: { type: messageType, mediaId } }, now)
      : readRcsSend(db, actor, { agentId: identity, destination, body: { type: 'FILE', mediaId } }, now);
  const { name: fileName, ...link } = file;
  const media = { state: 'STORED', mediaId, mimeType: file.mimeType, fileName } as const;
  return { draft: fromInbox(await draft.catch(renameMediaField)), messageType, media, file: link };
}

/** A send has its file in `body.mediaId`, a reply in `mediaId`. */
function renameMediaField(error: unknown): never {
  if (!(error instanceof AppError) || !error.details) throw error;
  throw invalidFields(
    error.details.map(({ field, message }) => ({ field: field === 'body.mediaId' ? 'mediaId' : field, message })),
  );
}
