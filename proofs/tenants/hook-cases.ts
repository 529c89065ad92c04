import { createHmac } from 'node:crypto';
import type { Case } from './case.ts';
import { numberAtRandom, type Party, secretOf } from './things.ts';

const hmac = (key: string | Buffer, content: string) => createHmac('sha256', key).update(content);
const seconds = (): string => String(Math.floor(Date.now() / 1000));

/** A hook whose requests are signed with the secret of the party's own service, whichever service they name. */
const signed = (body: () => object, sign: NonNullable<Case['sign']>): Case => ({
  ids: { 'path.serviceId': 'hookedService' },
  body,
  sign,
});

/** The routes of identity products, whose credential is a signature. */
export const HOOK_CASES: Readonly<Record<string, Case>> = {
  'POST /hooks/supabase/send-sms/:serviceId': signed(
    () => ({ user: { phone: numberAtRandom() }, sms: { otp: '424242' } }),
    (party, body) => {
      const [id, time] = ['msg_1', seconds()];
      const signature = hmac(Buffer.from(secretOf(party), 'base64'), `${id}.${time}.${body}`).digest('base64');
      return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
    },
  ),
  'POST /hooks/zitadel/send-sms/:serviceId': signed(
    () => ({ contextInfo: { recipientPhoneNumber: numberAtRandom() }, args: { code: '424242' } }),
    (party, body) => {
      const time = seconds();
      return { 'zitadel-signature': `t=${time},v1=${hmac(secretOf(party), `${time}.${body}`).digest('hex')}` };
    },
  ),
  'POST /hooks/authgear/send-sms/:serviceId': signed(
    () => ({ to: numberAtRandom(), template_variables: { code: '424242' } }),
    (party: Party, body) => ({ 'x-authgear-body-signature': hmac(secretOf(party), body).digest('hex') }),
  ),
};
