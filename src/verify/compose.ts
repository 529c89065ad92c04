import { refuseOutsidePlan } from '../accounts/accounts.ts';
import type { Channel, RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { maskOf } from '../messages/codes.ts';
import type { NextChannel } from '../messages/fallback-store.ts';
import { followRule } from '../messages/next-channel.ts';
import { type Draft, newDraft } from '../messages/read-send.ts';
import { type BilledTemplate, billedTemplate } from '../messages/billing.ts';
import { findUsableSender, listUsableSenders } from '../routing/senders.ts';
import { composeContent, composeText, placeholdersOf, type WholeContent } from '../templates/content.ts';
import { listUsableTemplates, type Template } from '../templates/store.ts';
import type { ServiceSettings, Step } from './services.ts';
import { languageFor, plainText, smsText } from './texts.ts';

/** Seconds until the next channel is tried, from when the carrier has taken the message. */
const DEFAULT_WAIT_SECONDS = 20;
/** A message that no carrier takes in this time does not hold up the next channel. */
const MAX_WAIT_SECONDS = 30;

/** A message of one step of a workflow, with bullets in place of the code. */
type Hop = {
  readonly channel: Channel;
  readonly sender: string;
  readonly body: string;
  readonly content: WholeContent | null;
  readonly template?: BilledTemplate;
};

type Wanted = {
  readonly accountId: number;
  /** The channels of the account's plan. */
  readonly channels: ReadonlySet<Channel>;
  readonly settings: ServiceSettings;
  readonly to: string;
  readonly verificationId: string;
  readonly code: string;
  readonly codeLength: number;
  readonly locale: string | undefined;
  /** The only channel that is wanted; undefined: those of the workflow. */
  readonly channel?: Channel | undefined;
  readonly validUntil: Date;
};

/**
 * Makes the message that carries a code, followed by those of the other channels of the workflow. Steps that the account
 * cannot send are left out: on a channel outside its plan, without a sender, or on WhatsApp without an approved
 * authentication template. Null if none is left. Errors: 403 if all channels are outside its plan.
 */
export async function composeCode(db: Db, wanted: Wanted): Promise<Draft | null> {
  const { accountId, channels, settings, to, verificationId, code, channel, validUntil } = wanted;
  const steps = settings.workflow.filter((step) => channel === undefined || step.channel === channel);
  const asked = steps.length > 0 || channel === undefined ? steps : [{ channel }];
  const chosen = asked.filter((step) => channels.has(step.channel));
  if (chosen.length === 0)
    refuseOutsidePlan(
      { channels },
      asked.map((step) => step.channel),
    );
  const made = await Promise.all(chosen.map((step) => hopOf(db, { ...wanted, accountId }, step)));
  const hops = made.flatMap((hop, i) => (hop ? [{ ...hop, step: chosen[i] as Step }] : []));
  const [first, ...later] = hops;
  if (!first) return null;
  const nextChannels = later.map(
    ({ channel, sender, body, content }, i): NextChannel => ({
      channel,
      sender,
      body,
      content,
      verificationId,
      ...ruleAfter(hops[i]?.step ?? first.step),
    }),
  );
  return newDraft({
    channel: first.channel,
    sender: first.sender,
    body: first.body,
    content: first.content,
    template: first.template ?? null,
    source: 'API',
    destination: to,
    isKnownNumber: true,
    purpose: 'otp',
    priority: -1,
    coded: { verificationId, code },
    validUntil,
    ...(nextChannels.length > 0 && { nextChannels }),
  });
}

const ruleAfter = ({ channel, waitFor = DEFAULT_WAIT_SECONDS }: Step) =>
  followRule({ after: { [channel]: waitFor }, maxWait: Math.max(waitFor, MAX_WAIT_SECONDS) }, channel);

async function hopOf(db: Db, wanted: Wanted, step: Step): Promise<Hop | null> {
  const { accountId, settings, locale, codeLength } = wanted;
  const language = languageFor(settings, locale);
  const mask = maskOf(codeLength);
  if (step.channel === 'SMS') {
    const sender = step.sender ?? settings.sender ?? '';
    return { channel: 'SMS', sender, body: smsText(settings, language, mask), content: null };
  }
  const identity = step.sender ?? (await firstSender(db, accountId, step.channel));
  if (identity === null) return null;
  if (step.channel === 'WHATSAPP') return whatsappHop(db, { accountId, identity, step, tag: locale ?? language, mask });
  const text = plainText(settings, language, mask);
  const content = { channel: 'RCS', message: { text }, trafficType: 'AUTHENTICATION' } as const;
  return { channel: 'RCS', sender: identity, body: text, content };
}

async function firstSender(db: Db, accountId: number, channel: RichChannel): Promise<string | null> {
  const senders = await listUsableSenders(db, { accountId, channel }, { limit: 10, offset: 0 });
  return senders.find(({ identity }) => identity !== null)?.identity ?? null;
}

type OnWhatsapp = {
  readonly accountId: number;
  readonly identity: string;
  readonly step: Step;
  readonly tag: string;
  readonly mask: string;
};

/** WhatsApp takes codes in authentication templates only; the button copies or fills in the same code. */
async function whatsappHop(db: Db, { accountId, identity, step, tag, mask }: OnWhatsapp): Promise<Hop | null> {
  const sender = await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity });
  if (!sender) return null;
  const filter = { accountId, channel: 'WHATSAPP', status: 'APPROVED', search: step.template ?? null } as const;
  const templates = (await listUsableTemplates(db, filter, { limit: 1000, offset: 0 })).filter(
    ({ category, connectionId, name }) =>
      category === 'AUTHENTICATION' && connectionId === sender.connectionId && (step.template ?? name) === name,
  );
  const template = templates.sort((a, b) => distance(a, tag) - distance(b, tag))[0];
  if (!template) return null;
  const filling = { values: placeholdersOf(template).map(() => mask) };
  return {
    channel: 'WHATSAPP',
    sender: identity,
    body: composeText(template, filling) || mask,
    content: composeContent(template, filling),
    template: billedTemplate(template, sender),
  };
}

/** Returns how far the language of a template is from a tag such as `pt-BR`; English comes before any other. */
function distance({ language }: Template, tag: string): number {
  const [own, wanted] = [language, tag].map((each) => each.toLowerCase().replace('-', '_'));
  if (own === wanted) return 0;
  const [base, wantedBase] = [own, wanted].map((each) => each?.split('_', 1)[0]);
  return base === wantedBase ? 1 : base === 'en' ? 2 : 3;
}
