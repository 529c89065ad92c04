import type { Outcome } from '../carrier.ts';

/** The final states that a rejection can lead to. */
export type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];

/**
 * Action required by an error of the Graph API (Cloud API, error codes).
 *
 * `refuse`: this message will never be accepted; with `blames: 'account'` the reason lies with our number or account,
 * which pauses and requires the operator to act. `token`: nothing is accepted until the operator provides another token
 * or app secret. `hold`: the message waits until the operator has granted a permission. `busy`: the number or account
 * in `scope` pauses and the message is sent again; `counts` as in `Outcome`. `pair`: too many messages to one person.
 * `repeat`: sent again here twice, then rejected. `later`: this message is sent again later.
 */
export type ErrorClass =
  | { readonly act: 'refuse'; readonly status: Refusal; readonly blames: 'message' | 'account' }
  | { readonly act: 'token' | 'hold' | 'pair' | 'repeat' | 'later' }
  | {
      readonly act: 'busy';
      readonly scope: 'number' | 'account';
      readonly counts: boolean;
      readonly minPauseMs: number;
    };

const refuse = (status: Refusal, blames: 'message' | 'account' = 'message'): ErrorClass => ({
  act: 'refuse',
  status,
  blames,
});
export const TOKEN: ErrorClass = { act: 'token' };
export const HOLD: ErrorClass = { act: 'hold' };
export const LATER: ErrorClass = { act: 'later' };
export const MESSAGE = refuse('ERROR');
const ACCOUNT = refuse('ERROR', 'account');
const PAIR: ErrorClass = { act: 'pair' };
const REPEAT: ErrorClass = { act: 'repeat' };
export const NUMBER_LIMIT: ErrorClass = { act: 'busy', scope: 'number', counts: false, minPauseMs: 0 };
const ACCOUNT_LIMIT: ErrorClass = { act: 'busy', scope: 'account', counts: false, minPauseMs: 0 };
const UNAVAILABLE: ErrorClass = { act: 'busy', scope: 'number', counts: true, minPauseMs: 0 };
/** The upgrade of a number to a higher throughput takes minutes. */
const MAINTENANCE: ErrorClass = { act: 'busy', scope: 'number', counts: false, minPauseMs: 60_000 };

/** The code of a failure because the person has stopped marketing messages of the business in WhatsApp. */
export const MARKETING_STOPPED = '131050';

/** Errors with the same cause and the same fix. The texts are full sentences for operators, in Markdown. */
export type KnownError = {
  readonly codes: readonly number[];
  readonly errorClass: ErrorClass;
  readonly meaning: string;
  readonly advice: string;
};

const row = (codes: readonly number[], errorClass: ErrorClass, meaning: string, advice: string): KnownError => ({
  codes,
  errorClass,
  meaning,
  advice,
});

/**
 * All codes that sending a message, registering a number or subscribing can end with. Sources: Meta's page of error
 * codes (developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes, of May 2026) and, for
 * 17, 102, 341 and 613, that of the Graph API (developers.facebook.com/docs/graph-api/guides/error-handling). 470 is
 * the older form of 131047. 131030 is on neither page; Neurotech-HQ/heyoo#94 quotes the response.
 */
