/**
 * Areas of the countries whose numbers show a time zone: their zones of the IANA database, and the codes after the
 * country code. An area whose codes are used in several zones has all of them. Mobile numbers of Australia and Russia
 * show none.
 *
 * Source, read on 2026-11-29: https://github.com/google/libphonenumber, resources/timezones/map_data.txt and
 * resources/geocoding/en/1.txt; for the zones since then, the IANA database (Mexico: 2022f; Saratov and Volgograd:
 * 2016j and 2020e).
 */
export type Area = {
  /** The country, and in the United States and Canada the state: US-TX. Several areas of a state have a suffix: US-TX.2. */
  readonly key: string;
  /** The part of the key to which rules refer: US-TX. */
  readonly region: string;
  readonly zones: readonly string[];
  /** Ranges of the numbers of the area in byte order, the first text included and the second excluded. */
  readonly ranges: readonly NumberRange[];
};
export type NumberRange = { readonly from: string; readonly to: string };

/** The key of numbers that show no area within their country. */
export const NO_AREA = '';

type CountryAreas = {
  readonly callingCode: string;
  /** Digits of a code; shorter ones stand for all codes that begin with them. */
  readonly digits: number;
  /** Lines: key, zones, codes. Of two that fit, the longer code counts. */
  readonly lines: string;
};

const E = 'America/New_York';
const C = 'America/Chicago';
const M = 'America/Denver';
const P = 'America/Los_Angeles';

