import { expect, test } from 'vitest';
import { expectLinear } from '../../test/support/linear.ts';
import type { FieldRow } from './fields.ts';
import { looksLikeHeader, type Mapping, mapColumns } from './import-columns.ts';

const createdAt = new Date(0);
const fields: FieldRow[] = [
  { id: 7, name: 'loyaltyPoints', type: 'number', description: '', createdAt },
  { id: 8, name: 'city', type: 'text', description: '', createdAt },
];
const map = (head: string[], mapping: Mapping = {}) => {
  const { targets, faults } = mapColumns(head, { mapping, fields });
  const names = targets.map((target) => target && ('field' in target ? target.field : `${target.custom}#${target.id}`));
  return { names, faults: faults.map(({ message }) => message) };
};

test('names of columns are recognised in any case, with blanks, underscores and accents, and as other programs write them', () => {
  const heads = ['Phone Number', 'FIRST_NAME', 'last-name', 'Full name', 'E-Mail', 'Sex', 'is test', 'Opted Out'];
  const expected = ['phoneNumber', 'firstName', 'lastName', 'fullName', 'email', 'gender', 'isTest', 'optedOut'];
  expect(map(heads)).toEqual({ names: expected, faults: [] });
  for (const head of ['mobile phone', 'Phone 1 - Value', 'MSISDN', 'Cell', 'Teléfono'])
    expect(map([head]).names).toEqual(['phoneNumber']);
});

test('other columns are custom fields: those of the account by their names, and new ones', () => {
  const { names } = map(['phone', 'Loyalty points', 'CITY', 'Grösse (cm)', '2nd name', '', 'Имя']);
  const fresh = ['Grosse_cm#null', 'field_2nd_name#null', null, 'column_7#null'];
  expect(names).toEqual(['phoneNumber', 'loyaltyPoints#7', 'city#8', ...fresh]);
});

test('labels in files of Google Contacts are ignored, and kept in others', () => {
  const head = ['First Name', 'Labels', 'E-mail 1 - Label', 'E-mail 1 - Value', 'Phone 1 - Label', 'Phone 1 - Value'];
  expect(map(head).names).toEqual(['firstName', null, null, 'email', null, 'phoneNumber']);
  expect(map(['phone', 'Labels']).names).toEqual(['phoneNumber', 'Labels#null']);
  expect(map([...head, 'city'], { Labels: 'city', city: null }).names[1]).toBe('city#8');
});

test('several columns may have numbers: those of Google Contacts and Outlook, but no fax', () => {
  const google = ['Phone 1 - Type', 'Phone 1 - Value', 'Phone 2 - Type', 'Phone 2 - Value'];
  expect(map(google)).toEqual({ names: [null, 'phoneNumber', null, 'phoneNumber'], faults: [] });
  const outlook = ['Home Fax', 'Home Phone', 'Business Phone 2', 'Mobile Phone', 'Primary Phone', 'Pager'];
  const numbers = Array<string>(4).fill('phoneNumber');
  expect(map(outlook)).toEqual({ names: ['Home_Fax#null', ...numbers, 'Pager#null'], faults: [] });
  expect(map(google, { 'Phone 1 - Value': null }).names).toEqual([null, null, null, 'phoneNumber']);
});

test('read-only fields of contacts, and the extra columns of a file of rejected rows, are ignored', () => {
  const head = ['phone', 'id', 'isValid', 'createdAt', 'importLine', 'importError'];
  expect(map(head).names).toEqual(['phoneNumber', null, null, null, null, null]);
});

test('the mapping takes precedence over names: by name, by place, to any field or to none', () => {
  const mapping = { Telefon: 'phoneNumber', vorname: 'firstName', 3: 'customField.city', email: null };
  expect(map(['Telefon', 'Vorname', 'Ort', 'email'], mapping)).toEqual({
    names: ['phoneNumber', 'firstName', 'city#8', null],
    faults: [],
  });
});

test('a missing column, two columns with one field, and no column for the number are all reported', () => {
  const { faults } = map(['email', 'E-mail', 'City', 'city'], { nothing: 'gender', 99: 'gender' });
  expect(faults).toEqual([
    'the file has no column "99"',
    'the file has no column "nothing"',
    'columns 1 ("email") and 2 ("E-mail") have the same field: choose one with "mapping"',
    'columns 3 ("City") and 4 ("city") have the same field: choose one with "mapping"',
    'has no column of phone numbers: name it phoneNumber, or map it with "mapping"',
  ]);
});

test('names are recognised in twelve languages, unless another column or a custom field has the name', () => {
  const heads: Readonly<Record<string, string>> = {
    en: 'Customer name;Cell number;E-mail address',
    it: 'Nominativo;Numero di cellulare;Indirizzo e-mail',
    es: 'Nombre completo;Teléfono móvil;Correo electrónico',
    fr: 'Nom complet;Numéro de téléphone;Courriel',
    de: 'Vollständiger Name;Handynummer;E-Mail-Adresse',
    pt: 'Nome completo;Telemóvel;Correio eletrónico',
    nl: 'Volledige naam;Telefoonnummer;E-mailadres',
    pl: 'Imię i nazwisko;Telefon komórkowy;Adres e-mail',
    sv: 'Fullständigt namn;Mobiltelefonnummer;E-postadress',
    da: 'Fulde navn;Mobilnummer;E-postadresse',
    tr: 'Adı Soyadı;Cep telefonu;E-posta',
    ro: 'Nume complet;Număr de telefon;Adresă de email',
  };
  for (const [language, head] of Object.entries(heads))
    expect(map(head.split(';')).names, language).toEqual(['fullName', 'phoneNumber', 'email']);
  expect(map(['Vorname', 'Nachname', 'Telefon']).names).toEqual(['firstName', 'lastName', 'phoneNumber']);
  expect(map(['Imię', 'Nazwisko', 'Komórka']).names).toEqual(['firstName', 'lastName', 'phoneNumber']);
  expect(map(['phone', 'Telefon']).names).toEqual(['phoneNumber', 'Telefon#null']);
});

test('next to a first name in another language, a column called name is the last name', () => {
  expect(map(['Vorname', 'Name', 'Telefon']).names).toEqual(['firstName', 'lastName', 'phoneNumber']);
  expect(map(['First name', 'Name', 'Phone']).names).toEqual(['firstName', 'fullName', 'phoneNumber']);
});

test('a row is a header when one of its cells is a known name', () => {
  expect(looksLikeHeader(['Ort', 'phone number'])).toBe(true);
  expect(looksLikeHeader(['+393331234567', 'Anna'])).toBe(false);
});

test('a mapping of many names of a wide file takes time in proportion to the number of names', async () => {
  const inputOf = (size: number) => ({
    head: Array.from({ length: size / 10 }, (_, i) => `é${i}`),
    mapping: Object.fromEntries(Array.from({ length: size }, (_, i) => [`ü${i}`, null])),
  });
  await expectLinear(inputOf, ({ head, mapping }) => map(head, mapping), 200);
});
