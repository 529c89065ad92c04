/**
 * Responses and callbacks of the real RBM network, as public pages show them. `source` is where each was published: pages of
 * developers.google.com/business-communications/rcs-business-messaging (GOOGLE), or a thread on GitHub. Where a page lists
 * the fields of an event only, the values are ours.
 */
const GOOGLE = 'developers.google.com/business-communications/rcs-business-messaging';

/** A response to a message, and the verdict on it. */
export type RecordedAnswer = {
  readonly title: string;
  readonly source: string;
  readonly status: number;
  readonly error: object;
  readonly verdict: object;
};

/** Responses to `POST /v1/phones/{number}/agentMessages`. */
export const ANSWERS: readonly RecordedAnswer[] = [
  {
    title: 'no RCS at this number, or the agent is not launched with its carrier',
    source: `${GOOGLE}/guides/build/messages/send`,
    status: 404,
    error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' },
    verdict: { act: 'refuse', status: 'UNSUPPORTED', account: false, code: 'NOT_FOUND' },
  },
  {
    title: 'the agent does not belong to the service account',
    source: 'rcs-business-messaging/rbm-api-examples#24',
    status: 403,
    error: {
      code: 403,
      message:
        'There was an error looking up the RBM agent (ID: null) that corresponds to the Google Cloud Platform (GCP) project ' +
        "you're authenticating with.",
      status: 'PERMISSION_DENIED',
    },
    verdict: { act: 'refuse', status: 'ERROR', account: true, code: 'PERMISSION_DENIED' },
  },
  {
    title: 'the handset lacks a feature',
    source: `${GOOGLE}/guides/build/messages/send (status and code; the text is not published)`,
    status: 400,
    error: { code: 400, message: 'The device does not support this feature.', status: 'INVALID_ARGUMENT' },
    verdict: { act: 'refuse', status: 'UNSUPPORTED', account: false, code: 'INVALID_ARGUMENT' },
  },
];

/** The verification of a webhook. */
export const HANDSHAKE = {
  source: `${GOOGLE}/guides/integrate/webhooks`,
  clientToken: 'SJENCPGJESMGUFPY',
  body: { clientToken: 'SJENCPGJESMGUFPY', secret: '1234567890' },
  answer: '1234567890',
};

/** An event in the envelope of a webhook, and what has to be read from it. */
export type RecordedEvent = {
  readonly source: string;
  readonly event: object;
  readonly read: object;
};

export const EVENTS: readonly RecordedEvent[] = [
  {
    source: `${GOOGLE}/guides/build/messages/receive, as quoted in nyaruka/courier handlers/rbm`,
    event: {
      senderPhoneNumber: '+12223334444',
      messageId: 'msg000999888777a',
      sendTime: '2018-12-31T15:01:23.045123456Z',
      text: 'Hello to you too!',
    },
    read: {
      inbounds: [
        {
          source: '12223334444',
          text: 'Hello to you too!',
          rich: { id: 'msg000999888777a', messageType: 'TEXT', at: new Date('2018-12-31T15:01:23.045Z') },
        },
      ],
    },
  },
  {
    source: `${GOOGLE}/reference/rest/v1/UserFile`,
    event: {
      senderPhoneNumber: '+12223334444',
      messageId: 'MxABC',
      sendTime: '2018-12-31T15:01:23.045123456Z',
      agentId: 'plumber_agent@rbm.goog',
      userFile: {
        payload: {
          mimeType: 'image/jpeg',
          fileSizeBytes: 4096,
          fileUri: 'https://rcs-user-content-us.storage.googleapis.com/abc',
          fileName: 'leak.jpg',
        },
      },
    },
    read: { inbounds: [{ rich: { messageType: 'IMAGE', media: { fileName: 'leak.jpg' } } }] },
  },
  {
    source: `${GOOGLE}/reference/rest/v1/UserEvent`,
    event: {
      senderPhoneNumber: '+12223334444',
      eventType: 'DELIVERED',
      eventId: 'e1',
      messageId: '0190a000-0000-7000-8000-000000000000',
      sendTime: '2018-12-31T15:01:23.045123456Z',
      agentId: 'plumber_agent@rbm.goog',
    },
    read: { receipts: [{ carrierIds: ['0190a000-0000-7000-8000-000000000000'], state: 'DELIVERED' }] },
  },
  {
    source: `${GOOGLE}/reference/rest/v1/ServerEvent`,
    event: {
      phoneNumber: '+12223334444',
      agentId: 'plumber_agent@rbm.goog',
      messageId: '0190a000-0000-7000-8000-000000000000',
      eventType: 'TTL_EXPIRATION_REVOKED',
      eventId: 'e2',
      sendTime: '2018-12-31T15:01:23.045123456Z',
    },
    read: { receipts: [{ state: 'EXPIRED', destination: '12223334444' }] },
  },
];
