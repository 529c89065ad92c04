import { type Static, Type } from 'typebox';
import { boolean, type ColumnType, snakeCase, text } from '../core/db/columns.ts';
import { raw, type Sql } from '../core/db/query.ts';
import { channelName, instant, orNull } from '../core/schema.ts';

/** Countries where files with column names in a language mostly come from; EN: English, from anywhere. */
export const LANGUAGES = ['EN', 'IT', 'ES', 'FR', 'DE', 'PT', 'NL', 'PL', 'SE', 'DK', 'TR', 'RO'] as const;

/**
 * The names of a field in the head of a file, as `normalizedName` returns them: those that phones and email programs
 * export (`exact`), and those that people write, by language.
 */
type Headers = { readonly exact: string } & Readonly<Partial<Record<(typeof LANGUAGES)[number], string>>>;

type Own = { readonly empty: null | false; readonly clean?: (text: string) => string };

/** The properties of a field of contacts. A field without one of them takes no part in what the property is for. */
type ContactField = {
  /** The schema in responses. */
  readonly out: Type.TSchema;
  /** The schema in requests that create or change a contact. */
  readonly in?: Type.TSchema;
  /** The schema of a query parameter: contacts with this value. */
  readonly filter?: Type.TSchema;
  /** The type of the column, which has the name of the field in snake case and its value as it is in responses. */
  readonly stored?: ColumnType<never>;
  /** A value that follows from no other: `empty` until a client sets it. `clean` replaces trimming of texts. */
  readonly own?: Own;
  /** The content of the column in exported files, which have the columns in the order of this table. */
  readonly cell?: 'text' | 'phone' | 'number' | 'plain';
  /** The position among the placeholders for the texts of campaigns. */
  readonly placeholder?: number;
  /** The names of the column in imported files. */
  readonly headers?: Headers;
  /** The characters that a cell of an imported file may have, if it is taken as it is. */
  readonly maxLength?: number;
};

const optional = <T extends Type.TSchema>(schema: T) => Type.Optional(orNull(schema));

/** An own text of up to `maxLength` characters. */
const ownText = <M extends Pick<ContactField, 'placeholder' | 'headers'>>(maxLength: number, more: M) => ({
  out: orNull(Type.String()),
  in: optional(Type.String({ maxLength })),
  stored: text,
  own: { empty: null },
  cell: 'text' as const,
  maxLength,
  ...more,
});

const CHANNEL = channelName();
export const GENDERS = ['MALE', 'FEMALE', 'OTHER'] as const;
const GENDER = Type.Enum([...GENDERS], { type: 'string' });

const channelList = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^(SMS|RCS|WHATSAPP)(,(SMS|RCS|WHATSAPP)){0,2}$',
      'x-message': 'must be channels (SMS, RCS, WHATSAPP) separated by commas',
      description,
    }),
  );

/**
 * The fields that every contact has, by their names in the API. A new one is a column of `contact` and an entry here:
 * statements, schemas, import, export and placeholders follow.
 */
