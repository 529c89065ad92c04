import { type Attack, type Ground, MEANS } from '../attack.ts';
import { MS, PG, requestsAt, type Wire, withKey } from '../requests.ts';

const NUMBER = '+393331234567';
const query = (path: string, fields: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(fields)}`;

/** Texts on which an expression with nested or adjacent repetitions takes quadratic time or worse. */
/** Ten parts of 153 septets, of which braces and pipes take two each. A longer SMS would be rejected unread. */
const SMS = { blanks: 1528, openings: 872 } as const;
const blanks = (length: number): string => `{{${' '.repeat(length - 2)}`;
const openings = (length: number): string => '{{a|'.repeat(length / 4);
const dots = (length: number): string => `a@${'a.'.repeat(length / 2)}`;

/** Requests of a trial key, all alike. */
const trial = (
  name: string,
  make: (ground: Ground) => Wire,
  more: Pick<Attack, 'tiny' | 'ownsNetworks'> = {},
): Attack => ({
  name,
  player: 'trial tenant',
  ...more,
  prepare: requestsAt(MEANS.trialPerSecond, (ground) => {
    const wire = make(ground);
    return () => wire;
  }),
});

const sms = (body: object) => (ground: Ground) =>
  withKey(ground, 'POST', `${MS}/sms/send`, { destination: NUMBER, sender: 'Acme', simulation: true, ...body });
const rcs = (text: string) => (ground: Ground) =>
  withKey(ground, 'POST', `${MS}/rcs/templates`, { name: 'hostile', body: { type: 'TEXT', text } });
const whatsapp = (text: string) => (ground: Ground) =>
  withKey(ground, 'POST', `${MS}/whatsapp/templates`, {
    phoneNumberId: ground.callbacks.whatsapp.identity,
    name: 'hostile',
    language: 'en',
    category: 'UTILITY',
    components: Array(10).fill({ type: 'BODY', text }),
  });
const preview = (smsBody: string) => (ground: Ground) =>
  withKey(ground, 'POST', `${PG}/campaigns/preview`, { sendingMode: 'SMS', smsSender: 'ACME', smsBody });
const contact = (fields: object) => (ground: Ground) =>
  withKey(ground, 'POST', `${PG}/contacts`, { phoneNumber: NUMBER, ...fields });
const search = (path: string, fields: Readonly<Record<string, string>>) => (ground: Ground) =>
  withKey(ground, 'GET', query(`${PG}${path}`, fields));

/** Texts that are hard to read. */
export const TEXT_ATTACKS: readonly Attack[] = [
  trial('SMS of braces and blanks', sms({ body: blanks(SMS.blanks) }), { tiny: true }),
  trial('SMS of braces and pipes', sms({ body: openings(SMS.openings), placeholders: { a: 'x' } })),
  trial('RCS templates of braces and blanks', rcs(blanks(3072)), { tiny: true }),
  trial('RCS templates of braces and pipes', rcs(openings(3072))),
  trial('WhatsApp templates of braces and blanks', whatsapp(blanks(50_000)), { ownsNetworks: true }),
  trial('previews of braces and blanks', preview(blanks(SMS.blanks))),
  trial('previews of braces and pipes', preview(openings(SMS.openings))),
  trial('senders of digits', sms({ body: 'x', sender: '1'.repeat(500_000) })),
  trial('numbers of zeros', sms({ body: 'x', destination: `+${'0'.repeat(500_000)}` })),
  trial('dates of digits and blanks', sms({ body: 'x', scheduledDate: `2027-01-31${' '.repeat(500_000)}1` })),
  trial('addresses of dots', contact({ email: dots(500_000) })),
  trial('names of blanks', contact({ fullName: `${' '.repeat(500_000)}x` })),
  trial('webhook URLs of dots', (ground) =>
    withKey(ground, 'POST', `${PG}/webhooks/delivery-status`, { callbackUrl: `https://${'a.'.repeat(250_000)}` }),
  ),
  trial('searches of wildcards', search('/contacts', { search: '%_'.repeat(100) })),
  trial('searches of blanks', search('/inbox/conversations', { search: `${' '.repeat(199)}x` })),
];
