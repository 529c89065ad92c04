/**
 * Returns the IANA time zones of a country (ISO 3166-1 alpha-2), as the CLDR data of the runtime lists them; none for a
 * number that belongs to no country ('').
 */
export function zonesOf(country: string): readonly string[] {
  const known = ZONES.get(country);
  if (known) return known;
  const zones = country === '' ? [] : zonesOfRegion(country);
  ZONES.set(country, zones);
  return zones;
}

/** The zones of countries that were looked up, at most some 250. */
const ZONES = new Map<string, readonly string[]>();

/** A method of the standard (ECMA-402, Intl.Locale Info) that the compiler's library does not declare yet. */
type LocaleInfo = Intl.Locale & { getTimeZones?(): string[] | undefined };

function zonesOfRegion(country: string): readonly string[] {
  const locale: LocaleInfo = new Intl.Locale(`und-${country}`);
  return locale.getTimeZones?.() ?? [];
}