export const KNOWN_ERRORS: readonly KnownError[] = [
  row(
    [0, 102, 104, 190],
    TOKEN,
    'The access token is missing, has expired, or was revoked.',
    'Store a new token of the system user: `connection update NAME --secrets file.json` with `{"accessToken": "…"}`.',
  ),
  row(
    [3, 10, 131005],
    HOLD,
    'The token lacks a permission, or the app has no access to the account.',
    'Grant `whatsapp_business_messaging` and `whatsapp_business_management` to the system user and the app in Meta.',
  ),
  row(
    [4, 17, 341, 613, 80007],
    ACCOUNT_LIMIT,
    'The app or the account has made too many calls.',
    'Wait: sending continues by itself. If it happens often, lower `tps`.',
  ),
  row(
    [130429],
    NUMBER_LIMIT,
    'The number has reached its throughput.',
    'Wait: sending continues by itself. Lower `tps`, or ask Meta for a higher throughput.',
  ),
  row(
    [131056],
    PAIR,
    'Too many messages to the same person in a short time.',
    'Wait: messages to this person are spread automatically, and others are not affected.',
  ),
  row(
    [131057, 2494100],
    MAINTENANCE,
    'The number is in maintenance, for example for an upgrade of its throughput.',
    'Wait: it takes some minutes.',
  ),
  row(
    [2, 131016, 133004],
    UNAVAILABLE,
    "Meta's service is temporarily unavailable.",
    "Wait; Meta's status page (metastatus.com/whatsapp-business-api) reports outages.",
  ),
  row(
    [1, 131000],
    REPEAT,
    'Meta failed for an unspecified reason.',
    'Send the message again; if it fails every time, compare it with the reference of its type.',
  ),
  row(
    [132069],
    LATER,
    'The Flow is throttled: ten messages with it were sent in the last hour.',
    'Correct the Flow in WhatsApp Manager.',
  ),
  row(
    [134101],
    LATER,
    'A new template is still being synchronised, which takes up to ten minutes.',
    'Wait: the message is sent again.',
  ),
  row(
    [131026],
    refuse('UNSUPPORTED'),
    'The number is not on WhatsApp, or the person has an old version or has not accepted the terms.',
    'Use a fallback to SMS.',
  ),
  row(
    [470, 131047],
    refuse('CONVERSATION_CLOSED'),
    'More than 24 hours have passed since the person last wrote.',
    'Send a template.',
  ),
  row(
    [130403],
    refuse('DISABLED'),
    'Your business has blocked this person.',
    'Unblock the person in Meta to write to them again.',
  ),
  row(
    [Number(MARKETING_STOPPED)],
    MESSAGE,
    'The person has stopped marketing messages from you.',
    'Nothing: further marketing to this person is rejected here until the person resumes it; other templates are sent.',
  ),
  row(
    [131049],
    MESSAGE,
    'Meta limits the marketing messages that a person gets.',
    'Nothing: a message that has no fallback is sent again after 24 hours, at most twice and while it is valid.',
  ),
  row(
    [130472],
    MESSAGE,
    'The person is in a group of an experiment of Meta that gets no marketing.',
    'Use another channel, or wait until the person writes to you.',
  ),
  row(
    [131030],
    MESSAGE,
    "The sender is Meta's test number, and the recipient is not on its list of allowed numbers.",
    "Add the recipient on the app's page API setup, in the field To, or send from your own number.",
  ),
  row([131021], MESSAGE, 'The recipient is the number that sends.', 'Send to another number.'),
  row(
    [130497],
    MESSAGE,
    'The account must not write to people in this country.',
    "Compare your business with WhatsApp's Business Messaging Policy; use another channel for this country.",
  ),
  row([131062], MESSAGE, 'A code cannot be sent to a user id, only to a number.', 'Ask the person for their number.'),
  row(
    [100, 131008, 131009, 131051, 131055, 135000],
    MESSAGE,
    'A parameter of the message is missing or not valid.',
    "Read Meta's explanation in the timeline of the message, and correct its content.",
  ),
  row(
    [131052, 131053],
    MESSAGE,
    'Meta could not fetch or use the file.',
    'Check its type and size, and that its URL opens without a sign-in.',
  ),
  row(
    [132000, 132012, 132018],
    MESSAGE,
    'The values do not match the template.',
    "Check the template's `placeholders`, and send `variables` with the same number of fields.",
  ),
  row(
    [132001],
    MESSAGE,
    'The template does not exist in this language, or is not approved.',
    'Check WhatsApp Manager; then `template sync NAME`.',
  ),
  row([132005], MESSAGE, 'The text of the template is too long with its values.', 'Shorten the values.'),
  row(
    [132007],
    MESSAGE,
    "The content of the template violates WhatsApp's policy.",
    'Change the template, and submit it again.',
  ),
  row(
    [132015],
    MESSAGE,
    'The template is paused, because people blocked or reported it.',
    'Wait until Meta ends the pause, or change the template and submit it again.',
  ),
  row(
    [132016],
    MESSAGE,
    'The template was paused too often and is permanently disabled.',
    'Create a template with other content.',
  ),
  row([132068], MESSAGE, 'The Flow is blocked.', 'Correct the Flow in WhatsApp Manager.'),
  row(
    [131063],
    MESSAGE,
    'Marketing templates are switched off for this account.',
    'Set `disable_marketing_messages_on_cloud_api` of the account to false.',
  ),
  row(
    [134100, 134102],
    MESSAGE,
    'The template cannot be sent as a marketing message.',
    'Check its category in WhatsApp Manager.',
  ),
  row(
    [368, 131031],
    ACCOUNT,
    'Meta has restricted or locked the account.',
    'See WhatsApp Manager › Account quality for the reason and the appeal.',
  ),
  row(
    [131048],
    ACCOUNT,
    'Too many messages of the number were blocked or reported as spam.',
    'Check the quality of the number in WhatsApp Manager, and send less until it has recovered.',
  ),
  row(
    [131064],
    ACCOUNT,
    'The account has reached its limit because templates have the wrong category.',
    'Correct the categories of the templates. Meta lifts the limit by itself.',
  ),
  row(
    [131042],
    ACCOUNT,
    'There is a problem with the payment.',
    'Check the payment method, credit line, currency and time zone of the account in WhatsApp Manager.',
  ),
  row(
    [131037],
    ACCOUNT,
    'The display name of the number is not approved.',
    'Change or appeal the name in WhatsApp Manager › Phone numbers.',
  ),
  row(
    [131045, 133010],
    ACCOUNT,
    'The number is not registered for the Cloud API.',
    'Register it: `connection setup NAME --pin PIN`.',
  ),
  row(
    [133000],
    ACCOUNT,
    'An earlier attempt to deregister the number failed.',
    'Deregister the number again in WhatsApp Manager, then register it.',
  ),
  row(
    [133005, 133008, 133009],
    ACCOUNT,
    'The PIN of the number is wrong, or was tried too often or too quickly.',
    'Wait as long as Meta requires, then try the right PIN, or set a new one in WhatsApp Manager.',
  ),
  row([133006], ACCOUNT, 'The number has not been verified.', 'Verify it in WhatsApp Manager, then register it.'),
  row(
    [133015, 133016],
    ACCOUNT,
    'The number was deleted a moment ago, or was registered too often.',
    'Wait: five minutes after a deletion, up to 72 hours after too many attempts.',
  ),
  row([33], ACCOUNT, 'The number was deleted.', 'Take its ID out of `phoneNumberIds`.'),
  row(
    [134011],
    ACCOUNT,
    'The terms of WhatsApp Payments have not been accepted.',
    "Accept them with the link in Meta's message.",
  ),
];

/** All codes from 200 to 299. */
export const PERMISSION_ERRORS: KnownError = row(
  [],
  HOLD,
  'A permission was not granted, or was removed.',
  'Grant the permission that Meta names to the system user and the app.',
);

/**
 * Code 100 whose text names `appsecret_proof`: "Invalid appsecret_proof provided in the API argument"
 * (facebook/facebook-python-business-sdk#528) or "API calls from the server require an appsecret_proof argument"
 * (Yoctol/bottender#271).
 */
export const PROOF_ERROR: KnownError = row(
  [100],
  TOKEN,
  'The app secret of the connection is not that of the app that issued the access token.',
  'Store the secret of that app: `connection update NAME --secrets file.json` with `{"appSecret": "…"}`.',
);

/**
 * Code 100 whose text is "Unsupported post request. Object with ID '…' does not exist, cannot be loaded due to missing
 * permissions, or does not support this operation" (sajuthankappan/whatsapp-cloud-api-rs#3).
 */
export const UNKNOWN_OBJECT: KnownError = row(
  [100],
  HOLD,
  'The ID of the number is wrong, or the system user has no access to the account.',
  'Compare `phoneNumberIds` with WhatsApp Manager, and assign the account to the system user.',
);
