import { definePreset } from '../protocol.ts';

/** Returns the names of errors as AWS may write them: alone, or after the name of the service. */
const shapes = (...names: readonly string[]): string[] =>
  names.flatMap((name) => [name, `com.amazonaws.pinpointsmsvoicev2#${name}`, `com.amazon.coral.service#${name}`]);

/**
 * AWS End User Messaging SMS, SendTextMessage of the API pinpoint-sms-voice-v2
 * (docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2 and
 * …/sms-voice/latest/userguide/configuration-sets-event-format.html, in November 2026). The base URL is that of the
 * region, `https://sms-voice.eu-west-1.amazonaws.com`; the account is the access key id, the API key its secret.
 *
 * Receipts need the default configuration set with an event destination: an SNS topic with an HTTPS subscription of the
 * callback URL and its token, with raw message delivery. The log shows the URL that confirms the subscription. Inbound
 * messages need such a topic as the destination of the number's two-way messages.
 *
 * TEXT_SUCCESSFUL means that the phone carrier has taken the message. For countries without receipts it is the last
 * event, and messages stay ACCEPTED there; AWS uses it for TEXT_DELIVERED in some.
 */
export const aws = definePreset({
  needs: ['baseUrl', 'account', 'apiKey'],
  request: {
    path: '/',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'PinpointSMSVoiceV2.SendTextMessage',
    },
    auth: 'aws',
    username: '{{account}}',
    body: {
      DestinationPhoneNumber: '{{to}}',
      OriginationIdentity: '{{from}}',
      MessageBody: '{{text}}',
      TimeToLive: '{{validitySeconds}}',
      Context: { reference: '{{messageId}}' },
    },
    maxValiditySeconds: 259_200,
  },
  answer: {
    id: '/MessageId',
    code: '/Reason | /__type',
    text: '/Message | /message',
    rules: [
      { at: '/__type', is: shapes('ThrottlingException'), outcome: 'throttled' },
      {
        at: '/__type',
        is: shapes(
          'AccessDeniedException',
          'UnrecognizedClientException',
          'InvalidSignatureException',
          'ExpiredTokenException',
          'IncompleteSignature',
          'MissingAuthenticationToken',
        ),
        outcome: 'fault',
      },
      // The spending limit of the account.
      { at: '/__type', is: shapes('ServiceQuotaExceededException'), outcome: 'fault' },
      { is: ['DESTINATION_PHONE_NUMBER_OPTED_OUT'], outcome: 'refused' },
      { is: ['DESTINATION_COUNTRY_BLOCKED'], outcome: 'refused', elsewhere: true },
      // A sender that does not exist, or that may not be used.
      {
        at: '/__type',
        is: shapes('ConflictException', 'ResourceNotFoundException'),
        outcome: 'refused',
        elsewhere: true,
      },
    ],
  },
  receipts: {
    ids: ['/messageId', '/context/reference'],
    state: '/eventType',
    states: {
      TEXT_PENDING: 'ACCEPTED',
      TEXT_QUEUED: 'ACCEPTED',
      TEXT_SENT: 'ACCEPTED',
      TEXT_SUCCESSFUL: 'ACCEPTED',
      TEXT_DELIVERED: 'DELIVERED',
      TEXT_INVALID: 'UNDELIVERABLE',
      TEXT_INVALID_MESSAGE: 'REJECTED',
      TEXT_UNREACHABLE: 'UNDELIVERABLE',
      TEXT_CARRIER_UNREACHABLE: 'UNDELIVERABLE',
      TEXT_BLOCKED: 'REJECTED',
      TEXT_CARRIER_BLOCKED: 'REJECTED',
      TEXT_SPAM: 'REJECTED',
      TEXT_PROTECT_BLOCKED: 'REJECTED',
      TEXT_TTL_EXPIRED: 'EXPIRED',
      TEXT_UNKNOWN: 'UNKNOWN',
    },
    code: '/eventType',
    at: '/eventTimestamp',
    to: '/destinationPhoneNumber',
    from: '/originationPhoneNumber',
  },
  inbound: {
    when: { at: '/inboundMessageId', is: ['*'] },
    id: '/inboundMessageId',
    from: '/originationNumber',
    to: '/destinationNumber',
    text: '/messageBody',
  },
  verify: { by: 'query', name: 'token', confirm: '/SubscribeURL' },
});