export const CONTACT_FIELDS = {
  id: { out: Type.Integer(), cell: 'number' },
  firstName: ownText(100, {
    placeholder: 2,
    headers: {
      exact: 'firstname givenname forename nome',
      EN: 'first forename1 christianname customerfirstname contactfirstname',
      IT: 'nomedibattesimo nomecliente1',
      ES: 'nombre nombredepila primernombre',
      FR: 'prenom',
      DE: 'vorname rufname',
      PT: 'primeironome nomeproprio',
      NL: 'voornaam roepnaam',
      PL: 'imie',
      SE: 'fornamn tilltalsnamn',
      DK: 'fornavn',
      TR: 'isim adi ad',
      RO: 'prenume',
    },
  }),
  lastName: ownText(100, {
    placeholder: 3,
    headers: {
      exact: 'lastname surname familyname cognome',
      EN: 'last secondname customerlastname contactlastname',
      ES: 'apellido apellidos primerapellido',
      FR: 'nom nomdefamille nomfamille',
      DE: 'nachname familienname zuname',
      PT: 'sobrenome apelido ultimonome',
      NL: 'achternaam familienaam',
      PL: 'nazwisko',
      SE: 'efternamn',
      DK: 'efternavn etternavn',
      TR: 'soyad soyadi soyisim',
      RO: 'numedefamilie numefamilie',
    },
  }),
  fullName: {
    out: orNull(Type.String()),
    in: optional(
      Type.String({ maxLength: 200, description: 'Default: firstName and lastName, separated by a blank.' }),
    ),
    cell: 'text',
    placeholder: 1,
    maxLength: 200,
    headers: {
      exact: 'fullname name displayname contactname',
      EN: 'customername customer clientname client contact person fullnames nameandsurname namesurname membername',
      IT:
        'nomecompleto nomeecognome nomecognome cognomeenome cognomenome nominativo cliente nomecliente ' +
        'ragionesociale intestatario contatto',
      ES: 'nombrecompleto nombreyapellidos nombreyapellido nombreapellidos nombrecliente nombredelcliente',
      FR: 'nomcomplet nometprenom nomprenom prenomnom prenometnom nomclient nomduclient',
      DE: 'vollername vollstandigername vorundnachname vornamenachname namevorname kundenname kunde ansprechpartner',
      PT: 'nomedocliente nomeesobrenome nomeeapelido',
      NL: 'naam volledigenaam klantnaam naamklant klant contactpersoon',
      PL: 'imieinazwisko imienazwisko nazwiskoiimie pelnanazwa klient nazwaklienta',
      SE: 'namn fullstandigtnamn kundnamn kund',
      DK: 'navn fuldenavn fultnavn fulltnavn kundenavn',
      TR: 'adsoyad adisoyadi isimsoyisim musteriadi musteri',
      RO: 'nume numecomplet numesiprenume numeprenume numeclient',
    },
  },
  name: {
    out: Type.String({ description: 'For display: the full name, or else the number, or else the email address.' }),
    in: optional(
      Type.String({
        maxLength: 200,
        description: 'The same as `fullName`, which takes precedence where both are given.',
      }),
    ),
    placeholder: 4,
  },
  phoneNumber: {
    out: orNull(Type.String({ description: 'E.164' })),
    in: optional(
      Type.String({
        maxLength: 50,
        description: 'In any usual form; national numbers if the account has a default country.',
      }),
    ),
    filter: Type.Optional(Type.String({ maxLength: 50, description: 'The whole number, in any usual form.' })),
    stored: text,
    cell: 'phone',
    placeholder: 6,
    headers: {
      exact:
        'phonenumber phone number mobile mobilephone mobilenumber cell cellphone msisdn tel telephone ' +
        'telephonenumber primaryphone phone1value cellulare telefono destination',
      EN:
        'phoneno phonenr mobileno mobilenr mobilephonenumber cellphonenumber cellnumber cellular telno telnumber ' +
        'contactnumber phonenumbers contactphone customerphone customermobile smsnumber whatsapp whatsappnumber',
      IT:
        'numero numerotelefono numeroditelefono numerocellulare numerodicellulare numerotel cell1 cellulare1 ' +
        'telefono1 telefonocellulare telefonomobile recapito recapitotelefonico tel1',
      ES: 'movil telefonomovil numerodetelefono numerodemovil numerotelefonico celular telefonocelular numerocelular',
      FR: 'telephoneportable portable numerodetelephone numerotelephone telportable telmobile gsm numeroportable',
      DE:
        'handy handynummer handynr telefon telefonnummer telefonnr mobil mobilnummer mobilnr mobiltelefon rufnummer ' +
        'mobilfunknummer telefonmobil nummer',
      PT: 'telemovel numerodetelemovel ntelemovel numerodecelular numerodotelefone telefone fone',
      NL: 'telefoon telefoonnummer mobiel mobielnummer mobieltelefoon mobielnr telefoonnr gsmnummer',
      PL: 'numertelefonu nrtelefonu telefonkomorkowy komorka numerkomorkowy nrtel telkom',
      SE: 'mobiltelefonnummer mobiltel',
      DK: 'telefonnumre mobilnummeret tlf tlfnr tlfnummer',
      TR: 'telefonnumarasi ceptelefonu cep cepnumarasi gsmno telefonno ceptel',
      RO: 'numartelefon numardetelefon telefonmobil nrtelefon nrdetelefon',
    },
  },
  email: {
    out: orNull(Type.String({ description: 'In lower case.' })),
    in: optional(Type.String({ maxLength: 254, format: 'email' })),
    filter: Type.Optional(Type.String({ maxLength: 254, description: 'The whole address, case-insensitive.' })),
    stored: text,
    own: { empty: null, clean: (value: string) => value.trim().toLowerCase() },
    cell: 'text',
    placeholder: 7,
    headers: {
      exact: 'email mail emailaddress email1value',
      EN: 'emailadress emailaddr mailaddress customeremail contactemail emails',
      IT: 'postaelettronica indirizzoemail indirizzomail emailcliente pec',
      ES: 'correo correoelectronico direcciondecorreo',
      FR: 'courriel adresseemail adressemail adresseelectronique mel',
      DE: 'emailadresse mailadresse epost',
      PT: 'correioeletronico correioelectronico',
      NL: 'emailadres mailadres',
      PL: 'adresemail pocztaelektroniczna',
      SE: 'epostadress',
      DK: 'epostadresse',
      TR: 'eposta epostaadresi',
      RO: 'adresaemail adresadeemail',
    },
  },
  gender: {
    out: orNull(GENDER),
    in: optional(GENDER),
    filter: Type.Optional(GENDER),
    stored: text,
    own: { empty: null },
    cell: 'plain',
    placeholder: 5,
    headers: {
      exact: 'gender sex',
      IT: 'sesso genere',
      ES: 'sexo genero',
      FR: 'sexe civilite',
      DE: 'geschlecht anrede',
      NL: 'geslacht',
      PL: 'plec',
      SE: 'kon',
      DK: 'kjonn',
      TR: 'cinsiyet',
      RO: 'gen',
    },
  },
  isValid: {
    out: Type.Boolean({
      description: 'True if the number is valid in the numbering plan of its country, and was not set to false.',
    }),
    in: Type.Optional(
      Type.Boolean({
        description: 'False: campaigns skip the contact. True only for a number that is valid in its country.',
      }),
    ),
    filter: Type.Optional(Type.Boolean()),
    stored: boolean,
    cell: 'plain',
  },
  isTest: {
    out: Type.Boolean(),
    in: Type.Optional(Type.Boolean()),
    filter: Type.Optional(Type.Boolean()),
    stored: boolean,
    own: { empty: false },
    cell: 'plain',
    headers: { exact: 'istest test' },
  },
  numberType: {
    out: orNull(
      Type.String({ description: 'MOBILE, FIXED_LINE and so on; null if the numbering plan does not define it.' }),
    ),
    stored: text,
    cell: 'plain',
  },
  country: {
    out: orNull(Type.String({ description: 'The country of the number: ISO 3166-1 alpha-2.' })),
    stored: text,
    cell: 'plain',
  },
  communicationSupported: {
    out: Type.Array(CHANNEL, {
      description:
        'The channels that reach the number: from its type (mobile: all channels; fixed line: WHATSAPP; VoIP: SMS, WHATSAPP; ' +
        'not valid: none), corrected by what carriers report, and restricted to those that were set.',
    }),
    in: Type.Optional(
      Type.Array(CHANNEL, {
        maxItems: 10,
        description:
          'The only channels on which campaigns may write to the contact. It restricts the channels that reach the number, ' +
          'and cannot add to them.',
      }),
    ),
    filter: channelList('Contacts that can be reached on at least one of these channels.'),
    cell: 'plain',
  },
  lastContactType: { out: orNull(CHANNEL), filter: Type.Optional(CHANNEL), cell: 'plain' },
  lastContactDate: { out: orNull(instant()), cell: 'plain' },
  lastCampaignType: {
    out: orNull(Type.String()),
    filter: Type.Optional(Type.String({ maxLength: 50, description: 'The sending mode of the campaign.' })),
    cell: 'plain',
  },
  optedOut: {
    out: Type.Array(CHANNEL, {
      description: 'The channels from which the number has opted out: messages on them are rejected.',
    }),
    in: Type.Optional(
      Type.Array(CHANNEL, { maxItems: 10, description: 'All channels from which this number has opted out.' }),
    ),
    filter: channelList('Contacts that have opted out of at least one of these channels.'),
    cell: 'plain',
    headers: {
      exact: 'optedout optout unsubscribed',
      IT: 'disiscritto noncontattare',
      ES: 'baja dadodebaja',
      FR: 'desinscrit desabonne',
      DE: 'abgemeldet',
      PT: 'descadastrado',
      NL: 'uitgeschreven afgemeld',
      PL: 'wypisany',
      SE: 'avregistrerad',
      DK: 'afmeldt avmeldt',
      TR: 'abonelikiptal',
      RO: 'dezabonat',
    },
  },
  customFields: {
    out: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
    in: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
        maxProperties: 100,
        description: 'Values by name. Each must be a custom field of the account, and the value must have its type.',
      }),
    ),
  },
  createdAt: { out: instant() },
  updatedAt: { out: instant() },
} as const satisfies Readonly<Record<string, ContactField>>;

