import type { Sender } from '../sending/accept.ts';
import type { Submitter } from './read-submit.ts';
import type { Client } from './sign-in.ts';

/** Returns the account of a client, as the sender of its messages. */
export const senderOf = ({ accountId, id, numberRules }: Client): Sender => ({
  accountId,
  numberRules,
  keyId: null,
  userId: null,
  smppCredentialId: id,
});

/** Returns the properties of a client that decide how its submits are read. */
export const submitterOf = ({ id, alphabet, senders, defaultCountry }: Client): Submitter => ({
  id,
  alphabet,
  senders,
  defaultCountry,
});
