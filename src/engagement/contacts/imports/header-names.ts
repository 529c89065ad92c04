/** The fields of a contact that a column of a file can have, apart from custom fields. */
export const STANDARD_FIELDS = [
  'phoneNumber',
  'firstName',
  'lastName',
  'fullName',
  'email',
  'gender',
  'isTest',
  'optedOut',
] as const;
export type StandardField = (typeof STANDARD_FIELDS)[number];

/**
 * The names of fields in a language, as `normalizedName` returns them, and the country where files in it mostly come
 * from.
 */
export type LanguageNames = {
  readonly country: string;
  readonly names: Readonly<Partial<Record<StandardField, string>>>;
};

/** Names of the columns of contact files, as people and programs write them, in twelve languages, English first. */
export const NAMES_BY_LANGUAGE: readonly LanguageNames[] = [
  {
    country: '',
    names: {
      phoneNumber:
        'phoneno phonenr mobileno mobilenr mobilephonenumber cellphonenumber cellnumber cellular telno telnumber ' +
        'contactnumber phonenumbers contactphone customerphone customermobile smsnumber whatsapp whatsappnumber',
      firstName: 'first forename1 christianname customerfirstname contactfirstname',
      lastName: 'last secondname customerlastname contactlastname',
      fullName:
        'customername customer clientname client contact person fullnames nameandsurname namesurname membername',
      email: 'emailadress emailaddr mailaddress customeremail contactemail emails',
    },
  },
  {
    country: 'IT',
    names: {
      phoneNumber:
        'numero numerotelefono numeroditelefono numerocellulare numerodicellulare numerotel cell1 cellulare1 telefono1 ' +
        'telefonocellulare telefonomobile recapito recapitotelefonico tel1',
      firstName: 'nomedibattesimo nomecliente1',
      fullName:
        'nomecompleto nomeecognome nomecognome cognomeenome cognomenome nominativo cliente nomecliente ragionesociale ' +
        'intestatario contatto',
      email: 'postaelettronica indirizzoemail indirizzomail emailcliente pec',
      gender: 'sesso genere',
      optedOut: 'disiscritto noncontattare',
    },
  },
  {
    country: 'ES',
    names: {
      phoneNumber:
        'movil telefonomovil numerodetelefono numerodemovil numerotelefonico celular telefonocelular numerocelular',
      firstName: 'nombre nombredepila primernombre',
      lastName: 'apellido apellidos primerapellido',
      fullName: 'nombrecompleto nombreyapellidos nombreyapellido nombreapellidos nombrecliente nombredelcliente',
      email: 'correo correoelectronico direcciondecorreo',
      gender: 'sexo genero',
      optedOut: 'baja dadodebaja',
    },
  },
  {
    country: 'FR',
    names: {
      phoneNumber:
        'telephoneportable portable numerodetelephone numerotelephone telportable telmobile gsm numeroportable',
      firstName: 'prenom',
      lastName: 'nom nomdefamille nomfamille',
      fullName: 'nomcomplet nometprenom nomprenom prenomnom prenometnom nomclient nomduclient',
      email: 'courriel adresseemail adressemail adresseelectronique mel',
      gender: 'sexe civilite',
      optedOut: 'desinscrit desabonne',
    },
  },
  {
    country: 'DE',
    names: {
      phoneNumber:
        'handy handynummer handynr telefon telefonnummer telefonnr mobil mobilnummer mobilnr mobiltelefon rufnummer ' +
        'mobilfunknummer telefonmobil nummer',
      firstName: 'vorname rufname',
      lastName: 'nachname familienname zuname',
      fullName:
        'vollername vollstandigername vorundnachname vornamenachname namevorname kundenname kunde ansprechpartner',
      email: 'emailadresse mailadresse epost',
      gender: 'geschlecht anrede',
      optedOut: 'abgemeldet',
    },
  },
  {
    country: 'PT',
    names: {
      phoneNumber: 'telemovel numerodetelemovel ntelemovel numerodecelular numerodotelefone telefone fone',
      firstName: 'primeironome nomeproprio',
      lastName: 'sobrenome apelido ultimonome',
      fullName: 'nomedocliente nomeesobrenome nomeeapelido',
      email: 'correioeletronico correioelectronico',
      optedOut: 'descadastrado',
    },
  },
  {
    country: 'NL',
    names: {
      phoneNumber: 'telefoon telefoonnummer mobiel mobielnummer mobieltelefoon mobielnr telefoonnr gsmnummer',
      firstName: 'voornaam roepnaam',
      lastName: 'achternaam familienaam',
      fullName: 'naam volledigenaam klantnaam naamklant klant contactpersoon',
      email: 'emailadres mailadres',
      gender: 'geslacht',
      optedOut: 'uitgeschreven afgemeld',
    },
  },
  {
    country: 'PL',
    names: {
      phoneNumber: 'numertelefonu nrtelefonu telefonkomorkowy komorka numerkomorkowy nrtel telkom',
      firstName: 'imie',
      lastName: 'nazwisko',
      fullName: 'imieinazwisko imienazwisko nazwiskoiimie pelnanazwa klient nazwaklienta',
      email: 'adresemail pocztaelektroniczna',
      gender: 'plec',
      optedOut: 'wypisany',
    },
  },
  {
    country: 'SE',
    names: {
      phoneNumber: 'mobiltelefonnummer mobiltel',
      firstName: 'fornamn tilltalsnamn',
      lastName: 'efternamn',
      fullName: 'namn fullstandigtnamn kundnamn kund',
      email: 'epostadress',
      gender: 'kon',
      optedOut: 'avregistrerad',
    },
  },
  {
    country: 'DK',
    names: {
      phoneNumber: 'telefonnumre mobilnummeret tlf tlfnr tlfnummer',
      firstName: 'fornavn',
      lastName: 'efternavn etternavn',
      fullName: 'navn fuldenavn fultnavn fulltnavn kundenavn',
      email: 'epostadresse',
      gender: 'kjonn',
      optedOut: 'afmeldt avmeldt',
    },
  },
  {
    country: 'TR',
    names: {
      phoneNumber: 'telefonnumarasi ceptelefonu cep cepnumarasi gsmno telefonno ceptel',
      firstName: 'isim adi ad',
      lastName: 'soyad soyadi soyisim',
      fullName: 'adsoyad adisoyadi isimsoyisim musteriadi musteri',
      email: 'eposta epostaadresi',
      gender: 'cinsiyet',
      optedOut: 'abonelikiptal',
    },
  },
  {
    country: 'RO',
    names: {
      phoneNumber: 'numartelefon numardetelefon telefonmobil nrtelefon nrdetelefon',
      firstName: 'prenume',
      lastName: 'numedefamilie numefamilie',
      fullName: 'nume numecomplet numesiprenume numeprenume numeclient',
      email: 'adresaemail adresadeemail',
      gender: 'gen',
      optedOut: 'dezabonat',
    },
  },
];