type Fields = typeof CONTACT_FIELDS;
export type FieldWith<P extends keyof ContactField> = {
  [K in keyof Fields]: Fields[K] extends Readonly<Record<P, unknown>> ? K : never;
}[keyof Fields];
type PropertyOf<P extends keyof ContactField> = {
  readonly [K in FieldWith<P>]: Fields[K] extends Readonly<Record<P, infer V>> ? V : never;
};

/** Returns the names of the fields that have a property, in the order of the table. */
export const fieldsWith = <P extends keyof ContactField>(property: P): readonly FieldWith<P>[] =>
  Object.entries(CONTACT_FIELDS).flatMap(([name, field]) => (property in field ? [name as FieldWith<P>] : []));

/** Makes a record with a value for each of some fields. */
export const byField = <R extends object>(names: readonly (keyof R)[], make: (name: keyof R) => R[keyof R]): R =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as R;

/** Returns one property of the fields that have it, in the order of the table. */
export const propertyOf = <P extends keyof ContactField>(property: P): PropertyOf<P> =>
  Object.fromEntries(
    fieldsWith(property).map((name) => [name, (CONTACT_FIELDS[name] as ContactField)[property]]),
  ) as PropertyOf<P>;

export type Gender = Static<typeof GENDER>;
export type StoredField = FieldWith<'stored'>;
export type OwnField = FieldWith<'own'>;
export type ImportedField = FieldWith<'headers'>;
export type Placeholder = FieldWith<'placeholder'>;
export type OwnPlaceholder = Placeholder & OwnField;

