import { getMember, parseJson, getText } from '../../carriers/json.ts';
import type { SandboxSmsc } from '../smsc/smsc.ts';
import { type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import type { SandboxNetworks } from './networks.ts';

/** An inbound message to simulate. */
export type SandboxInbound = {
  readonly channel: Channel;
  /** The sender in E.164 with the plus sign. */
  readonly from: string;
  /** The recipient: any number on SMS; ignored on WhatsApp and RCS, which have only one. */
  readonly to: string;
  readonly text: string;
};

/** Reads the payload of a notification; null when it is invalid. */
export function readSandboxInbound(payload: string): SandboxInbound | null {
  const json = parseJson(payload);
  const channel = CHANNELS.find((one) => one === getMember(json, 'channel'));
  const [from, to, text] = [getText(json, 'from'), getText(json, 'to'), getText(json, 'text')];
  return channel === undefined || from === '' ? null : { channel, from, to, text };
}

/** Sends the message through the sandbox's network of that channel, like any other inbound message. */
export async function injectInbound(
  { smsc, networks }: { readonly smsc: SandboxSmsc; readonly networks: SandboxNetworks },
  { channel, from, to, text }: SandboxInbound,
): Promise<void> {
  if (channel === 'WHATSAPP') await networks.graph.injectInbound({ from, text });
  else if (channel === 'RCS') await networks.rbm.injectUser({ from, text });
  else await smsc.injectMo({ source: from.replace('+', ''), destination: to.replace('+', ''), text });
}
