import type { Inbound, InboundMedia, InboundType } from '../events.ts';
import { getMember, getText } from '../json.ts';
import { phoneDigits, readInstant, MAX_ID_LENGTH } from './fields.ts';

type MessageContent = { readonly messageType: InboundType; readonly text: string; readonly media: InboundMedia | null };

/**
 * Reads what a person wrote, tapped or sent to an agent (RBM API, webhooks); null if the event is not a message or
 * names no sender. For a tap, `text` is the label of the suggestion; its postback data is in `raw`.
 */
export function readUserMessage(event: unknown, raw: Uint8Array): Inbound | null {
  const content = readContent(event);
  const source = phoneDigits(getText(event, 'senderPhoneNumber'));
  const id = getText(event, 'messageId');
  const destination = getText(event, 'agentId');
  if (!content || source === '' || id === '' || id.length > MAX_ID_LENGTH) return null;
  const { text, messageType, media } = content;
  const at = readInstant(event, 'sendTime');
  const rich = { channel: 'RCS', id, messageType, at, profileName: null, ownNumber: null, media } as const;
  return { source, destination, text, concat: null, raw, rich };
}

function readContent(event: unknown): MessageContent | null {
  const tap = getMember(event, 'suggestionResponse');
  const location = getMember(event, 'location');
  const file = getMember(getMember(event, 'userFile'), 'payload');
  if (typeof getMember(event, 'text') === 'string') return withoutMedia('TEXT', getText(event, 'text'));
  if (tap !== undefined) return withoutMedia('BUTTON', getText(tap, 'text') || getText(tap, 'postbackData'));
  if (location !== undefined) return readLocation(location);
  return file === undefined ? null : readFile(file);
}

const withoutMedia = (messageType: InboundType, text: string): MessageContent => ({ messageType, text, media: null });

/** A missing member is 0: the network's JSON omits zeros. */
function readLocation(location: unknown): MessageContent {
  const degrees = (name: string): number => Number(getMember(location, name) ?? 0);
  const [latitude, longitude] = [degrees('latitude'), degrees('longitude')];
  return withoutMedia('LOCATION', Number.isFinite(latitude + longitude) ? `${latitude},${longitude}` : '');
}

const TYPES: Readonly<Record<string, InboundType>> = { image: 'IMAGE', video: 'VIDEO', audio: 'AUDIO' };

function readFile(file: unknown): MessageContent {
  const [url, mimeType, fileName] = [getText(file, 'fileUri'), getText(file, 'mimeType'), getText(file, 'fileName')];
  const messageType = TYPES[mimeType.split('/')[0]?.toLowerCase() ?? ''] ?? 'DOCUMENT';
  const media = { id: null, url: url || null, mimeType: mimeType || null, fileName: fileName || null };
  return { messageType, text: '', media };
}