const COUNTRIES: Readonly<Record<string, CountryAreas>> = {
  US: {
    callingCode: '1',
    digits: 3,
    lines: `
      US-AK America/Anchorage,America/Adak 907
      US-AL ${C} 205 251 256 334 659 938
      US-AR ${C} 327 479 501 870
      US-AZ America/Phoenix 480 520 602 623
      US-AZ.2 America/Phoenix,${M} 928
      US-CA ${P} 209 213 279 310 323 341 350 369 408 415 424 442 510 530 559 562 619 626 628 650 657 661 669 707 714 738
        747 760 805 818 820 831 840 858 909 916 925 949 951
      US-CO ${M} 303 719 720 748 970 983
      US-CT ${E} 203 475 860 959
      US-DC ${E} 202 771
      US-DE ${E} 302
      US-FL ${E} 239 305 321 324 352 386 407 561 645 656 689 727 728 754 772 786 813 863 904 941 954
      US-FL.2 ${E},${C} 448 850
      US-GA ${E} 229 404 470 478 678 706 762 770 912 943
      US-HI Pacific/Honolulu 808
      US-IA ${C} 319 515 563 641 712
      US-ID America/Boise,${P} 208 986
      US-IL ${C} 217 224 309 312 331 447 464 618 630 708 730 773 779 815 847 872
      US-IN ${E} 260 317 463 765
      US-IN.2 ${E},${C} 219 574 812 930
      US-KS ${C} 316 913
      US-KS.2 ${C},${M} 620 785
      US-KY ${E} 502 859
      US-KY.2 ${E},${C} 270 364 606
      US-LA ${C} 225 318 337 504 985
      US-MA ${E} 339 351 413 508 617 774 781 857 978
      US-MD ${E} 227 240 301 410 443 667
      US-ME ${E} 207
      US-MI ${E} 231 248 269 313 517 586 616 734 810 947 989
      US-MI.2 ${E},${C} 906
      US-MN ${C} 218 320 507 612 651 763 952
      US-MO ${C} 235 314 417 557 573 636 660 816 975
      US-MS ${C} 228 601 662 769
      US-MT ${M} 406
      US-NC ${E} 252 336 472 704 743 828 910 919 980 984
      US-ND ${C},${M} 701
      US-NE ${C} 402 531
      US-NE.2 ${C},${M} 308
      US-NH ${E} 603
      US-NJ ${E} 201 551 609 640 732 848 856 862 908 973
      US-NM ${M} 505 575
      US-NV ${P} 702 725
      US-NV.2 ${P},${M} 775
      US-NY ${E} 212 315 329 332 347 363 516 518 585 607 631 646 680 716 718 838 845 914 917 929 934
      US-OH ${E} 216 220 234 283 326 330 380 419 440 513 567 614 740 937
      US-OK ${C} 405 539 572 580 918
      US-OR ${P} 503 971
      US-OR.2 ${P},America/Boise 458 541
      US-PA ${E} 215 223 267 272 412 445 484 570 582 610 717 724 814 835 878
      US-RI ${E} 401
      US-SC ${E} 803 821 839 843 854 864
      US-SD ${C},${M} 605
      US-TN ${C} 615 629 731 901 931
      US-TN.2 ${E} 865
      US-TN.3 ${E},${C} 423
      US-TX ${C} 210 214 254 281 325 346 361 409 430 432 469 512 682 713 726 737 806 817 830 832 903 936 940 945 956 972
        979
      US-TX.2 ${M} 915
      US-UT ${M} 385 435 801
      US-VA ${E} 276 434 540 571 686 703 757 804 826 948
      US-VT ${E} 802
      US-WA ${P} 206 253 360 425 509 564
      US-WI ${C} 262 274 353 414 534 608 715 920
      US-WV ${E} 304 681
      US-WY ${M} 307`,
  },
  CA: {
    callingCode: '1',
    digits: 3,
    lines: `
      CA-AB America/Edmonton 368 403 587 780 825
      CA-BC America/Vancouver 604
      CA-BC.2 America/Vancouver,America/Edmonton 236 250 257 672 778
      CA-MB America/Winnipeg 204 431 584
      CA-NB America/Halifax 428 506
      CA-NL America/St_Johns,America/Halifax 709 879
      CA-NS America/Halifax 782 902
      CA-NT America/Whitehorse,America/Edmonton,America/Winnipeg,America/Toronto 867
      CA-ON America/Toronto 226 249 289 343 365 382 416 437 519 548 613 647 683 705 742 753 905 942
      CA-ON.2 America/Toronto,America/Winnipeg 807
      CA-QC America/Toronto 263 354 438 450 468 514 579 819 873
      CA-QC.2 America/Toronto,America/Halifax 367 418 581
      CA-SK America/Regina 306 474 639`,
  },
  AU: {
    callingCode: '61',
    digits: 1,
    lines: `
      AU.2 Australia/Sydney 2
      AU.3 Australia/Melbourne 3
      AU.7 Australia/Brisbane 7
      AU.8 Australia/Adelaide,Australia/Darwin,Australia/Perth 8`,
  },
  BR: {
    callingCode: '55',
    digits: 2,
    lines: `
      BR.1 America/Sao_Paulo 1 2 3 4 5 61 62 63 64 7 8 91 93 94 96 98 99
      BR.2 America/Cuiaba 65 66
      BR.3 America/Campo_Grande 67
      BR.4 America/Rio_Branco 68
      BR.5 America/Porto_Velho 69
      BR.6 America/Manaus 92
      BR.7 America/Boa_Vista 95
      BR.8 America/Manaus,America/Eirunepe 97`,
  },
  MX: {
    callingCode: '52',
    digits: 3,
    lines: `
      MX.1 America/Mexico_City 2 3 4 5 6 7 8 9
      MX.2 America/Tijuana 616 646 658 661 663 664 665 686
      MX.3 America/Hermosillo 622 623 631 632 633 634 637 638 641 642 643 644 645 647 651 653 662
      MX.4 America/Mazatlan 311 319 323 324 325 327 389 612 613 615 624 667 668 669 672 673 687 694 695 696 697 698
      MX.5 America/Ciudad_Juarez 656
      MX.6 America/Ojinaga,America/Chihuahua 626
      MX.7 America/Matamoros 867 868 877 878 891 892 894 897 899
      MX.8 America/Cancun 983 984 987 997 998`,
  },
  RU: {
    callingCode: '7',
    digits: 3,
    lines: `
      RU.1 Europe/Moscow 47 48 49 81 82 83 841 843 844 847 855 86 87
      RU.2 Europe/Kaliningrad 401
      RU.3 Europe/Samara 341 842 846 848
      RU.4 Europe/Saratov 845
      RU.5 Europe/Astrakhan 851
      RU.6 Asia/Yekaterinburg 342 343 345 346 347 349 351 352 353
      RU.7 Asia/Omsk 381
      RU.8 Asia/Novosibirsk,Asia/Tomsk,Asia/Novokuznetsk,Asia/Barnaul 382 383 384 385 388
      RU.9 Asia/Krasnoyarsk 390 391 394
      RU.10 Asia/Irkutsk 301 395
      RU.11 Asia/Yakutsk 302 411 416
      RU.12 Asia/Vladivostok 421 423 426
      RU.13 Asia/Sakhalin 424
      RU.14 Asia/Magadan 413
      RU.15 Asia/Kamchatka 415
      RU.16 Asia/Anadyr 427`,
  },
};

