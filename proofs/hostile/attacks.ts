import type { Attack } from './attack.ts';
import { CALLBACK_ATTACKS } from './attacks/callbacks.ts';
import { CARRIER_ATTACKS } from './attacks/carriers.ts';
import { FILE_ATTACKS } from './attacks/files.ts';
import { GUESS_ATTACKS } from './attacks/guesses.ts';
import { JSON_ATTACKS } from './attacks/json.ts';
import { KEY_ATTACKS } from './attacks/keys.ts';
import { MAIL_ATTACKS } from './attacks/mails.ts';
import { OUTSIDE_ATTACKS } from './attacks/outside.ts';
import { RECEIVER_ATTACKS } from './attacks/receivers.ts';
import { SMPP_ATTACKS } from './attacks/smpp.ts';
import { SOCKET_ATTACKS } from './attacks/sockets.ts';
import { STREAM_ATTACKS } from './attacks/streams.ts';
import { TEXT_ATTACKS } from './attacks/texts.ts';
import { WORK_ATTACKS } from './attacks/work.ts';

/** All attacks, in the order in which they are played. */
export const ATTACKS: readonly Attack[] = [
  ...JSON_ATTACKS,
  ...TEXT_ATTACKS,
  ...SOCKET_ATTACKS,
  ...SMPP_ATTACKS,
  ...GUESS_ATTACKS,
  ...CALLBACK_ATTACKS,
  ...CARRIER_ATTACKS,
  ...FILE_ATTACKS,
  ...WORK_ATTACKS,
  ...MAIL_ATTACKS,
  ...KEY_ATTACKS,
  ...OUTSIDE_ATTACKS,
  ...STREAM_ATTACKS,
  ...RECEIVER_ATTACKS,
];
