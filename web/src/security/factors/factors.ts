import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { makePasskeyWith } from '../../api/passkey.ts';

const OWN = '/api/partner-gateway/v1/users/me/second-factors';

/** The queries that a change of the factors affects; other sessions end with it. */
export const AFFECTED = [['second-factors'], ['sessions'], ['audit']] as const;

export const factorsQuery = queryOptions({
  queryKey: ['second-factors'],
  queryFn: ({ signal }) => ok(api.GET(OWN, { signal })),
});

/** The second factors of the user. */
export type Factors = Awaited<ReturnType<NonNullable<typeof factorsQuery.queryFn>>>;
export type Passkey = Factors['passkeys'][number];

export const beginTotp = () => ok(api.POST(`${OWN}/totp`));
export const confirmTotp = (code: string) => ok(api.POST(`${OWN}/totp/confirm`, { body: { code } }));
export const removeTotp = () => ok(api.DELETE(`${OWN}/totp`));
export const removePasskey = (id: number) => ok(api.DELETE(`${OWN}/passkeys/{id}`, { params: { path: { id } } }));
export const renewRecoveryCodes = () => ok(api.POST(`${OWN}/recovery-codes`));

export async function addPasskey(name: string) {
  const options = await ok(api.POST(`${OWN}/passkeys/options`));
  const passkey = await makePasskeyWith(options);
  return ok(api.POST(`${OWN}/passkeys`, { body: { name, passkey } }));
}
