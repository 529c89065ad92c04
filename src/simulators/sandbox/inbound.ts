import { getMember, parseJson, getText } from '../../carriers/json.ts';
import type { SandboxSmsc } from '../smsc/smsc.ts';
import { type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import type { SandboxNetworks } from './networks.ts';

/** A person writes to a number of the sandbox. */
export type SandboxInbound = {
  readonly channel: Channel;
  /** E.164 with its plus. */
  readonly from: string;
  /** The number of ours: on SMS any; on WhatsApp and RCS there is one. */
  readonly to: string;
  readonly text: string;
};

/** Reads a payload; null when it is none. */
export function readSandboxInbound(payload: string): SandboxInbound | null {
  const json = parseJson(payload);
  const channel = CHANNELS.find((one) => one === getMember(json, 'channel'));
  const [from, to, text] = [getText(json, 'from'), getText(json, 'to'), getText(json, 'text')];
  return channel === undefined || from === '' ? null : { channel, from, to, text };
}

/** Lets the sandbox's network of that channel bring the message, as it brings all others. */
export async function injectInbound(
  { smsc, networks }: { readonly smsc: SandboxSmsc; readonly networks: SandboxNetworks },
  { channel, from, to, text }: SandboxInbound,
): Promise<void> {
  if (channel === 'WHATSAPP') await networks.graph.injectInbound({ from, text });
  else if (channel === 'RCS') await networks.rbm.injectUser({ from, text });
  else await smsc.injectMo({ source: from.replace('+', ''), destination: to.replace('+', ''), text });
}
