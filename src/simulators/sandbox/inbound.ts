import { memberOf, parseJson, wordsIn } from '../../carriers/json.ts';
import type { SandboxSmsc } from '../smsc/smsc.ts';
import { type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import type { SandboxNetworks } from './networks.ts';

/** A person writes to a number of the sandbox. */
export type InboundAct = {
  readonly channel: Channel;
  /** E.164 with its plus. */
  readonly from: string;
  /** The number of ours: on SMS any; on WhatsApp and RCS there is one. */
  readonly to: string;
  readonly text: string;
};

/** Reads a payload; null when it is none. */
export function readInboundAct(payload: string): InboundAct | null {
  const json = parseJson(payload);
  const channel = CHANNELS.find((one) => one === memberOf(json, 'channel'));
  const [from, to, text] = [wordsIn(json, 'from'), wordsIn(json, 'to'), wordsIn(json, 'text')];
  return channel === undefined || from === '' ? null : { channel, from, to, text };
}

/** Lets the sandbox's network of that channel bring the message, as it brings all others. */
export async function injectInbound(
  { smsc, networks }: { readonly smsc: SandboxSmsc; readonly networks: SandboxNetworks },
  { channel, from, to, text }: InboundAct,
): Promise<void> {
  if (channel === 'WHATSAPP') await networks.graph.injectInbound({ from, text });
  else if (channel === 'RCS') await networks.rbm.injectUser({ from, text });
  else await smsc.injectMo({ source: from.replace('+', ''), destination: to.replace('+', ''), text });
}