export type StoredFields = { readonly [K in StoredField]: Static<Fields[K]['out']> };
export type OwnFields = Pick<StoredFields, OwnField>;

export const STORED_FIELDS = fieldsWith('stored');
export const OWN_FIELDS = fieldsWith('own');
export const FILTERED_FIELDS = STORED_FIELDS.filter(
  (name): name is StoredField & FieldWith<'filter'> => 'filter' in CONTACT_FIELDS[name],
);
export const IMPORTED_FIELDS = fieldsWith('headers');
export const PLACEHOLDERS = fieldsWith('placeholder').toSorted(
  (a, b) => CONTACT_FIELDS[a].placeholder - CONTACT_FIELDS[b].placeholder,
);

export function namesIn(language: (typeof LANGUAGES)[number], field: ImportedField): readonly string[] {
  const headers: Headers = CONTACT_FIELDS[field].headers;
  return headers[language]?.split(' ') ?? [];
}

export const columnOf = (name: StoredField): Sql => raw(snakeCase(name));

/** The own fields of a contact of which nothing is known. */
export const NO_VALUES = byField<OwnFields>(OWN_FIELDS, (name) => CONTACT_FIELDS[name].own.empty);

export const OWN_PLACEHOLDERS = PLACEHOLDERS.filter((name): name is OwnPlaceholder => name in NO_VALUES);

const trimmed = (text: string): string => text.trim();
const OWN = Object.entries<Own>(propertyOf('own')) as readonly [OwnField, Own][];

/** Returns the own fields of a contact: those of `input`, cleaned, and the others as they are. */
export function readOwn(input: Partial<OwnFields>, current: OwnFields = NO_VALUES): OwnFields {
  const own: Partial<Record<OwnField, unknown>> = { ...NO_VALUES };
  for (const [name, { empty, clean = trimmed }] of OWN) {
    const value = input[name];
    own[name] = value === undefined ? current[name] : typeof value === 'string' ? clean(value) || empty : value;
  }
  return own as OwnFields;
}
