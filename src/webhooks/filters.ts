import { type Static, Type } from 'typebox';
import { type Channel } from '../core/channels.ts';
import { STATUS } from '../core/message-state.ts';
import { countryOfUserId, DEFAULT_NUMBER_RULES, isPhoneCountry, parsePhone } from '../core/phone.ts';
import { channelName, id } from '../core/schema.ts';
import type { QueuedEvent } from './account-queue.ts';
import type { ClientData } from './urls.ts';

/** Maximum values of each filter of an endpoint. */
export const MAX_FILTER_VALUES = 100;
const few = { minItems: 1, maxItems: MAX_FILTER_VALUES, uniqueItems: true };

/** Filters of the events of an endpoint: all that are given must match. */
export const Filters = Type.Object(
  {
    channels: Type.Optional(Type.Array(channelName(), few)),
    numbers: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        ...few,
        description: 'Your senders and numbers, as events name them.',
      }),
    ),
    campaignIds: Type.Optional(Type.Array(id(), few)),
    tags: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
        ...few,
        description: 'Of sent messages: one of them as given with the send.',
      }),
    ),
    verifyServiceIds: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), few)),
    countries: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), { ...few, description: 'Of the other person (ISO 3166-1).' }),
    ),
    failedOnly: Type.Optional(
      Type.Boolean({ description: 'Of sent messages only failed and expired ones; other events are not affected.' }),
    ),
  },
  {
    description:
      'All that are given have to hold. An event without such a field (a template has no campaign) passes that filter.',
  },
);
export type Filters = Static<typeof Filters>;

/** Returns the countries that do not exist. */
export const unknownCountries = ({ countries = [] }: Filters): string[] =>
  countries.filter((country) => !isPhoneCountry(country));

/** The fields of facts and of data that filters look at. */
type Filtered = {
  readonly channel?: Channel;
  readonly sender?: string;
  readonly source?: string;
  readonly destination?: string;
  readonly ownNumber?: string | null;
  readonly campaignId?: number | null;
  readonly clientData?: ClientData | null;
  readonly serviceId?: string;
};

const bare = (address: string): string => address.replace(/^\+/, '').toLowerCase();

/** Compiles filters to a condition; null without any. */
export function filterOf({ channels, numbers, campaignIds, tags, verifyServiceIds, countries, failedOnly }: Filters) {
  const conditions: ((facts: Filtered, event: QueuedEvent) => boolean)[] = [];
  if (channels) conditions.push(({ channel }) => channel === undefined || channels.includes(channel));
  if (campaignIds)
    conditions.push(
      ({ campaignId }) => campaignId === undefined || (campaignId !== null && campaignIds.includes(campaignId)),
    );
  if (tags)
    conditions.push(
      ({ clientData }) => clientData === undefined || tags.some((tag) => clientData?.tags?.includes(tag)),
    );
  if (verifyServiceIds)
    conditions.push(({ serviceId }) => serviceId === undefined || verifyServiceIds.includes(serviceId));
  if (numbers) {
    const own = new Set(numbers.map(bare));
    conditions.push(({ source, sender, destination, ownNumber }) => {
      const ours = source === undefined ? [sender] : [destination, ownNumber];
      const known = ours.filter((one) => typeof one === 'string');
      return known.length === 0 || known.some((one) => own.has(bare(one)));
    });
  }
  if (countries)
    conditions.push(({ source, destination }) => {
      const other = source ?? destination;
      return other === undefined || countries.includes(countryOf(other) ?? '');
    });
  if (failedOnly === true) conditions.push((_, event) => event.data !== null || isFailure(event));
  if (conditions.length === 0) return null;
  return (event: QueuedEvent): boolean => conditions.every((holds) => holds(event.facts ?? {}, event));
}

const RULES = { ...DEFAULT_NUMBER_RULES, numberChecks: 'lenient' } as const;
/** Returns the country of a number, with or without its plus, or of a user id, whose case matters. */
const countryOf = (address: string) =>
  countryOfUserId(address) ?? parsePhone(`+${bare(address)}`, RULES)?.country ?? null;
const NO_FAILURES: readonly (number | null)[] = [STATUS.ACCEPTED, STATUS.DELIVERED, STATUS.DELETED, null];

const isFailure = ({ kind, status }: QueuedEvent): boolean =>
  kind === 'INBOUND' || (kind === 'DELIVERY' && !NO_FAILURES.includes(status));
