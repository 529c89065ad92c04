import type { Inbound, InboundMedia, InboundType } from '../events.ts';
import { memberOf, wordsIn } from '../json.ts';
import { digitsOf, instantIn, LONGEST_ID } from './fields.ts';

type Substance = { readonly messageType: InboundType; readonly text: string; readonly media: InboundMedia | null };

/**
 * What a person wrote, tapped, or sent to an agent (protocol sheet rcs, section 6); null when the event is none, or
 * says not who wrote it. Of a tap, `text` is what stood on the suggestion; its postback data is in `raw`.
 */
export function readUserMessage(event: unknown, raw: Uint8Array): Inbound | null {
  const substance = readSubstance(event);
  const source = digitsOf(wordsIn(event, 'senderPhoneNumber'));
  const id = wordsIn(event, 'messageId');
  const destination = wordsIn(event, 'agentId');
  if (!substance || source === '' || id === '' || id.length > LONGEST_ID) return null;
  const { text, messageType, media } = substance;
  const at = instantIn(event, 'sendTime');
  const rich = { channel: 'RCS', id, messageType, at, profileName: null, media } as const;
  return { source, destination, text, concat: null, raw, rich };
}

function readSubstance(event: unknown): Substance | null {
  const tap = memberOf(event, 'suggestionResponse');
  const location = memberOf(event, 'location');
  const file = memberOf(memberOf(event, 'userFile'), 'payload');
  if (typeof memberOf(event, 'text') === 'string') return plain('TEXT', wordsIn(event, 'text'));
  if (tap !== undefined) return plain('BUTTON', wordsIn(tap, 'text') || wordsIn(tap, 'postbackData'));
  if (location !== undefined) return readLocation(location);
  return file === undefined ? null : readFile(file);
}

const plain = (messageType: InboundType, text: string): Substance => ({ messageType, text, media: null });

/** A member that is left out is 0: nothing that is 0 is written in the network's JSON. */
function readLocation(location: unknown): Substance {
  const degrees = (name: string): number => Number(memberOf(location, name) ?? 0);
  const [latitude, longitude] = [degrees('latitude'), degrees('longitude')];
  return plain('LOCATION', Number.isFinite(latitude + longitude) ? `${latitude},${longitude}` : '');
}

const TYPES: Readonly<Record<string, InboundType>> = { image: 'IMAGE', video: 'VIDEO', audio: 'AUDIO' };

function readFile(file: unknown): Substance {
  const [url, mimeType, fileName] = [wordsIn(file, 'fileUri'), wordsIn(file, 'mimeType'), wordsIn(file, 'fileName')];
  const messageType = TYPES[mimeType.split('/')[0]?.toLowerCase() ?? ''] ?? 'DOCUMENT';
  const media = { id: null, url: url || null, mimeType: mimeType || null, fileName: fileName || null };
  return { messageType, text: '', media };
}
