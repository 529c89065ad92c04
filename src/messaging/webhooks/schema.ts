import { type Static, Type } from 'typebox';
import type { PostResult } from '../../platform/outbound/post.ts';
import type { Endpoint } from './sql.ts';
import { instant, orNull } from '../../platform/lib/schema.ts';

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'An https URL with port 443 or 8443 (unless the operator allows others), without a user name or #fragment, whose host ' +
    'resolves only to public addresses. Checked again at each connection.',
});
const Method = Type.Literal('POST', { description: 'How events are sent.' });

export const FormAIn = Type.Object({ callbackUrl: Url });
export const FormBIn = Type.Object({ url: Url, method: Type.Optional(Method) });

const state = {
  id: Type.Integer({ description: 'Changes with each registration.' }),
  form: Type.Enum(['A', 'B'], {
    type: 'string',
    description: 'The payload form, given by the endpoint that registered the webhook.',
  }),
  status: Type.Enum(['active', 'disabled'], {
    type: 'string',
    description: 'A disabled webhook receives nothing. PUT its URL (the same one is fine) to enable it again.',
  }),
  disabledReason: orNull(Type.String()),
  failingSince: orNull(instant('The first failure since the last success.')),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
};
const Secret = Type.String({
  description: '`whsec_…`: verifies the header `webhook-signature` (Standard Webhooks). Shown only once.',
});

export const FormAOut = Type.Object({ ...state, callbackUrl: Type.String() });
export const FormACreated = Type.Object({ ...FormAOut.properties, secret: Secret });
export const FormBOut = Type.Object({ ...state, url: Type.String(), method: Method });
export const FormBCreated = Type.Object({ ...FormBOut.properties, secret: Secret });

export const SecretOut = Type.Object({
  secret: Secret,
  previousSecretUntil: orNull(instant('Until then the previous secret signs too.')),
});

export const TestOut = Type.Object({
  acknowledged: Type.Boolean({ description: 'The receiver responded with 2xx within 5 seconds.' }),
  status: orNull(Type.Integer({ description: 'HTTP status of the response; null without a complete response.' })),
  durationMs: Type.Integer(),
  error: orNull(Type.String({ description: 'Reason why there was no complete response.' })),
  answer: orNull(Type.String({ description: 'The first 1,024 bytes of the response body.' })),
});

const stateOf = ({ id, form, status, disabledReason, failingSince, createdAt, updatedAt }: Endpoint) => ({
  id,
  form,
  status,
  disabledReason,
  failingSince: failingSince?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** Returns an endpoint in the representation of form A, whatever its own form. */
export const inFormA = (endpoint: Endpoint): Static<typeof FormAOut> => ({
  ...stateOf(endpoint),
  callbackUrl: endpoint.url,
});

/** Returns an endpoint in the representation of form B, whatever its own form. */
export const inFormB = (endpoint: Endpoint): Static<typeof FormBOut> => ({
  ...stateOf(endpoint),
  url: endpoint.url,
  method: endpoint.method,
});

export const testedOf = (result: PostResult): Static<typeof TestOut> => {
  const durationMs = Math.round(result.durationMs);
  if (result.kind === 'failed')
    return { acknowledged: false, status: null, durationMs, error: result.reason, answer: null };
  const { status, body: answer } = result;
  return { acknowledged: status >= 200 && status < 300, status, durationMs, error: null, answer };
};
