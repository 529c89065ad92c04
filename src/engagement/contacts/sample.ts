import type { Author } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { addToLists } from './lists/members/associate.ts';
import { createList } from './lists/save.ts';
import { createContact } from './create.ts';
import { createField } from './fields/save.ts';

/**
 * Numbers that reach no one: Australia, Sweden and the United States reserve them for films and examples, and they are
 * valid in the numbering plans.
 */
const SAMPLES = [
  { firstName: 'Ada', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+61491570156', city: 'Sydney' },
  { firstName: 'Bruno', lastName: 'Example', gender: 'MALE', phoneNumber: '+61491570157', city: 'Perth' },
  { firstName: 'Carla', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+46701740605', city: 'Stockholm' },
  { firstName: 'Didrik', lastName: 'Example', gender: 'MALE', phoneNumber: '+46701740606', city: 'Uppsala' },
  { firstName: 'Ellis', lastName: 'Example', gender: 'OTHER', phoneNumber: '+12025550123', city: 'Washington' },
  { firstName: 'Fay', lastName: 'Example', gender: 'FEMALE', phoneNumber: '+12025550124', city: 'Washington' },
] as const;

/** Creates some contacts, a list, a test list and a custom field, for the account that the first start creates. */
export async function createSamples(tx: Db, actor: Author): Promise<void> {
  await createField(tx, actor, { name: 'city', type: 'text', description: 'A custom field' });
  const ids: number[] = [];
  for (const { city, ...sample } of SAMPLES) {
    const email = `${sample.firstName.toLowerCase()}@example.com`;
    ids.push(await createContact(tx, actor, { ...sample, email, isTest: true, customFields: { city } }));
  }
  const description = 'Created at the first start: numbers that are reserved for examples and reach nobody';
  const list = await createList(tx, actor, { name: 'Sample contacts', description });
  const test = await createList(tx, actor, { name: 'Test contacts', description, isTest: true });
  await addToLists(tx, actor, { listIds: [list.id], contacts: { ids } });
  await addToLists(tx, actor, { listIds: [test.id], contacts: { ids: ids.slice(0, 2) } });
}
