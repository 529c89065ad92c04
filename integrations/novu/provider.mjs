/**
 * A provider of SMS for Novu (the interface `ISmsProvider` of @novu/stateless 0.24 and of the providers of Novu itself).
 * Status events arrive as Heliograph's webhook of an endpoint of format v2 posts them.
 *
 * @param {{ baseUrl: string, apiKey: string, from?: string }} config `from` is the sender if a message has none
 */
export function createHeliographProvider({ baseUrl, apiKey, from }) {
  return {
    id: 'heliograph',
    channelType: 'sms',

    /** @param {{ to: string, content: string, from?: string, id?: string }} options */
    async sendMessage({ to, content, from: sender = from, id }) {
      const answer = await fetch(new URL('/api/message-server/sms/send', baseUrl), {
        method: 'POST',
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          phoneNumber: to,
          message: content,
          ...(sender && { senderName: sender }),
          // Novu repeats jobs whose worker died: the same id sends nothing again for 24 hours.
          ...(id && { customerMessageId: id }),
        }),
      });
      const body = await answer.json();
      if (!answer.ok) throw new Error(`Heliograph answered ${answer.status}: ${body.message}`);
      const [result] = body.results;
      if (!result.accepted) throw new Error(`Heliograph rejected the message: ${result.reasons.join('; ')}`);
      return { id: body.messageId, date: new Date().toISOString() };
    },

    /** The ids of the messages in the body of a webhook. */
    getMessageId: (body) => [body].flat().flatMap(({ data }) => data?.messageId ?? []),

    /** Reads the event about this message in the body of a webhook; undefined for an event that Novu has no word for. */
    parseEventBody(body, identifier) {
      const event = [body].flat().find(({ data }) => data?.messageId === identifier);
      const status = event && STATUSES[event.type];
      if (!status) return undefined;
      const { attempts, error } = event.data;
      return {
        status,
        date: event.occurredAt,
        externalId: identifier,
        attempts,
        response: error?.text ?? '',
        row: JSON.stringify(event),
      };
    },
  };
}

/** The types of events as Novu's `SmsEventStatusEnum`. */
const STATUSES = {
  'message.accepted': 'accepted',
  'message.sent': 'sent',
  'message.delivered': 'delivered',
  'message.failed': 'failed',
  'message.expired': 'undelivered',
  'message.cancelled': 'failed',
};