/** No number and no user id comes before the first, or after the second, in byte order. */
const [FIRST, LAST] = [' ', '\uffff'];

type Codes = { readonly prefix: string; readonly digits: number; readonly areaOf: ReadonlyMap<string, string> };

const { areas: AREAS, codes: CODES } = readAreas();

function readAreas() {
  const areas = new Map<string, Area>();
  const codes = new Map<string, Codes>();
  for (const [country, { callingCode, digits, lines }] of Object.entries(COUNTRIES)) {
    const areaOf = new Map<string, string>();
    const zonesOf = new Map<string, readonly string[]>();
    const named: (readonly [code: string, key: string])[] = [];
    for (const line of lines.trim().split(/\n\s*(?=[A-Z]{2}[.-])/)) {
      const [key = '', zones = '', ...own] = line.split(/\s+/);
      zonesOf.set(key, zones.split(','));
      named.push(...own.map((code) => [code, key] as const));
    }
    // Longer codes come later, and replace what shorter ones say.
    for (const [code, key] of named.toSorted(([a], [b]) => a.length - b.length))
      for (let rest = 0; rest < 10 ** (digits - code.length); rest++)
        areaOf.set(`${code}${digits === code.length ? '' : String(rest).padStart(digits - code.length, '0')}`, key);
    codes.set(country, { prefix: `+${callingCode}`, digits, areaOf });
    const ranges = rangesOf(`+${callingCode}`, digits, areaOf);
    for (const [key, zones] of zonesOf)
      areas.set(key, { key, region: key.split('.')[0] ?? key, zones, ranges: ranges.get(key) ?? [] });
    areas.set(country, { key: country, region: country, zones: [], ranges: ranges.get(NO_AREA) ?? [] });
  }
  return { areas, codes };
}

/** Returns the ranges of each area, adjacent codes together; all other texts are in those under ''. */
function rangesOf(prefix: string, digits: number, areaOf: ReadonlyMap<string, string>) {
  const ranges = new Map<string, NumberRange[]>();
  let open = { key: NO_AREA, from: FIRST };
  const close = (to: string): void => {
    if (open.from !== to) ranges.set(open.key, [...(ranges.get(open.key) ?? []), { from: open.from, to }]);
  };
  for (let code = 0; code < 10 ** digits; code++) {
    const text = String(code).padStart(digits, '0');
    const next = { key: areaOf.get(text) ?? NO_AREA, from: `${prefix}${text}` };
    if (next.key === open.key) continue;
    close(next.from);
    open = next;
  }
  // A colon is the character after 9: behind it are texts that do not begin with a code.
  close(`${prefix}:`);
  open = { key: NO_AREA, from: `${prefix}:` };
  close(LAST);
  return ranges;
}

/** Returns the key of the area of a number of a country; '' if the number shows none. */
export function areaOf(country: string, number: string): string {
  const known = CODES.get(country);
  if (!known || !number.startsWith(known.prefix)) return NO_AREA;
  return known.areaOf.get(number.slice(known.prefix.length, known.prefix.length + known.digits)) ?? NO_AREA;
}

/** The countries whose numbers show an area, with the length of the part of a number (E.164) that shows it. */
export const AREA_CODES: readonly { readonly country: string; readonly length: number }[] = Object.entries(
  COUNTRIES,
).map(([country, { callingCode, digits }]) => ({ country, length: 1 + callingCode.length + digits }));

/** Returns the area with this key; undefined for '' and for keys of another version. */
export const findArea = (key: string): Area | undefined => AREAS.get(key);

/**
 * Lists the areas of a country, with the numbers that show none last, under ''. Together their ranges hold all texts
 * once. Empty for countries whose numbers show no area.
 */
export function listAreas(country: string): readonly Pick<Area, 'key' | 'ranges'>[] {
  const own = [...AREAS.values()].filter(({ key }) => key !== country && key.slice(0, 2) === country);
  const rest = AREAS.get(country);
  return rest ? [...own, { key: NO_AREA, ranges: rest.ranges }].filter(({ ranges }) => ranges.length > 0) : [];
}
